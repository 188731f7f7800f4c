// SPDX-License-Identifier: BSD-3-Clause
//
// clocks.cpp - see clocks.hpp.
//
// All ranks duplicate MPI_COMM_WORLD and gather 16 bytes from each: the node and its clock.
// The first measured rank of a node is its leader. Leaders form a tree in which each
// has up to 32 children, so 32 nodes and the reference need one level. A child says that it is
// ready; its parent serves one child at a time, which sends pings and gets stamps back. So one
// meeting is at most 64 messages, and 50 ms unless the first answer takes longer.
#include "clocks.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock_line.hpp"
#include "errors_returned.hpp"
#include "library.hpp"
#include "platform/time_namespace.hpp"
#include "recorder/source.h"

namespace perfield::pmpi {
namespace {

// Functions that only this file calls. Where the MPI lacks one, clocks are not compared.
// clang-format off
#define PERFIELD_CLOCK_FUNCTIONS(X) \
  X(Comm_get_parent) X(Comm_idup) X(Iallgather) X(Iprobe) X(Isend) X(Recv) X(Test)
// clang-format on
struct {
#define PERFIELD_MEMBER(name) decltype(&::MPI_##name) name;
  PERFIELD_CLOCK_FUNCTIONS(PERFIELD_MEMBER)
#undef PERFIELD_MEMBER
} mpi;

bool find_functions() noexcept {
  bool all = true;
#define PERFIELD_FIND(name)                                                        \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(function_of_mpi("PMPI_" #name)); \
  all = all && mpi.name;
  PERFIELD_CLOCK_FUNCTIONS(PERFIELD_FIND)
#undef PERFIELD_FIND
  return all;
}

constexpr int64_t kMillisecond = 1'000'000;
// A rank that never joins is lost with the whole program; ranks leave a big MPI_Init far apart.
constexpr int64_t kToJoin_ns = 60'000 * kMillisecond;
constexpr int64_t kToStart_ns = 5'000 * kMillisecond;   // for a leader to get ready after that
constexpr int64_t kToEnd_ns = 10'000 * kMillisecond;    // the same in MPI_Finalize
constexpr int64_t kPerLevel_ns = 5'000 * kMillisecond;  // more at each level of the tree
constexpr int64_t kPerNode_ns = 50 * kMillisecond;      // for the round trips of one node,
constexpr int64_t kToAnswer_ns = 1'000 * kMillisecond;  // or until the first, if CPUs are so busy
constexpr int kChildren = 32;

// Not one `static const`, whose guard would need libgcc's newest unwinder.
const TimeNamespace& own_namespace() noexcept {
  static TimeNamespace found;
  static bool is_found = false;
  if (!is_found) found = time_namespace();
  is_found = true;
  return found;
}

// On the clock of the node.
int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec - own_namespace().ahead_ns;
}

// Asks again and again until the deadline. The longer it takes, the longer are the naps between, so
// that many waiting ranks leave the CPUs to those that they wait for.
template <typename Ask>
bool until(int64_t deadline_ns, Ask ask) noexcept {
  const int64_t begun_ns = now_ns();
  for (;;) {
    if (ask()) return true;
    const int64_t now = now_ns(), waited_ns = now - begun_ns;
    if (now >= deadline_ns) return false;
    const timespec nap{0, long(std::min(waited_ns / 20, 2 * kMillisecond))};
    if (waited_ns < 2 * kMillisecond)
      sched_yield();
    else
      nanosleep(&nap, nullptr);
  }
}

// --- who takes part ------------------------------------------------------------------------------

// The last fields of PERFIELD_ALL_RANKS=<launch>:<size>:<process>:<file>, as perfield-exec sets it:
// they hold for the process that it became, not for one that this started.
bool vouched(int size) noexcept {
  const char* vouch = getenv("PERFIELD_ALL_RANKS");
  if (!vouch) return false;
  const char* fields[3] = {};
  const char* end = vouch + strlen(vouch);
  for (int i = 2; i >= 0; --i) {
    while (end > vouch && *end != ':') --end;
    if (end == vouch) return false;
    fields[i] = end + 1;
    --end;
  }
  struct stat program {};
  return strtol(fields[0], nullptr, 10) == size && strtol(fields[1], nullptr, 10) == getpid() &&
         stat("/proc/self/exe", &program) == 0 &&
         strtoull(fields[2], nullptr, 10) == program.st_ino;
}

// Where the launcher has started all ranks on this node, they share one clock.
bool one_node(int size) noexcept {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* local = getenv(name)) return strtol(local, nullptr, 10) == size;
  return false;
}

bool is_spawned() noexcept {
  MPI_Comm parent = library.comm_null;
  return mpi.Comm_get_parent(&parent) != MPI_SUCCESS || parent != library.comm_null;
}

size_t text_of(const char* path, char* text, size_t room) noexcept {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
  if (fd >= 0) close(fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0 ? size_t(n) : 0;
}

// What a rank sends of itself.
struct Word {
  uint64_t node;   // a hash of the kernel's boot id; its last bit: this rank is measured
  uint64_t clock;  // 0: the node's; else a hash of the time namespace, whose shift is not known
};

uint64_t hash_of(const char* text) noexcept {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; ++text) hash = (hash ^ uint8_t(*text)) * 0x100000001b3u;
  return hash;
}

Word own_word() noexcept {
  char text[256];
  text_of("/proc/sys/kernel/random/boot_id", text, sizeof text);
  const uint64_t hash = hash_of(text);
  const char* enabled = getenv("PERFIELD_ENABLED");
  const bool measured = !enabled || strcmp(enabled, "false") != 0;
  const TimeNamespace& clock = own_namespace();
  return {(hash & ~uint64_t(1)) | uint64_t(measured), clock.is_known ? 0 : hash_of(clock.name)};
}

// --- state of this process, of the thread that starts and ends MPI -------------------------------

MPI_Comm comm;           // private; left to MPI_Finalize, because freeing it is collective
int* leaders = nullptr;  // world ranks, one for each node; the first is the reference
int n_leaders = 0, own_place = -1;
int level = 0;  // of this leader in the tree
Comparison comparisons[2];
int n_comparisons = 0;
ClockLine line{};
char trouble[400] = "";  // what the user is to know

int parent() noexcept { return (own_place - 1) / kChildren; }
int first_child() noexcept { return own_place * kChildren + 1; }
int n_children() noexcept { return std::clamp(n_leaders - first_child(), 0, kChildren); }

// --- joining -------------------------------------------------------------------------------------

bool wait_for(MPI_Request* request, int64_t deadline_ns) noexcept {
  return until(deadline_ns, [request] {
    int done = 0;
    return mpi.Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done;
  });
}

// The duplicate inherits the error handler, so errors do not end the program, here and later.
bool duplicate_world(int64_t deadline_ns) noexcept {
  const ErrorsReturned quiet(library.comm_world);
  static MPI_Request request;
  comm = library.comm_null;
  return quiet.changed() && mpi.Comm_idup(library.comm_world, &comm, &request) == MPI_SUCCESS &&
         wait_for(&request, deadline_ns) && comm != library.comm_null &&
         library.Comm_set_errhandler(comm, library.errors_return) == MPI_SUCCESS;
}

bool gather(const Word& own, Word* words, int64_t deadline_ns) noexcept {
  MPI_Request request;
  return mpi.Iallgather(&own, sizeof own, library.byte, words, sizeof own, library.byte, comm,
                        &request) == MPI_SUCCESS &&
         wait_for(&request, deadline_ns);
}

// The first measured rank of each node, in the order of ranks: the same list on all ranks.
void choose_leaders(const Word* words, int rank, int size) noexcept {
  int* order = static_cast<int*>(malloc(size_t(size) * sizeof(int)));
  if (!order) return;
  for (int i = 0; i < size; ++i) order[i] = i;
  const auto node = [words](int i) { return words[i].node | 1; };
  const auto measured = [words](int i) { return (words[i].node & 1) != 0; };
  std::sort(order, order + size, [node, measured](int a, int b) {
    if (node(a) != node(b)) return node(a) < node(b);
    return measured(a) != measured(b) ? measured(a) : a < b;
  });
  int n = 0;
  for (int i = 0, first = 0; i < size; ++i) {
    if (node(order[i]) != node(order[first])) first = i;
    if (words[order[i]].clock != words[order[first]].clock && rank == 0)
      snprintf(trouble, sizeof trouble,
               "ranks of one node run in time namespaces whose clocks (CLOCK_MONOTONIC) differ by "
               "what the kernel does not report; their time stamps agree only as far as "
               "CLOCK_REALTIME");
    const int leader = order[first];
    if (i == first && measured(leader)) order[n++] = leader;  // n <= first
  }
  std::sort(order, order + n);
  leaders = order;
  n_leaders = n;
}

bool join(int rank, int size) noexcept {
  const int64_t deadline_ns = now_ns() + kToJoin_ns;
  Word* words = static_cast<Word*>(malloc(size_t(size) * sizeof(Word)));
  if (!words) return false;
  static Word own;  // a send that was given up may still read it
  own = own_word();
  const bool joined = duplicate_world(deadline_ns) && gather(own, words, deadline_ns);
  if (!joined) {  // `words` stays: a late message may still arrive there
    snprintf(trouble, sizeof trouble,
             "after %d s some ranks had not joined the comparison of the nodes' clocks, so it was "
             "given up. the launch states that every rank runs under perfield-exec; "
             "if one does not, remove PERFIELD_ALL_RANKS or start the program by another script",
             int(kToJoin_ns / (1000 * kMillisecond)));
    return false;
  }
  choose_leaders(words, rank, size);
  free(words);
  for (int i = 0; i < n_leaders; ++i)
    if (leaders[i] == rank) own_place = i;
  for (int place = own_place; place > 0; place = (place - 1) / kChildren) ++level;
  return own_place >= 0;
}

// --- meeting -------------------------------------------------------------------------------------

enum class Kind : uint32_t { ready, go, ping, pong, done };
struct Message {
  Kind kind;
  uint32_t number;
  int64_t stamp_ns;
  ClockLine line;  // of the parent, with `go`
};

// Tags of a meeting, so that a late message of the first is never taken for one of the second.
int tag_of(Kind kind) noexcept {
  const int direction = kind == Kind::ready ? 0 : kind == Kind::ping || kind == Kind::done ? 1 : 2;
  return n_comparisons * 4 + direction;
}

// A message that is on its way to a neighbour in the tree: to the parent, or to one of the
// children.
struct Sending {
  Message message;
  MPI_Request request;
  bool stuck;  // its receiver does not answer; nothing is sent to it any more
} sendings[1 + kChildren];

bool send(int place, const Message& message, int64_t deadline_ns) noexcept {
  Sending& sending = sendings[place < own_place ? 0 : 1 + place - first_child()];
  if (sending.stuck) return false;
  sending.message = message;
  sending.stuck = mpi.Isend(&sending.message, sizeof(Message), library.byte, leaders[place],
                            tag_of(message.kind), comm, &sending.request) != MPI_SUCCESS ||
                  !wait_for(&sending.request, deadline_ns);
  return !sending.stuck;
}

// Receives a message with the tag of that kind. place: from there; -1: from any, and sets it.
bool receive(int* place, Kind kind, Message* message, int64_t deadline_ns) noexcept {
  MPI_Status status;
  const int source = *place < 0 ? MPI_ANY_SOURCE : leaders[*place];
  const bool arrived = until(deadline_ns, [&] {
    int there = 0;
    return mpi.Iprobe(source, tag_of(kind), comm, &there, &status) != MPI_SUCCESS || there;
  });
  if (!arrived || mpi.Recv(message, sizeof(Message), library.byte, status.MPI_SOURCE, tag_of(kind),
                           comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return false;
  *place = int(std::lower_bound(leaders, leaders + n_leaders, status.MPI_SOURCE) - leaders);
  return true;
}

// Returns the parent's line, not known if the parent does not answer.
ClockLine meet_parent(Comparison* comparison, int64_t deadline_ns) noexcept {
  int from = parent();
  Message message{Kind::ready, 0, 0, {}};
  if (!send(from, message, deadline_ns) || !receive(&from, Kind::go, &message, deadline_ns))
    return {};
  const ClockLine of_parent = message.line;
  const int64_t begun_ns = now_ns(), end_ns = begun_ns + kPerNode_ns;
  for (uint32_t i = 0; i < Comparison::kMost && of_parent.compared; ++i) {
    const int64_t sent_ns = now_ns(), last_ns = i ? end_ns : begun_ns + kToAnswer_ns;
    if (i && sent_ns >= end_ns) break;
    if (!send(from, {Kind::ping, i, 0, {}}, last_ns)) break;
    if (!receive(&from, Kind::pong, &message, last_ns) || message.number != i) break;
    comparison->add(sent_ns, message.stamp_ns, now_ns());
  }
  send(from, {Kind::done, 0, 0, {}}, now_ns() + kToAnswer_ns);
  return of_parent;
}

void serve(int child) noexcept {
  const int64_t end_ns = now_ns() + 2 * kToAnswer_ns;
  Message message{Kind::go, 0, 0, line};
  if (!send(child, message, end_ns)) return;
  while (receive(&child, Kind::ping, &message, end_ns) && message.kind == Kind::ping)
    if (!send(child, {Kind::pong, message.number, now_ns(), {}}, end_ns)) return;
}

// One after the other, as they get ready: a busy parent would answer late.
void serve_children(int64_t deadline_ns) noexcept {
  Message message;
  int served = 0;
  for (int child = -1; served < n_children(); ++served, child = -1) {
    if (!receive(&child, Kind::ready, &message, deadline_ns)) break;
    serve(child);
  }
  if (served < n_children())
    snprintf(trouble, sizeof trouble,
             "the clocks of %d nodes could not be compared: their ranks did not answer rank %d",
             n_children() - served, leaders[own_place]);
}

// All leaders meet their parents. to_meet_ns: how long the reference waits for its children.
void meet(int64_t to_meet_ns) noexcept {
  const int64_t begun_ns = now_ns(), deadline_ns = begun_ns + to_meet_ns + level * kPerLevel_ns;
  const bool again = n_comparisons > 0;
  Comparison& comparison = comparisons[n_comparisons];
  if (own_place == 0) {
    const int64_t first_ns = again ? line.compared_ns[0] : begun_ns;
    line = own_clock(begun_ns);
    line.compared = 1 + again;
    line.compared_ns[0] = first_ns;
  } else {
    ClockLine of_parent = meet_parent(&comparison, deadline_ns);
    // The first line of a parent does not know its drift, so it says little at the end.
    if (again && parent() > 0 && of_parent.compared < 2) of_parent = {};
    const bool first_failed = again && comparisons[0].n == 0;
    const ClockLine found = first_failed ? line_through(&comparison, 1, of_parent)
                                         : line_through(comparisons, 1 + again, of_parent);
    if (found.compared) line = found;
  }
  serve_children(deadline_ns + kPerLevel_ns);
  ++n_comparisons;
}

void warn_of_trouble() noexcept {
  if (trouble[0]) perfield_warn_once_per_node("clocks", trouble);
  trouble[0] = '\0';
}

// Returns whether there is anything to report.
bool describe(perfield_clock* clock) noexcept {
  if (own_place < 0 || line.compared == 0) return false;
  *clock = {leaders[0],     line.monotonic_ns,  line.offset_ns,
            line.drift_ppb, line.round_trip_ns, line.wander_ppb,
            line.compared,  line.compared_ns,   line.round_trip_ns / 2};
  return true;
}

int meet_again(perfield_clock* clock) noexcept {
  if (n_comparisons != 1 || n_leaders < 2) return 0;
  meet(kToEnd_ns);
  warn_of_trouble();
  return clock && describe(clock);
}

}  // namespace

void compare_clocks_at_start(int rank, int size) noexcept {
  const bool all = size > 1 && vouched(size);
  unsetenv("PERFIELD_ALL_RANKS");  // it does not hold for a child process
  if (all && !one_node(size) && find_functions() && !is_spawned() && join(rank, size))
    meet(kToStart_ns);
}

void report_clocks() noexcept {
  warn_of_trouble();
  perfield_clock clock;
  if (describe(&clock)) perfield_source_clock(&clock);
  if (own_place >= 0) perfield_source_before_end(meet_again);
}

void compare_clocks_at_end() noexcept {
  if (own_place >= 0) meet_again(nullptr);
}

}  // namespace perfield::pmpi
