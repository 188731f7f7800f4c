/* SPDX-License-Identifier: BSD-3-Clause
 *
 * epochs.c - cases of epochs and locks of windows, whose ends can be compared. The ranks of the
 * windows' communicator are those of the world the other way round. `epochs freed` runs one case
 * that is wrong, without an argument the others run. */
#include <mpi.h>
#include <string.h>

void end_case(const char* name); /* of listener.c */

static MPI_Comm turned;
static MPI_Win windows[2];
static MPI_Group everyone;
static int rank, size, value = 7; /* rank: in the windows */

static MPI_Group of(int n, const int* ranks) {
  MPI_Group group;
  MPI_Group_incl(everyone, n, ranks, &group);
  return group;
}

static MPI_Win make_window(MPI_Comm on) {
  MPI_Win window;
  int* memory;
  MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, on, &memory, &window);
  return window;
}

/* Transfers to each of those ranks, and from each of them. */
static void access_all(MPI_Win window, MPI_Group group, int n, const int* ranks) {
  MPI_Win_start(group, 0, window);
  for (int i = 0; i < n; ++i) MPI_Put(&value, 1, MPI_INT, ranks[i], rank, 1, MPI_INT, window);
  MPI_Win_complete(window);
}

static void end_exposure(MPI_Win window, int by_test) {
  int flag = !by_test;
  if (!by_test) MPI_Win_wait(window);
  while (!flag) MPI_Win_test(window, &flag);
}

/* Both neighbours of a ring on both windows, which the ranks take in different order. */
static void both_ways(int pauses) {
  const int both[2] = {(rank + 1) % size, (rank + size - 1) % size};
  const MPI_Group group = of(2, both);
  MPI_Group same = group;
  for (int round = 0; round < 6; ++round) {
    if (pauses && rank == 1 && round == 2) MPI_Pcontrol(0);
    if (pauses && rank == 1 && round == 4) MPI_Pcontrol(1);
    for (int i = 0; i < 2; ++i) MPI_Win_post(group, 0, windows[(i + rank) % 2]);
    for (int i = 0; i < 2; ++i) access_all(windows[(i + rank + round) % 2], group, 2, both);
    for (int i = 0; i < 2; ++i) end_exposure(windows[i], round % 2);
    MPI_Barrier(turned);
  }
  MPI_Group_free(&same);
}

static void rounds(void) { both_ways(0); }
static void paused(void) { both_ways(1); }

/* Another partner in each round; the groups' handles are used again. */
static void groups(void) {
  for (int round = 0; round < 12; ++round) {
    const int partner[1] = {rank ^ (1 + round % 3)};
    MPI_Group group = of(1, partner);
    MPI_Win_post(group, 0, windows[0]);
    access_all(windows[0], group, 1, partner);
    end_exposure(windows[0], 0);
    MPI_Group_free(&group);
    MPI_Barrier(turned);
  }
}

static void locks(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Win_lock(MPI_LOCK_SHARED, right, 0, windows[0]);
  MPI_Put(&value, 1, MPI_INT, right, rank, 1, MPI_INT, windows[0]);
  MPI_Win_flush(right, windows[0]);
  MPI_Win_flush_local(right, windows[0]);
  MPI_Win_unlock(right, windows[0]);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, left, 0, windows[1]);
  MPI_Win_unlock(left, windows[1]);
  MPI_Barrier(turned);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, left, MPI_MODE_NOCHECK, windows[1]);
  MPI_Win_unlock(left, windows[1]);
  MPI_Barrier(turned);
  MPI_Win_lock_all(0, windows[1]);
  MPI_Win_flush_all(windows[1]);
  MPI_Win_flush_local_all(windows[1]);
  MPI_Win_unlock_all(windows[1]);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, windows[1]);
  MPI_Win_unlock_all(windows[1]);
}

/* A window on a communicator whose making nobody saw. */
static void unnamed(void) {
  const int partner[1] = {rank ^ 1};
  const MPI_Group group = of(1, partner);
  MPI_Comm unseen;
  PMPI_Comm_dup(turned, &unseen);
  MPI_Win window = make_window(unseen);
  MPI_Win_post(group, 0, window);
  access_all(window, group, 1, partner);
  MPI_Win_wait(window);
  MPI_Win_lock(MPI_LOCK_SHARED, partner[0], 0, window);
  MPI_Win_unlock(partner[0], window);
  MPI_Win_free(&window);
}

/* A window that is freed amid an epoch, which is wrong, and another one after it. */
static void freed(void) {
  const int partner[1] = {rank ^ 1};
  const MPI_Group group = of(1, partner);
  MPI_Win window = make_window(turned);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_post(group, 0, window);
  MPI_Win_start(group, 0, window);
  MPI_Win_free(&window);
  window = make_window(turned);
  MPI_Win_post(group, 0, window);
  access_all(window, group, 1, partner);
  MPI_Win_wait(window);
  MPI_Win_free(&window);
}

/* Windows that come and go, more than the table of channels would hold; each has a name of its own.
 */
static void many(void) {
  const int partner[1] = {rank ^ 1};
  const MPI_Group group = of(1, partner);
  for (int i = 0; i < 100; ++i) {
    MPI_Win window = make_window(turned);
    MPI_Win_post(group, 0, window);
    access_all(window, group, 1, partner);
    MPI_Win_wait(window);
    MPI_Win_free(&window);
  }
}

/* A case with windows of its own. The barrier keeps two cases apart, and no one hears it. */
static void run(const char* name, void (*its_calls)(void)) {
  for (int i = 0; i < 2; ++i) windows[i] = make_window(turned);
  MPI_Win_get_group(windows[0], &everyone);
  its_calls();
  PMPI_Barrier(turned);
  end_case(name);
  MPI_Group_free(&everyone);
  for (int i = 0; i < 2; ++i) MPI_Win_free(&windows[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  MPI_Comm_rank(turned, &rank);
  MPI_Comm_size(turned, &size);
  if (argc > 1 && strcmp(argv[1], "freed") == 0) {
    run("freed", freed);
  } else {
    run("rounds", rounds);
    run("paused", paused);
    run("groups", groups);
    run("locks", locks);
    run("unnamed", unnamed);
    run("many", many);
  }
  MPI_Finalize();
  return 0;
}
