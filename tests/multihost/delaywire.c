// SPDX-License-Identifier: BSD-3-Clause
//
// delaywire.c - delaywire A B TO FROM: a cable between two new network interfaces. What enters at A
// leaves at B after TO microseconds; what enters at B leaves at A after FROM microseconds.
//
// delaywire A B states LOG SEED DWELL DELAY DELAY...: the same delay both ways, which changes among
// these by chance. Each holds for DWELL milliseconds on average, and for a quarter of that at
// least; the next is any other. Each line of LOG says when a state began, in nanoseconds of
// CLOCK_MONOTONIC, its number and its delay.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 4096, FRAME = 65600 };
struct frame {
  long long due_ns;
  ssize_t bytes;
  char* data;
};
static struct frame waiting[2][ROOM];  // by the side where they entered; rings
static unsigned first[2], last[2];

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int new_interface(const char* name) {
  const int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  struct ifreq request;
  memset(&request, 0, sizeof request);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (file < 0 || ioctl(file, TUNSETIFF, &request)) {
    perror(name);
    exit(1);
  }
  return file;
}

static long long delay_ns[2];

static struct {
  FILE* log;
  int n, at;
  char** delays;
  double dwell_ns;
  long long until_ns;
} states;

static double chance(void) { return (random() + 0.5) / (RAND_MAX + 1.0); }

static void begin_state(long long at_ns, int state) {
  states.at = state;
  delay_ns[0] = delay_ns[1] = atoll(states.delays[state]) * 1000;
  states.until_ns = at_ns + (long long)(states.dwell_ns * (0.25 - 0.75 * log(chance())));
  fprintf(states.log, "%lld %d %s\n", at_ns, state, states.delays[state]);
  fflush(states.log);
}

int main(int n, char** words) {
  if (n < 5) return 2;
  prctl(PR_SET_TIMERSLACK, 1);
  const int file[2] = {new_interface(words[1]), new_interface(words[2])};
  if (strcmp(words[3], "states") == 0) {
    if (n < 9 || !(states.log = fopen(words[4], "w"))) return 2;
    srandom((unsigned)atoi(words[5]));
    states.dwell_ns = atof(words[6]) * 1e6;
    states.n = n - 7;
    states.delays = words + 7;
    begin_state(now_ns(), 0);
  } else {
    for (int side = 0; side < 2; side++) delay_ns[side] = atoll(words[3 + side]) * 1000;
  }
  static char data[FRAME];
  for (;;) {
    long long next_ns = now_ns() + 1000000000LL;
    if (states.n && states.until_ns <= now_ns())
      begin_state(now_ns(), (states.at + 1 + (int)(chance() * (states.n - 1))) % states.n);
    if (states.n && states.until_ns < next_ns) next_ns = states.until_ns;
    for (int side = 0; side < 2; side++)
      if (first[side] != last[side] && waiting[side][first[side] % ROOM].due_ns < next_ns)
        next_ns = waiting[side][first[side] % ROOM].due_ns;
    const long long left = next_ns - now_ns();
    const struct timespec pause = {left > 0 ? left / 1000000000 : 0,
                                   left > 0 ? left % 1000000000 : 0};
    struct pollfd asked[2] = {{file[0], POLLIN, 0}, {file[1], POLLIN, 0}};
    ppoll(asked, 2, &pause, NULL);
    for (int side = 0; side < 2; side++) {
      ssize_t bytes;
      while (last[side] - first[side] < ROOM && (bytes = read(file[side], data, FRAME)) > 0) {
        struct frame* frame = &waiting[side][last[side]++ % ROOM];
        *frame = (struct frame){now_ns() + delay_ns[side], bytes, malloc((size_t)bytes)};
        memcpy(frame->data, data, (size_t)bytes);
      }
      for (; first[side] != last[side]; first[side]++) {
        struct frame* frame = &waiting[side][first[side] % ROOM];
        if (frame->due_ns > now_ns()) break;
        if (write(file[1 - side], frame->data, (size_t)frame->bytes) < 0) perror(words[2 - side]);
        free(frame->data);
      }
    }
  }
}
