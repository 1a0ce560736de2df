#include "tools/ddprun/rank_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lockstep::ddprun {
namespace {

constexpr size_t kReadBytes = 64 << 10;  // a pipe's capacity: more at once would not be there

}  // namespace

RankOutput::RankOutput() : out_(STDOUT_FILENO), bytes_(kReadBytes) {
  if (!SameFile(STDOUT_FILENO, STDERR_FILENO)) separate_error_.emplace(STDERR_FILENO);
}

void RankOutput::AddRank(int rank, RankProcess& process, bool shows_progress) {
  last_lines_.push_back(std::make_unique<LastLines>());
  const std::string prefix = absl::StrCat("[", rank, "] ");
  LastLines& last_lines = *last_lines_.back();
  AddStream(std::move(process.standard_output()), out_, prefix, shows_progress, last_lines);
  AddStream(std::move(process.standard_error()), error_console(), prefix, shows_progress, last_lines);
}

void RankOutput::AddStream(FileDescriptor fd, Console& console, const std::string& prefix, bool shows_progress,
                           LastLines& last_lines) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);  // of the read end alone: the rank's own end still waits when the pipe is full
  streams_.push_back(
      std::unique_ptr<Stream>(new Stream{std::move(fd), &console, LineRelay(prefix, shows_progress, console, last_lines)}));
}

void RankOutput::Watch(std::vector<pollfd>& polled) const {
  for (const auto& stream : streams_) {
    if (stream->fd.open() && !stream->console->Full()) polled.push_back({stream->fd.get(), POLLIN, 0});
  }
  if (out_.pending()) polled.push_back({out_.fd(), POLLOUT, 0});
  if (separate_error_.has_value() && separate_error_->pending()) polled.push_back({separate_error_->fd(), POLLOUT, 0});
}

void RankOutput::Relay(absl::Span<const pollfd> polled) {
  size_t next = 0;  // streams and polled are in the same order
  for (const pollfd& ready : polled) {
    while (next < streams_.size() && streams_[next]->fd.get() != ready.fd) ++next;
    if (next == streams_.size()) break;
    if (ready.revents != 0) ReadSome(*streams_[next]);
  }
  FlushConsoles();
}

bool RankOutput::ReadSome(Stream& stream) {
  const ssize_t length = read(stream.fd.get(), bytes_.data(), bytes_.size());
  if (length > 0) {
    stream.relay.Append(absl::string_view(bytes_.data(), length));
  } else if (length == 0) {
    stream.relay.Finish();
    stream.fd.Close();
  }
  return length > 0;
}

void RankOutput::FlushConsoles() {
  out_.DrawProgress();
  error_console().DrawProgress();
  out_.Flush();
  error_console().Flush();
  CloseStreamsOfClosedConsoles();
}

void RankOutput::CloseStreamsOfClosedConsoles() {
  for (const auto& stream : streams_) {
    if (stream->console->closed()) stream->fd.Close();
  }
}

void RankOutput::Finish() {
  for (const auto& stream : streams_) {
    while (stream->fd.open() && ReadSome(*stream)) {
    }
    stream->relay.Finish();  // a process outside the tree may hold the pipe open for ever
    stream->fd.Close();
  }
  FlushConsoles();
}

void RankOutput::Notice(absl::string_view lines) {
  for (absl::string_view line : absl::StrSplit(lines, '\n')) error_console().WriteLine(line);
  FlushConsoles();
}

void RankOutput::NoticeLosses() {
  for (const Console* console : {&std::as_const(out_), &std::as_const(*this).error_console()}) {
    if (!console->lost().ok()) {
      Notice(absl::StrCat("ddprun: ", console == &out_ ? "stdout: " : "stderr: ", console->lost().message()));
    }
    if (!separate_error_.has_value()) return;
  }
}

}  // namespace lockstep::ddprun
