/* SPDX-License-Identifier: BSD-3-Clause
 *
 * calls.c - all cases of calls.h, each in a step of its own, on the world and on the world the
 * other way round. Each rank finally prints, for each case, its step, the number that it returned
 * and its name. With an argument, no steps end. */
#include "calls.h"

#include <perfield.h>

static const struct {
  int (*run)(const char* what);
  const char *name, *what;
} kCases[] = {
#define CASE(function, what) \
  { function, #function, what }
    CASE(sends, ""),
    CASE(receives, ""),
    CASE(freed_requests, ""),
    CASE(failed_receives, ""),
    CASE(pauses, ""),
    CASE(inter_communicator, ""),
    CASE(windows, ""),
    CASE(files, ""),
    CASE(collectives, "blocking apart"),
    CASE(collectives, "blocking in_place"),
    CASE(collectives, "i apart"),
    CASE(collectives, "i in_place"),
    CASE(neighbors, "line"),
    CASE(neighbors, "graph"),
    CASE(neighbors, "old_graph"),
#if MPI_VERSION >= 4
    CASE(partitioned, ""),
#endif
    CASE(odd_messages, ""),
};
enum { kNumber = sizeof kCases / sizeof *kCases };

int main(int argc, char** argv) {
  const char* orders[2] = {"world", "reversed"};
  static char printed[2 * kNumber * 80];
  int end = 0;
  const int steps = argc == 1;
  MPI_Init(&argc, &argv);
  for (int order = 0; order < 2; ++order) {
    choose(orders[order]);
    if (steps) perfield_step(-1, 0.0); /* none of a case's calls is before */
    for (int i = 0; i < kNumber; ++i) {
      const int step = order * kNumber + i, found = kCases[i].run(kCases[i].what);
      PMPI_Barrier(comm); /* is not counted; keeps the messages of two cases apart */
      if (steps) perfield_step(step, step);
      end += sprintf(printed + end, "%d %d %s %s %s\n", step, found, kCases[i].name, orders[order],
                     kCases[i].what);
    }
    leave();
  }
  fputs(printed, stdout);
  MPI_Finalize();
  return 0;
}
