// A rank for tests: rank 0 listens on MASTER_PORT as a store does, writes "listening port=P pid=Q", sends its PID to the first
// who connects and ends well; the others end at once. Exit code 1: the port is not to be had.
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main() {
  if (strcmp(getenv("RANK"), "0") != 0) return 0;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(atoi(getenv("MASTER_PORT"))));
  if (bind(listener, reinterpret_cast<struct sockaddr*>(&address), sizeof(address)) != 0 || listen(listener, 16) != 0) {
    perror("cannot listen on MASTER_PORT");
    return 1;
  }
  printf("listening port=%s pid=%d\n", getenv("MASTER_PORT"), getpid());
  fflush(stdout);
  const int client = accept(listener, nullptr, nullptr);
  dprintf(client, "%d", getpid());
}
