// Threads of the library that no signal disturbs.
//
//   { const BlockedSignals blocked; thread_ = std::thread(...); }      // the thread keeps them blocked for good
//
// So a program's handlers (SIGINT, SIGTERM) run on its own threads, where it expects them, and a write to a connection that
// a peer has closed gives an error instead of a SIGPIPE that ends the process. Signals of a thread's own faults (SIGSEGV and
// its kin) and profilers' SIGPROF stay deliverable.
#ifndef LOCKSTEP_TRANSPORTS_NET_BLOCKED_SIGNALS_H_
#define LOCKSTEP_TRANSPORTS_NET_BLOCKED_SIGNALS_H_

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <initializer_list>

namespace lockstep {

// Blocks this thread's signals while it lives; threads made meanwhile inherit that.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t set;
    sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) sigdelset(&set, fault);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// While it lives, a write of this thread to a connection that has ended raises no SIGPIPE, then or later.
class BlockedSigpipe {
 public:
  BlockedSigpipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BlockedSigpipe() {
    const timespec now = {0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);  // takes the one that was raised here, if any
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BlockedSigpipe(const BlockedSigpipe&) = delete;
  BlockedSigpipe& operator=(const BlockedSigpipe&) = delete;

 private:
  bool was_pending_ = false;
  sigset_t pipe_, before_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_TRANSPORTS_NET_BLOCKED_SIGNALS_H_
