// SPDX-License-Identifier: BSD-3-Clause
//
// stand_in_kernel.h - a kernel of the test's own: between two reads of a group it counts 1000
// instructions, 500 cycles and 7 of each other event, in one part of SHARING of the time.
// KERNEL_ERRNO: it refuses events of this type (KERNEL_REFUSES) so. ROOM: how many events it counts
// in a group.
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#ifndef SHARING
#define SHARING 1
#endif
#ifndef KERNEL_ERRNO
#define KERNEL_ERRNO 0
#endif
#ifndef KERNEL_REFUSES
#define KERNEL_REFUSES ~0u
#endif
#ifndef ROOM
#define ROOM 8
#endif
#define FIRST 1000
static int used = FIRST, leader_of[3000], n_of[3000], reads_of[3000];
static uint64_t speed_of[3000];
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[5];
  for (int i = 0; i < 5; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_perf_event_open) {
    struct perf_event_attr* event = (struct perf_event_attr*)a[0];
    int leader = (int)a[3];
    if (KERNEL_ERRNO && (KERNEL_REFUSES == ~0u || event->type == KERNEL_REFUSES)) {
      errno = KERNEL_ERRNO;
      return -1;
    }
    if (leader >= 0 && n_of[leader] >= ROOM) {
      errno = EINVAL;
      return -1;
    }
    int fd = used++;
    leader_of[fd] = leader < 0 ? fd : leader;
    n_of[leader_of[fd]]++;
    speed_of[fd] =
        event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_INSTRUCTIONS ? 1000
        : event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES ? 500
                                                                                         : 7;
    return fd;
  }
  if (number == SYS_fcntl) {
    errno = EMFILE;
    return -1;
  }
  if (number == SYS_close) return 0;
  if (number == SYS_read) {
    int leader = (int)a[0], n = 3;
    uint64_t* values = (uint64_t*)a[1];
    uint64_t reads = ++reads_of[leader];
    values[0] = n_of[leader];
    values[1] = reads * 100;           /* ns that the group was wanted */
    values[2] = reads * 100 / SHARING; /* ... and counted */
    for (int fd = FIRST; fd < used; ++fd)
      if (leader_of[fd] == leader) values[n++] = reads * speed_of[fd] / SHARING;
    return 8 * n;
  }
  errno = ENOSYS;
  return -1;
}
