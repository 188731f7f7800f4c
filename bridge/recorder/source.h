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

// --- calls of MPI and of files ------------------------------------------------------------------
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
// Leaves it: counts one call of that kind and its time. bytes_*: what the call itself moved as a
// collective or file operation (messages to peers are told by perfield_message).
void perfield_call_leave(perfield_call call, uint64_t entered, uint64_t bytes_out,
                         uint64_t bytes_in) noexcept;
// What a call site brings about when its call has returned: a step is closed, the sites are noted.
void perfield_call_after(uint64_t after) noexcept;
// Calls that a source learns of when they are over, or which are no call of this thread (those of a
// device): so many, of so many nanoseconds in all. Counted as of now, if anything is. Not inside
// another call, but with count 0: then they are the bytes of one that was counted before.
void perfield_source_count(perfield_call call, uint64_t count, uint64_t ns, uint64_t bytes_out,
                           uint64_t bytes_in) noexcept;
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

// --- counters that a source reads by itself -----------------------------------------------------
// The number of the counter of that name, defined if it is new; -1 if there is no room for one more
// (16 in all), or if perfield reads it from the kernel already. To be asked once, best before
// waking. Locks.
int perfield_source_counter(const char* name) noexcept;
// What that counter of this thread stands at; it only grows. To be told right before the begin or
// end of a region that it was read at: the region gets the difference. Not told, the last value
// holds.
void perfield_source_counter_stands(int counter, uint64_t value) noexcept;

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
