// SPDX-License-Identifier: BSD-3-Clause
//
// source.h - what a source of events calls, as exported C functions of libperfield.so.
// All of it may be called at any moment from any thread, costs a few nanoseconds while nothing is
// measured, and never fails, allocates (after a thread's first event), prints, locks (but where a
// call site is hit first) or throws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/calls.h"
#include "format/peers.h"

// Seen by the libraries of the sources, hidden from nobody: see libperfield.map.
#pragma GCC visibility push(default)
extern "C" {

// --- waking and ending (not on the hot path) ----------------------------------------------------
// Starts measuring in this process. `mpi` names the MPI library ("Open MPI 4.1.4"), "" without
// one. Does nothing when awake.
void perfield_source_wake(int rank, int size, const char* mpi) noexcept;
// Closes teardown, writes the `end` entry, stops measuring for good. reason: "finalize", "exit",
// "abort".
void perfield_source_end(const char* reason) noexcept;
// Prints the closing lines of the run on stderr (rank 0, if the configuration wants them). To be
// called after the next MPI_Finalize has returned.
void perfield_source_summary() noexcept;
// 1 from waking to the end of the measurement, also while nothing is counted; else 0.
int perfield_source_awake() noexcept;
// The same for sources that look at each event: 0 asleep, 1 awake, 2 counting.
const std::atomic<uint32_t>* perfield_source_state() noexcept;
// Names a source ("pmpi", "openfoam") in this rank's `rank` or `end` entry. name: a literal.
void perfield_source_present(const char* name) noexcept;
// A key of the configuration as text, as the environment has it; "" before waking, or if there is
// no such key. Cut to `room` bytes with the 0 at its end. Not on the hot path.
void perfield_source_setting(const char* key, char* value, size_t room) noexcept;
// 1 for one rank of each node, the first that asks with this topic; else 0. To be asked once, while
// awake: of what is measured for a node as a whole.
int perfield_source_first_on_node(const char* topic) noexcept;
// 1 if a source of that name is there, so that another one leaves this kind of fact to it.
int perfield_source_is_present(const char* name) noexcept;
// A code hook is in place: if it is never hit, `sentence` is told at the end. Literals.
void perfield_source_hook_expected(const char* name, const char* sentence) noexcept;
// A code hook was hit. name: as above.
void perfield_source_hook_hit(const char* name) noexcept;
// Where the source counts events that it must leave out. If there are any at the end, they stand in
// the `end` entry as `kind`, and "<count> <sentence>" is told. Literals.
void perfield_source_counts_dropped(const char* kind, const char* sentence,
                                    const std::atomic<uint64_t>* count) noexcept;
// One line on stderr, at most once per node for each `topic`; prefixed with "perfield: ".
void perfield_source_tell(const char* topic, const char* sentence) noexcept;

// --- regions of sources that see more functions than are to be measured ------------------------
// 1 if this thread has armed its next region (perfield_pipeline_next), else 0.
int perfield_source_armed() noexcept;
// perfield_region_begin and perfield_region_end of events whose time is known, in ticks of
// perfield's clock. 0: not known, so the clock is read.
void perfield_region_begin_at(uint32_t region, uint64_t ticks) noexcept;
void perfield_region_end_at(uint32_t region, uint64_t ticks) noexcept;
// That clock. While awake.
uint64_t perfield_source_ticks() noexcept;

// --- calls of MPI ------------------------------------------------------------------------------
// Enters a call that the program makes at `caller` (a return address; NULL: not known), its
// wrapper's own frame being `frame`. `stamp` is 0 if the call is not to be measured (asleep,
// paused, inside another call or inside perfield): then call nothing of the below. Else a time
// stamp. `after`, if not 0, is to be given to perfield_call_after once all else is done, also where
// stamp is 0.
struct perfield_entered {
  uint64_t stamp, after;
};
struct perfield_entered perfield_call_enter(perfield_call call, const void* caller,
                                            const void* frame) noexcept;
// Leaves it: counts one call of that kind and its time. bytes_*: what the call itself moved to and
// from files (messages to peers are told by perfield_message).
void perfield_call_leave(perfield_call call, uint64_t entered, uint64_t bytes_out,
                         uint64_t bytes_in) noexcept;
// Bytes of a call that was counted before.
void perfield_call_moved(perfield_call call, uint64_t bytes_out, uint64_t bytes_in) noexcept;
// What a call site brings about when its call has returned: a step is closed, the sites are noted.
void perfield_call_after(uint64_t after) noexcept;
// `function` is called on the thread that closes a step, before it closes: what a source has
// gathered, and counts there, belongs to that step. It is also called when measuring pauses and
// goes on; what it counts while nothing is measured is dropped. It must not block.
void perfield_source_before_close(void (*function)()) noexcept;
// A message to (calls that send) or from (calls that receive, get) world rank `peer`; `bytes` 0
// counts as an empty message. To be called between enter and leave, if enter gave a stamp.
void perfield_message(perfield_call call, int32_t peer, uint64_t bytes) noexcept;
// Like it, for messages that arrive: counted by source.
void perfield_received(int32_t peer, uint64_t bytes) noexcept;
// Time from `entered` till now was spent waiting for `peer`.
void perfield_waited(int32_t peer, uint64_t entered) noexcept;

// --- quantities ---------------------------------------------------------------------------------
// What a source measures beside regions and calls of MPI. It is declared once, and then added to.
typedef uint32_t perfield_quantity;  // 0: none; adding to it does nothing

enum perfield_scope : uint8_t { PERFIELD_PER_REGION, PERFIELD_PER_RANK };
// What becomes of it when a frame spans several steps or pauses: it adds up, or it is a state, of
// which the largest or the last counts.
enum perfield_over_steps : uint8_t { PERFIELD_STEPS_SUM, PERFIELD_STEPS_MAX, PERFIELD_STEPS_LAST };
// And of the threads of a rank: longest takes the times of the thread that spent most in all such
// quantities of the region together, so that they fit into the region's time.
enum perfield_over_threads : uint8_t {
  PERFIELD_THREADS_SUM,
  PERFIELD_THREADS_MAX,
  PERFIELD_THREADS_LONGEST
};

// Declares a quantity; 0 if it is refused, which perfield tells, or if perfield reads that very one
// from the kernel already. unit: of the whole numbers that
// are added: "1", "B" (bytes), "ticks" (of perfield's clock) and "ns" (both shown in s), "uJ"
// (shown in J). The field is called after the region, if it has one, the name and the shown unit:
// <region>_<name>_s, <name>_bytes, <name>_J, <name>. The same declaration by two sources is one
// quantity. Locks; to be called once, best before waking. help: a sentence's worth, or NULL.
perfield_quantity perfield_quantity_define(const char* name, const char* unit,
                                           enum perfield_scope scope,
                                           enum perfield_over_steps steps,
                                           enum perfield_over_threads threads,
                                           const char* help) noexcept;
// Adds to the innermost region that this thread has open, and through it to all that are open, or
// to the rank. Nothing while nothing is measured, or inside perfield's own work.
void perfield_quantity_add(perfield_quantity quantity, uint64_t amount) noexcept;
// What a state is now: in all regions that this thread has open, or in the rank.
void perfield_quantity_set(perfield_quantity quantity, uint64_t value) noexcept;
// What a counter of this thread stands at; it only grows. To be told right before the begin or end
// of a region that it was read at: the region gets the growth since it was told last.
void perfield_quantity_stands(perfield_quantity quantity, uint64_t value) noexcept;
// So many nanoseconds in ticks, for quantities in them. While awake.
uint64_t perfield_source_ticks_of_ns(uint64_t ns) noexcept;

// --- operations ---------------------------------------------------------------------------------
// What a thread does in calls that are not MPI's: reading a file, copying to a device. Quantities
// of the rank: how many, of how many bytes, in which time; and their time inside regions. 0: none.
struct perfield_operation {
  perfield_quantity count, bytes, time, time_inside;
};
// Enters one: a time stamp, or 0 if it is not to be measured: then it is not left either. What a
// call of MPI does inside is that call's. operation: lives as long as the process.
uint64_t perfield_operation_enter(const struct perfield_operation* operation,
                                  const void* frame) noexcept;
void perfield_operation_leave(const struct perfield_operation* operation, uint64_t entered,
                              uint64_t bytes) noexcept;
// Counts one that is too short to be timed.
void perfield_operation_count(const struct perfield_operation* operation, uint64_t bytes) noexcept;

// --- functions, of sources that see every one of a program; not on the hot path -----------------
// 1 if the configuration may choose any function at all, else 0.
int perfield_source_follows_functions() noexcept;
// The region that a function is, given its symbol: its name as the configuration's `regions` or
// `step_region` have it, or NULL. The text is the caller's to free.
char* perfield_source_function(const char* symbol) noexcept;
// The handle of that region, at its first entry: this also starts measuring in a program in which
// no wrapped MPI_Init is going to.
uint32_t perfield_source_function_entered(const char* name) noexcept;
// The region of a function, for a tool that tells of functions while they run, which its user has
// chosen already: for perfield_region_begin, defined if it is new. 0 if the configuration has no
// name of it in `regions`, where a lone "*" chooses it, too, nor as `step_region`, and this thread
// has not armed its next one. To be asked once per function, while awake. Locks.
// name: as it is read, with or without arguments; symbol: as in the program file, or NULL; file may
// be NULL.
uint32_t perfield_source_function_region(const char* name, const char* symbol, const char* file,
                                         int line) noexcept;

// --- regions and steps: see perfield.h; a source may use those too ------------------------------
// --- perfield's or Catalyst's own work inside the program: nothing below is counted -------------
void perfield_own_begin() noexcept;
void perfield_own_end() noexcept;

}  // extern "C"
#pragma GCC visibility pop
