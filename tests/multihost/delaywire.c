// SPDX-License-Identifier: BSD-3-Clause
//
// delaywire.c - delaywire A B TO FROM: a cable between two new network interfaces. What enters at A
// leaves at B after TO microseconds; what enters at B leaves at A after FROM microseconds.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
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

int main(int n, char** words) {
  if (n != 5) return 2;
  prctl(PR_SET_TIMERSLACK, 1);
  const int file[2] = {new_interface(words[1]), new_interface(words[2])};
  const long long delay_ns[2] = {atoll(words[3]) * 1000, atoll(words[4]) * 1000};
  static char data[FRAME];
  for (;;) {
    long long next_ns = now_ns() + 1000000000LL;
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
