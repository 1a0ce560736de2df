#include "tools/ddprun/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "tools/ddprun/death_order.h"
#include "tools/ddprun/failure_report.h"
#include "tools/ddprun/monotonic_clock.h"
#include "tools/ddprun/process_tree.h"
#include "tools/ddprun/rank_output.h"
#include "tools/ddprun/rank_process.h"

namespace lockstep::ddprun {
namespace {

// A rank's own helper (tee, behind "exec > >(tee log)") ends by itself once the rank has; killing it at once would cut the log.
constexpr absl::Duration kHelpersEndBy = absl::Seconds(1);
// A process survives SIGKILL only in uninterruptible sleep; after this it is named and left.
constexpr absl::Duration kKillLimit = absl::Seconds(10);
constexpr absl::Duration kKillAgain = absl::Milliseconds(20);  // for what was born while the tree was looked at

enum class Phase {  // only forward
  kRunning,         // all is well
  kEnding,          // the ranks were asked to end, and have until deadline_
  kHelpers,         // all ranks have ended; what they left may end by itself until deadline_
  kEndingHelpers,   // it was asked to, and has until deadline_
  kKilling,         // SIGKILL, again and again, until nothing is left or deadline_
  kWritingOut,      // nothing is left
};

class Supervisor {
 public:
  Supervisor(const Job& job, const LaunchSignals& signals, FileDescriptor front)
      : job_(job), signals_(signals), front_(std::move(front)) {}

  int Run() {
    start_ = Start();
    if (!start_.ok()) AskRanksToEnd(SIGTERM, absl::StrCat("could not start all ranks: ", start_.message()));
    while (HasChildren() && !abandoned_) Round();
    output_.Finish();
    Report();
    WriteOut();
    if (!start_.ok()) return 1;
    return first_failure_.has_value() ? ExitCode(*ranks_[*first_failure_].ending()) : 0;
  }

 private:
  absl::Status Start();
  absl::Status StartRank(int local_rank);
  void Round();
  void Wait();
  absl::Duration WaitLimit() const;
  void TakeSignals();
  void TakeSignal(int signal_number, bool from_front);
  void NoticeFront();

  // Reaps ranks in the order of their ends, and orphans of the ranks.
  void Reap();
  void ReapRanksInOrder();
  void ReapRank(int index);

  void Advance();
  void Enter(Phase phase, absl::Duration time_limit);
  void AskRanksToEnd(int signal_number, absl::string_view why);
  void EndHelpers();
  void Kill();
  void SignalRanks(int signal_number);
  std::vector<int> RunningRanks() const;  // global

  RankResult ResultOf(int index) const;
  void Report();
  void WriteOut();

  const Job& job_;
  const LaunchSignals& signals_;
  FileDescriptor front_;
  const pid_t front_pid_ = getppid();
  FileDescriptor signal_fd_;
  absl::optional<DeathOrder> deaths_;
  RankOutput output_;
  std::vector<RankProcess> ranks_;
  std::vector<pollfd> polled_;
  absl::Status start_;
  absl::Duration started_at_;

  Phase phase_ = Phase::kRunning;
  absl::Duration deadline_ = absl::InfiniteDuration();  // of the phase; MonotonicNow()
  absl::optional<int> first_failure_;
  bool failure_is_ours_ = false;              // the first failure is an end by a signal that we had sent
  std::set<int> sent_;                        // signals, to ranks
  std::set<std::pair<int, bool>> forwarded_;  // signals, and whether they came through the front
  bool abandoned_ = false;                    // something survives SIGKILL
};

absl::Status Supervisor::Start() {
  ABSL_RETURN_IF_ERROR(BecomeSubreaper());
  signal_fd_ = FileDescriptor(signalfd(-1, &signals_.watched(), SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_fd_.open()) return absl::ErrnoToStatus(errno, "cannot receive signals (signalfd)");
  ABSL_ASSIGN_OR_RETURN(deaths_, DeathOrder::Create());
  started_at_ = MonotonicNow();
  for (int local_rank = 0; local_rank < job_.place.nproc_per_node; ++local_rank) {
    ABSL_RETURN_IF_ERROR(StartRank(local_rank));
  }
  return absl::OkStatus();
}

absl::Status Supervisor::StartRank(int local_rank) {
  RankCommand command;
  command.program = job_.program;
  command.arguments = RankArguments(job_.arguments, local_rank);
  command.environment = RankEnvironment(job_.place, local_rank, job_.inherited);
  const int rank = GlobalRank(job_.place, local_rank);
  command.inherits_stdin = rank == 0;
  ABSL_ASSIGN_OR_RETURN(RankProcess process, RankProcess::Start(command, signals_));
  if (process.death_fd() >= 0) {
    ABSL_RETURN_IF_ERROR(deaths_->Watch(process.death_fd(), local_rank));
  }
  output_.AddRank(rank, process, /*shows_progress=*/local_rank == 0);
  ranks_.push_back(std::move(process));
  return absl::OkStatus();
}

void Supervisor::Round() {
  Wait();
  TakeSignals();
  NoticeFront();
  Reap();
  if (HasChildren()) Advance();
}

void Supervisor::Wait() {
  polled_.assign({{signal_fd_.get(), POLLIN, 0}, {front_.get(), POLLIN, 0}});
  const size_t own = polled_.size();
  output_.Watch(polled_);
  // One millisecond more than asked for: a wait that ends a fraction early would only be repeated.
  const absl::Duration limit = WaitLimit();
  const int milliseconds = limit == absl::InfiniteDuration() ? -1 : static_cast<int>(absl::ToInt64Milliseconds(limit)) + 1;
  if (poll(polled_.data(), polled_.size(), milliseconds) > 0) output_.Relay(absl::MakeSpan(polled_).subspan(own));
}

absl::Duration Supervisor::WaitLimit() const {
  if (phase_ == Phase::kKilling) return kKillAgain;
  return std::max(deadline_ - MonotonicNow(), absl::ZeroDuration());
}

void Supervisor::TakeSignals() {
  signalfd_siginfo taken{};
  while (read(signal_fd_.get(), &taken, sizeof(taken)) == sizeof(taken)) {
    const bool from_front = static_cast<pid_t>(taken.ssi_pid) == front_pid_;
    if (taken.ssi_signo != SIGCHLD) TakeSignal(static_cast<int>(taken.ssi_signo), from_front);
  }
}

void Supervisor::TakeSignal(int signal_number, bool from_front) {
  const bool repeated = !forwarded_.insert({signal_number, from_front}).second;
  // A batch system or a container signals all processes at once: then it comes here directly and through the front.
  if (!repeated && forwarded_.count({signal_number, !from_front}) != 0) return;
  if (repeated && signal_number == SIGINT && phase_ < Phase::kKilling) {  // Ctrl-C twice: the user will not wait
    output_.Notice("ddprun: SIGINT again: killing what is left");
    return Enter(Phase::kKilling, kKillLimit);
  }
  AskRanksToEnd(signal_number, absl::StrCat("forwarding ", SignalName(signal_number)));
}

void Supervisor::NoticeFront() {
  if (!front_.open() || (polled_[1].revents & (POLLHUP | POLLERR)) == 0) return;
  front_.Close();
  AskRanksToEnd(SIGTERM, "the launcher was killed");
}

void Supervisor::Reap() {
  for (;;) {
    ReapRanksInOrder();
    siginfo_t ended{};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                   [&](const RankProcess& candidate) { return candidate.pid() == ended.si_pid; });
    if (rank == ranks_.end()) {
      waitpid(ended.si_pid, nullptr, 0);
      continue;
    }
    ReapRanksInOrder();  // it ended after the look above, others perhaps before it
    ReapRank(static_cast<int>(rank - ranks_.begin()));
  }
}

void Supervisor::ReapRanksInOrder() {
  if (!deaths_.has_value()) return;
  for (int index : deaths_->Ended()) ReapRank(index);
}

void Supervisor::ReapRank(int index) {
  if (index >= static_cast<int>(ranks_.size()) || ranks_[index].ending().has_value()) return;
  ranks_[index].Reap();
  const auto& ending = ranks_[index].ending();
  if (!ending.has_value() || ExitCode(*ending) == 0 || first_failure_.has_value()) return;
  first_failure_ = index;
  failure_is_ours_ = WIFSIGNALED(ending->wait_status) && sent_.count(WTERMSIG(ending->wait_status)) != 0;
}

void Supervisor::Advance() {
  if (phase_ == Phase::kRunning && first_failure_.has_value()) {
    const RankResult failed = ResultOf(*first_failure_);
    AskRanksToEnd(SIGTERM, absl::StrCat("rank ", failed.rank, " failed (", DescribeEnding(failed.ending), ")"));
  }
  if (phase_ <= Phase::kEnding && RunningRanks().empty()) {
    Enter(Phase::kHelpers, std::min(kHelpersEndBy, job_.grace_period));
  }
  if (phase_ == Phase::kKilling) return Kill();
  if (MonotonicNow() < deadline_) return;
  if (phase_ == Phase::kHelpers) return EndHelpers();
  if (!RunningRanks().empty()) {
    output_.Notice(absl::StrCat("ddprun: ", RankList(RunningRanks()), " did not end within the grace period of ",
                                absl::FormatDuration(job_.grace_period), ": killing (SIGKILL)"));
  }
  Enter(Phase::kKilling, kKillLimit);
  Kill();
}

void Supervisor::Enter(Phase phase, absl::Duration time_limit) {
  phase_ = phase;
  deadline_ = MonotonicNow() + time_limit;
}

void Supervisor::AskRanksToEnd(int signal_number, absl::string_view why) {
  const std::vector<int> running = RunningRanks();
  if (!running.empty()) {
    output_.Notice(absl::StrCat("ddprun: ", why, "; ending ", RankList(running), " (", SignalName(signal_number),
                                ", SIGKILL after ", absl::FormatDuration(job_.grace_period), ")"));
  } else if (phase_ == Phase::kRunning) {  // not even the first rank could be started
    output_.Notice(absl::StrCat("ddprun: ", why));
  }
  SignalRanks(signal_number);
  SignalRanks(SIGCONT);  // one that is stopped could not act on the first
  if (phase_ == Phase::kRunning) Enter(Phase::kEnding, job_.grace_period);
}

void Supervisor::EndHelpers() {
  const std::vector<ProcessInfo> left = Descendants();
  if (!first_failure_.has_value() && forwarded_.empty() && !left.empty()) {
    output_.Notice(absl::StrCat("ddprun: all ranks have ended, but left ", left.size() == 1 ? "a process" : "processes",
                                " behind; ending ", left.size() == 1 ? "it" : "them"));
  }
  for (const ProcessInfo& process : left) {
    kill(process.pid, SIGTERM);
    kill(process.pid, SIGCONT);
  }
  Enter(Phase::kEndingHelpers, job_.grace_period);
}

void Supervisor::Kill() {
  SignalRanks(SIGKILL);
  const std::vector<ProcessInfo> left = Descendants();
  for (const ProcessInfo& process : left) kill(process.pid, SIGKILL);
  if (MonotonicNow() < deadline_) return;
  std::string pids;
  for (const ProcessInfo& process : left) absl::StrAppend(&pids, " ", process.pid);
  output_.Notice(absl::StrCat("ddprun: left behind, as SIGKILL does not end it (uninterruptible sleep?):", pids));
  abandoned_ = true;
}

void Supervisor::SignalRanks(int signal_number) {
  sent_.insert(signal_number);
  for (const RankProcess& rank : ranks_) rank.Signal(signal_number);
}

std::vector<int> Supervisor::RunningRanks() const {
  std::vector<int> running;
  for (int index = 0; index < static_cast<int>(ranks_.size()); ++index) {
    if (!ranks_[index].ending().has_value()) running.push_back(GlobalRank(job_.place, index));
  }
  return running;
}

RankResult Supervisor::ResultOf(int index) const {
  RankResult result;
  result.rank = GlobalRank(job_.place, index);
  result.pid = ranks_[index].pid();
  result.ending = ranks_[index].ending().value_or(Ending());
  result.lived = result.ending.at - started_at_;
  result.last_lines = output_.LastLinesOf(index);
  return result;
}

void Supervisor::Report() {
  output_.NoticeLosses();
  if (!first_failure_.has_value() || failure_is_ours_) return;
  const RankResult first = ResultOf(*first_failure_);
  std::vector<RankResult> others;
  for (int index = 0; index < static_cast<int>(ranks_.size()); ++index) {
    if (index != *first_failure_ && ranks_[index].ending().has_value()) others.push_back(ResultOf(index));
  }
  char host[256] = "?";
  gethostname(host, sizeof(host) - 1);
  output_.Notice(FailureReport(first, others, job_.place.nnodes * job_.place.nproc_per_node, host));
}

// All processes are gone; only a reader that does not read is left to wait for, unless the user or the front gave up.
void Supervisor::WriteOut() {
  Enter(Phase::kWritingOut, absl::InfiniteDuration());
  while (output_.pending()) {
    Wait();
    signalfd_siginfo taken{};
    const bool signalled = read(signal_fd_.get(), &taken, sizeof(taken)) == sizeof(taken) && taken.ssi_signo != SIGCHLD;
    if (signalled || !front_.open() || polled_[1].revents != 0) return;
  }
}

}  // namespace

int Supervise(const Job& job, const LaunchSignals& signals, FileDescriptor front) {
  return Supervisor(job, signals, std::move(front)).Run();
}

}  // namespace lockstep::ddprun
