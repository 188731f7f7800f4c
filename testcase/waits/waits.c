// SPDX-License-Identifier: BSD-3-Clause
//
// waits - programs in which one rank is late on purpose: `waits SCENARIO|all [MILLISECONDS]`,
// SCENARIO as in kScenarios below. Needs 7 ranks or more. README.md says what is right to say about
// each.
//
// Late ranks sleep and do not compute, so that ranks that share cores do not delay one another.
// Each rank keeps a log of its MPI calls, with CLOCK_MONOTONIC, and writes it at the end to
// waits-<rank>.csv. A line is a message at one end, a collective operation, or a synchronisation
// with one partner:
//   step,scenario,kind,call,peer,tag,group,root,begun,wait_begin,wait_end
// begun: the send was entered, the receive was posted. wait_begin, wait_end: the call that blocked
// for it was entered and left. group: the ranks of a collective operation, "all".
#include <mpi.h>
#include <perfield.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARTNERS = 6, LARGE = 1 << 21, MOST = 20000 };

static int rank, size, step;
static double delay = 0.04;  // s
static const char* scenario;
static char *large, small[64];
static MPI_Comm ring;
static MPI_Win fenced, window;
static MPI_Group origins, target;
static int put_value, has_windows;

// --- the log -------------------------------------------------------------------------------------
typedef struct {
  int step, peer, tag, root;
  const char *scenario, *kind, *call;
  int64_t begun, wait_begin, wait_end;
} Line;
static Line lines[MOST];
static int n_lines;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note(const char* kind, const char* call, int peer, int tag, int root, int64_t begun,
                 int64_t wait_begin, int64_t wait_end) {
  if (n_lines == MOST) MPI_Abort(MPI_COMM_WORLD, 3);
  const Line line = {step, peer, tag, root, scenario, kind, call, begun, wait_begin, wait_end};
  lines[n_lines++] = line;
}

static void write_log(void) {
  char name[64];
  snprintf(name, sizeof name, "waits-%d.csv", rank);
  FILE* file = fopen(name, "w");
  if (!file) {
    fprintf(stderr, "waits: cannot write %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  fprintf(file, "step,scenario,kind,call,peer,tag,group,root,begun,wait_begin,wait_end\n");
  for (int i = 0; i < n_lines; i++) {
    const Line* l = &lines[i];
    fprintf(file, "%d,%s,%s,%s,%d,%d,%s,%d,%lld,%lld,%lld\n", l->step, l->scenario, l->kind,
            l->call, l->peer, l->tag, l->peer < 0 ? "all" : "", l->root, (long long)l->begun,
            (long long)l->wait_begin, (long long)l->wait_end);
  }
  fclose(file);
}

// --- what the scenarios are made of --------------------------------------------------------------
static void sleep_for(double seconds) {
  struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

static void send(int bytes, int to, int tag) {
  const int64_t begun = now();
  MPI_Send(bytes > (int)sizeof small ? large : small, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
  note("send", "send", to, tag, -1, begun, begun, now());
}

static void receive(int bytes, int from, int tag) {
  const int64_t begun = now();
  MPI_Recv(bytes > (int)sizeof small ? large : small, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  note("receive", "recv", from, tag, -1, begun, begun, now());
}

static void send_and_receive(int to, int from) {
  char in[8];
  const int64_t begun = now();
  MPI_Sendrecv(small, 8, MPI_BYTE, to, 0, in, 8, MPI_BYTE, from, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  const int64_t end = now();
  note("send", "sendrecv", to, 0, -1, begun, begun, end);
  note("receive", "sendrecv", from, 0, -1, begun, begun, end);
}

// Posts receives from n ranks, sends to n ranks, and waits for all of that in one call.
static void exchange(const int* from, int n_from, const int* to, int n_to) {
  static char in[PARTNERS][8];
  MPI_Request requests[2 * PARTNERS];
  int64_t begun[2 * PARTNERS];
  for (int i = 0; i < n_from; i++) {
    begun[i] = now();
    MPI_Irecv(in[i], 8, MPI_BYTE, from[i], 0, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < n_to; i++) {
    begun[n_from + i] = now();
    MPI_Isend(small, 8, MPI_BYTE, to[i], 0, MPI_COMM_WORLD, &requests[n_from + i]);
  }
  const int64_t wait_begin = now();
  MPI_Waitall(n_from + n_to, requests, MPI_STATUSES_IGNORE);
  const int64_t wait_end = now();
  for (int i = 0; i < n_from; i++)
    note("receive", "waitall", from[i], 0, -1, begun[i], wait_begin, wait_end);
  for (int i = 0; i < n_to; i++)
    note("send", "isend", to[i], 0, -1, begun[n_from + i], wait_begin, wait_end);
}

#define COLLECTIVE(name, root, call)                            \
  do {                                                          \
    const int64_t begun = now();                                \
    call;                                                       \
    note("collective", name, -1, 0, root, begun, begun, now()); \
  } while (0)

// One-sided transfers from ranks 0 and 1 to rank 2. A line for each partner: first to last.
enum { LAST_ORIGIN = 1, TARGET = 2 };
#define SYNCHRONISATION(name, first, last, call)                        \
  do {                                                                  \
    const int64_t begun = now();                                        \
    call;                                                               \
    const int64_t end = now();                                          \
    for (int partner = first; partner <= last; partner++)               \
      note("synchronisation", name, partner, 0, -1, begun, begun, end); \
  } while (0)
#define WITH_ORIGINS(name, call) SYNCHRONISATION(name, 0, LAST_ORIGIN, call)
#define WITH_TARGET(name, call) SYNCHRONISATION(name, TARGET, TARGET, call)

static void post(void) { WITH_ORIGINS("win_post", MPI_Win_post(origins, 0, window)); }
static void await(void) { WITH_ORIGINS("win_wait", MPI_Win_wait(window)); }
static void start(void) { WITH_TARGET("win_start", MPI_Win_start(target, 0, window)); }
static void complete(void) { WITH_TARGET("win_complete", MPI_Win_complete(window)); }
static void lock(void) { WITH_TARGET("lock", MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, window)); }
static void flush(void) { WITH_TARGET("flush", MPI_Win_flush(TARGET, window)); }
static void unlock(void) { WITH_TARGET("unlock", MPI_Win_unlock(TARGET, window)); }

static void put(MPI_Win to, int at) {
  MPI_Put(&put_value, 1, MPI_INT, at, rank % 2, 1, MPI_INT, to);
}

static void barrier(void) { COLLECTIVE("barrier", -1, MPI_Barrier(MPI_COMM_WORLD)); }

// --- the scenarios -------------------------------------------------------------------------------
static void late_sender_recv(int number) {
  (void)number;
  if (rank == 1) {
    sleep_for(delay);
    send(8, 0, 1);
  }
  if (rank == 0) receive(8, 1, 1);
}

static void late_sender_wait(int number) {
  (void)number;
  if (rank == 1) {
    sleep_for(delay);
    send(8, 0, 1);
  }
  if (rank != 0) return;
  MPI_Request request;
  const int64_t begun = now();
  MPI_Irecv(small, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
  sleep_for(delay / 4);  // work that the message overlaps with
  const int64_t wait_begin = now();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  note("receive", "wait", 1, 1, -1, begun, wait_begin, now());
}

// Rank 0 receives from six others, of which rank 3 is late, and rank 5 half as much.
static void late_sender_waitall(int number) {
  static const int others[PARTNERS] = {1, 2, 3, 4, 5, 6}, middle[1] = {0};
  (void)number;
  if (rank == 3) sleep_for(delay);
  if (rank == 5) sleep_for(delay / 2);
  if (rank == 0)
    exchange(others, PARTNERS, NULL, 0);
  else if (rank <= PARTNERS)
    exchange(NULL, 0, middle, 1);
}

static void late_sender_sendrecv(int number) {
  (void)number;
  if (rank == 1) sleep_for(delay);
  if (rank <= 1) send_and_receive(1 - rank, 1 - rank);
}

// All ranks lie on a ring. The neighbours of rank 2 wait for it.
static void late_neighbour(int number) {
  int in[2], out[2] = {rank, rank};
  const int neighbours[2] = {(rank + size - 1) % size, (rank + 1) % size};
  (void)number;
  if (rank == 2) sleep_for(delay);
  const int64_t begun = now();
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
  const int64_t end = now();
  for (int i = 0; i < 2; i++) {
    note("send", "neighbor_alltoall", neighbours[i], -1, -1, begun, begun, end);
    note("receive", "neighbor_alltoall", neighbours[i], -1, -1, begun, begun, end);
  }
}

// The message is too large to leave before its receive is posted.
static void late_receiver(int number) {
  (void)number;
  if (rank == 0) send(LARGE, 1, 2);
  if (rank == 1) {
    sleep_for(delay);
    receive(LARGE, 0, 2);
  }
}

// A small message leaves at once, so the late receiver costs nothing.
static void eager(int number) {
  (void)number;
  if (rank == 0) send(8, 1, 2);
  if (rank == 1) {
    sleep_for(delay);
    receive(8, 0, 2);
  }
}

static void late_at_allreduce(int number) {
  int sum;
  (void)number;
  if (rank == 4) sleep_for(delay);
  COLLECTIVE("allreduce", -1, MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void late_at_barrier(int number) {
  (void)number;
  if (rank == 5) sleep_for(delay);
  barrier();
}

static void late_at_bcast(int number) {
  int value = number;
  if (rank == 0) sleep_for(delay);
  COLLECTIVE("bcast", 0, MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
}

static void late_at_reduce(int number) {
  int sum;
  (void)number;
  if (rank == 3) sleep_for(delay);
  COLLECTIVE("reduce", 0, MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
}

// Two exchanges in a step: first rank 1 is late, then rank 0. Sums over the step cancel.
static void alternating(int number) {
  (void)number;
  if (rank > 1) return;
  if (rank == 1) sleep_for(delay);
  send_and_receive(1 - rank, 1 - rank);
  if (rank == 0) sleep_for(delay);
  send_and_receive(1 - rank, 1 - rank);
}

// Rank 0 waits for 1, 1 for 2 and 2 for 3, because 3 is late.
static void chain(int number) {
  (void)number;
  if (rank > 3) return;
  if (rank == 3) sleep_for(delay);
  if (rank < 3) receive(8, rank + 1, 3);
  if (rank > 0) send(8, rank - 1, 3);
}

// The delay of rank 0 in the first step goes on by one rank in each step. Each rank hears of its
// left neighbour only.
static void crossing(int number) {
  const int from[1] = {rank - 1}, to[1] = {rank + 1};
  if (rank == 0 && number == 0) sleep_for(delay);
  exchange(from, rank > 0, to, rank < size - 1);
}

// Rank 0 waits for rank 1, and then as long for rank 2, which is twice as late.
static void two_causes(int number) {
  (void)number;
  if (rank == 1 || rank == 2) {
    sleep_for(rank * delay);
    send(8, 0, 4);
  }
  if (rank == 0) {
    receive(8, 1, 4);
    receive(8, 2, 4);
  }
}

static void put_fence(int number) {
  put_value = number;
  if (rank == 2) {
    sleep_for(delay);
    put(fenced, 3);
  }
  COLLECTIVE("fence", -1, MPI_Win_fence(0, fenced));
}

// Rank 2 opens its window late. Both origins wait for that, in whichever call their MPI needs it.
static void late_post(int number) {
  put_value = number;
  if (rank == TARGET) {
    sleep_for(delay);
    post();
    await();
  }
  if (rank <= LAST_ORIGIN) {
    start();
    put(window, TARGET);
    complete();
  }
}

// Rank 0 completes late, and rank 1 half as late. Rank 2 waits for rank 0.
static void late_complete(int number) {
  put_value = number;
  if (rank == TARGET) {
    post();
    await();
  }
  if (rank <= LAST_ORIGIN) {
    start();
    put(window, TARGET);
    sleep_for(rank == 0 ? delay : delay / 2);
    complete();
  }
}

// Rank 0 holds the lock of rank 2's window while rank 1 asks for it.
static void locked(int number) {
  put_value = number;
  if (rank == 1) receive(8, 0, 5);
  if (rank <= LAST_ORIGIN) {
    lock();
    put(window, TARGET);
  }
  if (rank == 0) {
    flush();
    send(8, 1, 5);
    sleep_for(delay);
  }
  if (rank <= LAST_ORIGIN) unlock();
}

static void clean(int number) {
  (void)number;
  send_and_receive((rank + 1) % size, (rank + size - 1) % size);
}

typedef struct {
  const char* name;
  void (*run)(int number);
  int steps, is_aligned;  // aligned: a barrier begins each step
} Scenario;
static const Scenario kScenarios[] = {
    {"late_sender_recv", late_sender_recv, 2, 1},
    {"late_sender_wait", late_sender_wait, 2, 1},
    {"late_sender_waitall", late_sender_waitall, 2, 1},
    {"late_sender_sendrecv", late_sender_sendrecv, 2, 1},
    {"late_neighbour", late_neighbour, 2, 1},
    {"late_receiver", late_receiver, 2, 1},
    {"eager", eager, 2, 1},
    {"late_at_allreduce", late_at_allreduce, 2, 1},
    {"late_at_barrier", late_at_barrier, 2, 1},
    {"late_at_bcast", late_at_bcast, 2, 1},
    {"late_at_reduce", late_at_reduce, 2, 1},
    {"alternating", alternating, 2, 1},
    {"chain", chain, 2, 1},
    {"crossing", crossing, 11, 0},
    {"two_causes", two_causes, 2, 1},
    {"put_fence", put_fence, 2, 1},
    {"late_post", late_post, 2, 1},
    {"late_complete", late_complete, 2, 1},
    {"lock", locked, 2, 1},
    {"clean", clean, 2, 1},
};
enum { SCENARIOS = sizeof kScenarios / sizeof kScenarios[0] };

static int needs_windows(const Scenario* chosen) {
  return chosen->run == put_fence || chosen->run == late_post || chosen->run == late_complete ||
         chosen->run == locked;
}

static void run(const Scenario* chosen) {
  scenario = chosen->name;
  for (int number = 0; number < chosen->steps; number++) {
    if (chosen->is_aligned || number == 0) barrier();
    chosen->run(number);
    perfield_step(step, step);
    step++;
  }
}

static int make_window(MPI_Win* made) {
  int* memory;
  return MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                          made) == MPI_SUCCESS;
}

// Open MPI 4 has no windows between hosts on some networks. Then scenarios with them are left out.
static void make_windows(void) {
  const int both[2] = {0, LAST_ORIGIN}, last[1] = {TARGET};
  MPI_Group all;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  has_windows = make_window(&fenced) && make_window(&window);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (!has_windows) return;
  MPI_Win_fence(0, fenced);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, both, &origins);
  MPI_Group_incl(all, 1, last, &target);
  MPI_Group_free(&all);
}

static void free_windows(void) {
  if (!has_windows) return;
  MPI_Win_fence(0, fenced);
  MPI_Win_free(&fenced);
  MPI_Win_free(&window);
  MPI_Group_free(&origins);
  MPI_Group_free(&target);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* name = argc > 1 ? argv[1] : "all";
  if (argc > 2) delay = atof(argv[2]) / 1000;
  int known = !strcmp(name, "all");
  for (int i = 0; i < SCENARIOS; i++) known |= !strcmp(name, kScenarios[i].name);
  if (!known || delay <= 0 || size < PARTNERS + 1) {
    if (rank == 0) {
      fprintf(stderr, "usage: waits SCENARIO|all [MILLISECONDS], on %d ranks or more; scenarios:\n",
              PARTNERS + 1);
      for (int i = 0; i < SCENARIOS; i++) fprintf(stderr, "  %s\n", kScenarios[i].name);
    }
    MPI_Finalize();
    return 2;
  }
  large = calloc(LARGE, 1);
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  make_windows();
  // Connections are made here, so that no scenario waits for them.
  for (int i = 1; i < size; i++) send_and_receive((rank + i) % size, (rank + size - i) % size);
  const double planted = delay;
  delay = 0;
  if (has_windows) late_post(0);
  if (has_windows) locked(0);
  delay = planted;
  n_lines = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  perfield_initialize();
  for (int i = 0; i < SCENARIOS; i++)
    if ((!strcmp(name, "all") || !strcmp(name, kScenarios[i].name)) &&
        (has_windows || !needs_windows(&kScenarios[i])))
      run(&kScenarios[i]);
  write_log();
  free_windows();
  MPI_Comm_free(&ring);
  free(large);
  MPI_Finalize();
}
