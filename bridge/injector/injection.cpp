// SPDX-License-Identifier: BSD-3-Clause
//
// injection.cpp - see injection.hpp.
#include "injection.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "communicators.hpp"
#include "latencies.hpp"
#include "peers.hpp"
#include "receives.hpp"
#include "recorder/source.h"
#include "stamps.hpp"

namespace perfield::injector {
namespace {

Latencies latencies;
Stamps stamps;
decltype(&::MPI_Iprobe) iprobe = nullptr;
bool is_crowded = false;  // more ranks than CPUs: a waiting rank must let others run
int32_t me = 0;
std::atomic<bool> clock_stands{false};

perfield_quantity injected_messages, injected_latency, injected_wait;

using Counter = std::atomic<uint64_t>;
Counter n_without_stamp{0}, n_out_of_step{0}, n_unnamed{0}, n_after_end{0}, n_repeated{0};

void count(Counter& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

int number_in(const char* variable) noexcept {
  const char* text = getenv(variable);
  return text ? atoi(text) : 0;
}

bool has_more_ranks_than_cpus(int size) noexcept {
  int here = number_in("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (here == 0) here = number_in("MPI_LOCALNRANKS");
  if (here == 0) here = size;
  cpu_set_t cpus;
  // The machine's CPUs, not this rank's: a rank that is bound to a core of its own shares it with
  // none.
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  const int mine = known ? CPU_COUNT(&cpus) : static_cast<int>(all);
  return here > all || (mine > 1 && here > mine);
}

void announce() noexcept {
  perfield_source_present("injector");
  const auto define = [](const char* name, const char* unit, const char* help) {
    return perfield_quantity_define(name, unit, PERFIELD_PER_RANK, PERFIELD_STEPS_SUM,
                                    PERFIELD_THREADS_SUM, help);
  };
  injected_messages =
      define("injected_messages", "1", "messages received with an injected latency");
  injected_latency =
      define("injected_latency", "ns", "latencies injected into received messages, added up");
  injected_wait =
      define("injected_wait", "ns", "time for which calls were held by injected latencies");
  perfield_source_counts_dropped("undelayed_no_stamp",
                                 "messages were not delayed, because their sender left no stamp: "
                                 "it runs on another node, or a "
                                 "library sent them past the wrappers",
                                 &n_without_stamp);
  perfield_source_counts_dropped(
      "undelayed_out_of_step",
      "messages were not delayed, because stamps no longer matched the messages of their sender: "
      "it "
      "was more than 1023 messages ahead, or a library received some past the wrappers",
      &n_out_of_step);
  perfield_source_counts_dropped(
      "undelayed_communicator",
      "messages were not delayed, because their communicator joins groups or programs, or was made "
      "by some of its parent's ranks or by MPI_Comm_idup",
      &n_unnamed);
  perfield_source_counts_dropped(
      "undelayed_trace_over",
      "messages were not delayed, because the trace of latencies was over; draw a longer one "
      "(perfield lab inject --messages), or let it repeat",
      &n_after_end);
  perfield_source_counts_dropped(
      "delayed_by_repeated_trace",
      "messages were delayed by latencies that the trace had given before, because it is shorter "
      "than the run; draw a longer one (perfield lab inject --messages)",
      &n_repeated);
}

uint64_t due_after(const Stamp& stamp) noexcept {
  uint64_t latency_ns = 0;
  if (!latencies.of_message(stamp.number, &latency_ns)) return 0;
  return stamp.sent_ns + latency_ns;
}

}  // namespace

void begin() noexcept {
  const char* trace = getenv("PERFIELD_INJECT");
  const char* run = getenv("PERFIELD_RUN_ID");
  if (library.started || !trace || !*trace || !run || !*run) return;
  resolve();
  if (!fits()) return;  // perfield's own wrappers warn
  int level = MPI_THREAD_SINGLE, rank = 0, size = 1;
  library.Query_thread(&level);
  library.concurrent = level == MPI_THREAD_MULTIPLE;
  library.Comm_rank(library.comm_world, &rank);
  library.Comm_size(library.comm_world, &size);
  iprobe = reinterpret_cast<decltype(iprobe)>(function_of_mpi("PMPI_Iprobe"));
  const char* trouble = latencies.read(trace, rank);
  if (!*trouble && !stamps.prepare(run, rank, size)) trouble = "finds no memory for its ranks";
  if (*trouble) {
    char sentence[4400];
    snprintf(sentence, sizeof sentence, "no latencies are injected: the trace %s %s", trace,
             trouble);
    perfield_warn_once_per_node("injected latencies", sentence);
    return;
  }
  me = rank;
  is_crowded = has_more_ranks_than_cpus(size);
  prepare_sizes();
  prepare_peers();
  prepare_names();
  announce();
  library.started = true;
}

bool end() noexcept {
  const bool was_injecting = library.started;
  library.started = false;
  return was_injecting;
}

void clean_up() noexcept { stamps.remove(); }

void leave_stamp(int dest, int tag, uint64_t bytes, MPI_Comm comm) noexcept {
  if (dest < 0) return;  // MPI_PROC_NULL
  leave_stamp_for(world_rank(comm, dest), name_of(comm), tag, bytes);
}

void leave_stamp_for(int32_t peer, uint32_t communicator, int tag, uint64_t bytes) noexcept {
  if (communicator != kNoName && peer != me) stamps.leave(peer, communicator, tag, bytes);
}

uint64_t due_of_message(int32_t peer, uint32_t communicator, int tag, uint64_t bytes) noexcept {
  if (peer == me) return 0;
  if (communicator == kNoName) return count(n_unnamed), 0;
  Stamp stamp;
  const Stamps::Found found = stamps.take(peer, communicator, tag, bytes, &stamp);
  if (found == Stamps::Found::none) return count(n_without_stamp), 0;
  if (found == Stamps::Found::out_of_step) return count(n_out_of_step), 0;
  uint64_t latency_ns = 0;
  if (!latencies.of_message(stamp.number, &latency_ns)) return count(n_after_end), 0;
  if (stamp.number >= latencies.size()) count(n_repeated);
  perfield_quantity_add(injected_messages, 1);
  perfield_quantity_add(injected_latency, latency_ns);
  return stamp.sent_ns + latency_ns;
}

uint64_t due_of_received(const MPI_Status& status, MPI_Comm comm) noexcept {
  if (status.MPI_SOURCE < 0) return 0;  // MPI_PROC_NULL
  const int32_t peer = world_rank(comm, status.MPI_SOURCE);
  const uint32_t communicator = name_of(comm);
  receives.settle_older(peer, communicator, status.MPI_TAG, Receives::kNewest);
  return due_of_message(peer, communicator, status.MPI_TAG, bytes_of(status));
}

uint64_t due_of_probed(const MPI_Status& status, MPI_Comm comm) noexcept {
  if (status.MPI_SOURCE < 0) return 0;
  const int32_t peer = world_rank(comm, status.MPI_SOURCE);
  const uint32_t communicator = name_of(comm);
  if (peer == me || communicator == kNoName) return 0;
  receives.settle_older(peer, communicator, status.MPI_TAG, Receives::kNewest);
  Stamp stamp;
  const bool found = stamps.look(peer, communicator, status.MPI_TAG, &stamp) == Stamps::Found::yes;
  return found ? due_after(stamp) : 0;
}

void drive_progress() noexcept {
  int flag = 0;
  MPI_Status status;
  iprobe(me, 0, library.comm_world, &flag, &status);
}

bool has_come(uint64_t due_ns) noexcept {
  return due_ns == 0 || now_ns() >= due_ns || clock_stands.load(std::memory_order_relaxed);
}

void take_turn() noexcept {
  constexpr uint64_t kMostTurns = 1 << 20;  // some tenths of a second
  static __thread uint64_t last_ns, n_turns;
  drive_progress();
  if (is_crowded) sched_yield();
  const uint64_t at_ns = now_ns();
  n_turns = at_ns == last_ns ? n_turns + 1 : 0;
  last_ns = at_ns;
  if (n_turns > kMostTurns) clock_stands.store(true, std::memory_order_relaxed);
}

void hold_until(uint64_t due_ns) noexcept {
  if (has_come(due_ns)) return;
  const uint64_t from_ns = now_ns();
  while (!has_come(due_ns)) take_turn();
  perfield_quantity_add(injected_wait, now_ns() - from_ns);
}

void lose_track(int32_t peer) noexcept { stamps.give_up(peer); }

}  // namespace perfield::injector
