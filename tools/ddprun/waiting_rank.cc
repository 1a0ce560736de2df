// A rank for tests that tells of signals. `waiting_rank N` writes "up pid=P ppid=Q", "told SIGINT" for each signal that would have
// ended it, and after N of them "saved" once its stdin has ended; then it ends well.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

int main(int, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  sigset_t watched;
  sigemptyset(&watched);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action;
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&watched, number);
  }
  sigprocmask(SIG_BLOCK, &watched, nullptr);
  printf("up pid=%d ppid=%d\n", getpid(), getppid());
  for (int left = atoi(argv[1]); left > 0;) {
    const int taken = sigwaitinfo(&watched, nullptr);
    if (taken < 0) continue;  // SIGSTOP and SIGCONT interrupt it
    printf("told SIG%s\n", sigabbrev_np(taken));
    --left;
  }
  while (getchar() != EOF) {
  }
  printf("saved\n");
}
