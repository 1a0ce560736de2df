#include "tools/ddprun/console.h"

#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"

namespace lockstep::ddprun {
namespace {

constexpr size_t kFullQueue = 1 << 20;  // a few hundred thousand short lines a second pass through; more only adds delay
constexpr absl::string_view kEraseLine = "\r\x1b[K";

size_t TerminalWidth(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// The longest start of `text` that fills less than `width` columns: a progress line that wraps could not be erased. Colour
// sequences and the later bytes of a UTF-8 character take no column.
absl::string_view FittingStart(absl::string_view text, size_t width) {
  size_t columns = 0;
  bool in_escape = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char byte = text[i];
    if (in_escape) {
      in_escape = !(byte >= '@' && byte <= '~' && byte != '[');
    } else if (byte == 0x1b) {
      in_escape = true;
    } else if ((byte & 0xc0) != 0x80 && ++columns >= width) {
      return text.substr(0, i);
    }
  }
  return text;
}

}  // namespace

Console::Console(int fd) : fd_(fd), is_terminal_(isatty(fd) == 1) {}

void Console::Append(absl::string_view bytes) {
  if (!closed_) absl::StrAppend(&queue_, bytes);
}

void Console::WriteLine(absl::string_view line) {
  if (!drawn_.empty()) {
    Append(kEraseLine);
    drawn_.clear();
  }
  Append(line);
  Append("\n");
}

void Console::SetProgress(absl::string_view text) {
  if (is_terminal_) progress_ = std::string(FittingStart(text, TerminalWidth(fd_)));
}

void Console::DrawProgress() {
  if (progress_ == drawn_) return;
  if (!drawn_.empty()) Append(kEraseLine);
  Append(progress_);
  drawn_ = progress_;
}

bool Console::Full() const { return queue_.size() >= kFullQueue; }

// A writable pipe takes PIPE_BUF bytes without waiting; so does a terminal but for one that another process stops meanwhile.
bool Console::Writable() const {
  pollfd ready{fd_, POLLOUT, 0};
  return poll(&ready, 1, 0) == 1;
}

void Console::Flush() {
  size_t written = 0;
  while (written < queue_.size() && Writable()) {
    const size_t chunk = std::min<size_t>(queue_.size() - written, PIPE_BUF);
    const ssize_t result = write(fd_, queue_.data() + written, chunk);
    if (result >= 0) {
      written += result;
    } else if (errno == EPIPE || errno == EIO || errno == EBADF) {
      closed_ = true;
      written = queue_.size();
    } else if (errno != EINTR && errno != EAGAIN) {
      if (lost_.ok()) lost_ = absl::ErrnoToStatus(errno, "some output is lost");
      written += chunk;
    }
  }
  queue_.erase(0, written);
}

bool SameFile(int a, int b) {
  struct stat first {};
  struct stat second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace lockstep::ddprun
