// SPDX-License-Identifier: BSD-3-Clause
//
// source.h - the exported C functions of libperfield.so that a source of events calls.
// A source may call them at any moment from any thread. While nothing is measured, a call costs a
// few nanoseconds. They never fail, print or throw. They do not allocate after a thread's first
// event, and they lock only at the first hit of a call site, unless the comment on a function says
// otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format/calls.h"
#include "format/peers.h"

// The name of perfield's own threads that live with the program; a source that lists threads leaves
// them out.
#define PERFIELD_OWN_THREAD "perfield"

// libperfield.map exports these symbols, so that the libraries of the sources can call them.
#pragma GCC visibility push(default)
extern "C" {

// --- starting and ending (not on the hot path) ---------------------------------------------------
// Starts measuring in this process. `mpi` names the MPI library ("Open MPI 4.1.4"); it is ""
// without MPI. Does nothing if this process is measured already.
void perfield_source_start(int rank, int size, const char* mpi) noexcept;
// Closes teardown, writes the `end` entry and stops measuring for good. reason: "finalize", "exit"
// or "abort".
void perfield_source_end(const char* reason) noexcept;
// Rank 0 prints the summary of the run on stderr, if the configuration wants them. Call it
// after the next MPI_Finalize has returned.
void perfield_source_summary() noexcept;
// The switch of MPI_Pcontrol: pauses measuring (0) or ends that pause (1). A repeated call does
// nothing. perfield_pause is another pause; measuring resumes when both have ended.
void perfield_source_control(int measures) noexcept;
// Returns 1 from the start of the measurement to its end, also while it is paused; else 0.
int perfield_source_is_started() noexcept;
// The same as an atomic, for sources that look at each event: 0 inactive, 1 paused, 2 counting.
const std::atomic<uint32_t>* perfield_source_state() noexcept;
// Writes a `clock` entry: a stamp m of CLOCK_MONOTONIC here is m + offset_ns + drift_ppb * 1e-9 *
// (m - monotonic_ns) on the node of the reference rank. See docs/stream.md for the rest.
struct perfield_clock {
  int32_t reference_rank;
  int64_t monotonic_ns, offset_ns;
  double drift_ppb;
  int64_t round_trip_ns;
  double wander_ppb;
  int32_t n_compared;
  const int64_t* compared_ns;
  int64_t uncertainty_ns;
};
void perfield_source_clock(const struct perfield_clock* clock) noexcept;
// Registers `function`. perfield calls it in perfield_source_end("finalize"), after the entry of
// the last step, so its time belongs to none. If it returns 1, perfield writes what it left in
// `clock`. It must not call perfield, except to warn the user.
void perfield_source_before_end(int (*function)(struct perfield_clock* clock)) noexcept;
// Names a source ("pmpi", "openfoam") in this rank's `rank` or `end` entry. name: a string literal.
void perfield_source_present(const char* name) noexcept;
// Copies the text of a configuration key to `value`, in the form that the environment uses. The
// text is "" before the start and for an unknown key. It is cut to `room` bytes, the final 0
// included. Not on the hot path.
void perfield_source_setting(const char* key, char* value, size_t room) noexcept;
// Returns 1 for one rank of each node, the first that asks with this topic; else 0. For sources
// that measure the node as a whole. Ask once, after the start.
int perfield_source_first_on_node(const char* topic) noexcept;
// Returns 1 if a source of that name is present; another source then leaves these facts to it.
int perfield_source_is_present(const char* name) noexcept;
// Notes that a code hook is in place. If it is never hit, perfield prints `sentence` at the end.
// name, sentence: string literals.
void perfield_source_hook_expected(const char* name, const char* sentence) noexcept;
// Notes that a code hook was hit. name: as above.
void perfield_source_hook_hit(const char* name) noexcept;
// Registers the counter of events that a source had to drop. If it is not 0 at the end, it is
// written to the `end` entry as `kind`, and perfield prints "<count> <sentence>". kind, sentence:
// string literals.
void perfield_source_counts_dropped(const char* kind, const char* sentence,
                                    const std::atomic<uint64_t>* count) noexcept;
// Prints "perfield: <sentence>" on stderr, at most once per node for each `topic`.
void perfield_warn_once_per_node(const char* topic, const char* sentence) noexcept;

// --- regions of sources that see more functions than are to be measured ------------------------
// Returns 1 if this thread has armed its next region (perfield_pipeline_next), else 0.
int perfield_source_armed() noexcept;
// perfield_region_begin and perfield_region_end for events with a known time, in ticks of
// perfield's clock. With 0, perfield reads the clock.
void perfield_region_begin_at(uint32_t region, uint64_t ticks) noexcept;
void perfield_region_end_at(uint32_t region, uint64_t ticks) noexcept;
// Reads that clock. Call it after the start.
uint64_t perfield_source_ticks() noexcept;

// --- calls of MPI ------------------------------------------------------------------------------
// Enters an MPI call that the program makes at `caller` (a return address; NULL: not known).
// `frame` is the wrapper's own frame. `stamp` is a time stamp, or 0 if the call is not measured
// (inactive, paused, inside another call or inside perfield). `frame` shows when an exception or
// longjmp has left a call; NULL: not known. With stamp 0, call none of the functions below except
// perfield_call_after. If `after` is not 0, pass it to perfield_call_after once all else is done,
// even where stamp is 0.
struct perfield_entered {
  uint64_t stamp, after;
};
struct perfield_entered perfield_call_enter(perfield_call call, const void* caller,
                                            const void* frame) noexcept;
// Exits the call: counts one call of that kind and its time. exited: stamp of the return; with 0,
// perfield reads the clock.
void perfield_call_exit(perfield_call call, uint64_t entered, uint64_t exited) noexcept;
// The same for a call that itself wrote bytes_out to files and read bytes_in from them.
// perfield_message reports messages to peers.
void perfield_call_exit_bytes(perfield_call call, uint64_t entered, uint64_t exited,
                              uint64_t bytes_out, uint64_t bytes_in) noexcept;
// Exits a test or probe that found nothing. Its time counts as waiting for what ends the
// polling: the next test or probe that finds something, if this thread exits no other call before.
void perfield_call_unanswered(perfield_call call, uint64_t entered) noexcept;
// How long this thread has polled so.
uint64_t perfield_polled() noexcept;
// Adds bytes to a call that was counted before.
void perfield_call_moved(perfield_call call, uint64_t bytes_out, uint64_t bytes_in) noexcept;
// Does what a hit of this call site requires after its call: closes a step, or notes the sites.
void perfield_call_after(uint64_t after) noexcept;
// Registers `function`. perfield calls it on the thread that closes a step, just before the step
// closes: what the source counts there belongs to that step. perfield also calls it when counting
// pauses and resumes; what it counts while nothing is measured is dropped. It must not block.
void perfield_source_before_close(void (*function)()) noexcept;
// Registers `function`, which perfield calls once, when it has started to measure; as above.
void perfield_source_on_start(void (*function)()) noexcept;
// Calls `function` also where no step closes for half a second: on a thread of perfield's own, as
// perfield's own work. Call this once, in a function of perfield_source_on_start.
void perfield_source_between_closes(void (*function)()) noexcept;
// Counts a message to world rank `peer` (calls that send) or from it (calls that receive or get).
// `bytes` 0 counts as an empty message. Call it between enter and exit, if enter gave a stamp.
void perfield_message(perfield_call call, int32_t peer, uint64_t bytes) noexcept;

// --- messages and collective operations with their stamps ---------------------------------------
// Stamps are ticks of perfield's clock, as perfield_call_enter and perfield_source_ticks give them;
// 0: not known. The functions below count what perfield_message counts, and add the stamps up. In
// logged steps (`arrivals_every`) they keep each event as well. Call them between enter and exit,
// if enter gave a stamp.
// Identifies a message: `number` counts the messages of (sender, receiver, channel) over the whole
// run, from 1; `channel` is a hash of communicator and tag, the same at both ends. {0, 0}: unknown.
struct perfield_message_id {
  uint32_t channel, number;
};
// Counts a message that this rank sends, puts or fetches, at its start. begun: stamp of the call's
// entry. Returns a token for perfield_msg_send_complete; 0: do not call that.
uint32_t perfield_msg_send(perfield_call call, int32_t peer, uint64_t bytes, uint64_t begun,
                           struct perfield_message_id id) noexcept;
// The program has waited for that message from wait_begin to wait_end (0: now). token: what
// perfield_msg_send has returned. Call it at most once for each message, on any thread. Returns
// wait_end.
uint64_t perfield_msg_send_complete(perfield_call call, int32_t peer, uint32_t token,
                                    uint64_t wait_begin, uint64_t wait_end) noexcept;
// Both at once, for a send that the program has waited for since `begun`. Returns wait_end.
uint64_t perfield_msg_send_blocking(perfield_call call, int32_t peer, uint64_t bytes,
                                    uint64_t begun, uint64_t wait_end,
                                    struct perfield_message_id id) noexcept;
// A receive that is complete.
enum : uint32_t {
  PERFIELD_RECV_BLOCKING = 1,  // its call completed it alone, and counts as waiting for the peer
  PERFIELD_RECV_WILDCARD = 2   // posted for any sender or any tag
};
struct perfield_msg_recv {
  int32_t peer;
  uint32_t flags;
  uint64_t bytes;
  uint64_t posted;                // the receive was posted
  uint64_t wait_begin, wait_end;  // entry and exit (0: now) of the call that completed it
  struct perfield_message_id id;
};
// Returns wait_end.
uint64_t perfield_msg_recv_complete(const struct perfield_msg_recv* received) noexcept;
// A collective operation that this rank has completed. perfield_call_exit counts the call
// and its time; this counts the operation by its communicator.
enum : uint32_t { PERFIELD_COLLECTIVE_ROOT = 1 };  // this rank was the root
struct perfield_collective {
  perfield_call call;
  uint32_t communicator;  // its name, as perfield_source_communicator describes it; 0: not named
  uint32_t number;        // nth collective on that communicator over the run, from 1; 0: unknown
  uint32_t flags;
  uint64_t bytes_out, bytes_in;
  uint64_t begun;                 // the operation was started
  uint64_t wait_begin, wait_end;  // entry and exit (0: now) of the call that completed it
};
// Returns wait_end.
uint64_t perfield_collective_done(const struct perfield_collective* done) noexcept;
// The call at this thread's newest call site was a collective operation of all ranks of the world.
// Returns what is to be done after it, for perfield_call_after. For calls whose `after` asks.
enum : uint64_t { PERFIELD_AFTER_ASKS = 8 };
uint64_t perfield_call_of_all(void) noexcept;
// A synchronisation of one-sided transfers, or a probe that has found a message.
// perfield_call_exit counts the call and its time; this counts whom the rank may have waited for in
// it. Locks count in logged steps only.
enum : uint32_t { PERFIELD_LOCK_EXCLUSIVE = 1 };
struct perfield_synchronisation {
  // win_post, win_start, win_complete, win_wait, lock, flush or unlock; probe or iprobe
  perfield_call call;
  int32_t peer;  // the other side; of a lock the rank whose window it is, kEveryPeer: all ranks
  uint32_t flags;
  // channel: the window, the same on all its ranks. number: the nth epoch from this origin to this
  // target, from 1; of locks 0. For a probe: that of the message.
  struct perfield_message_id id;
  uint64_t entered, exited;  // stamps of the call; exited 0: now
};
// Returns `exited`, which stays 0 if nothing is counted.
uint64_t perfield_synchronised(const struct perfield_synchronisation* done) noexcept;
// A communicator, as this rank sees it. label: what MPI_Comm_get_name says, or "". is_used: not
// only made. A Cartesian one has n_dims > 0 lengths of axes, and whether each is periodic.
struct perfield_communicator {
  uint32_t name;
  int32_t size, my_rank;
  const char* label;
  int32_t is_used, n_dims;
  const int32_t *dims, *periodic;
};
// Describes a communicator, once per rank before its first use; a Cartesian one also when it is
// made. Not on the hot path; locks.
void perfield_source_communicator(const struct perfield_communicator* communicator) noexcept;

// --- samples -------------------------------------------------------------------------------------
// Where threads of the program were, many times a second. Call these only in a function that
// perfield_source_before_close or perfield_source_between_closes has registered.
struct perfield_samples {
  const uint64_t* words;  // see format/samples.hpp
  size_t n_words;
  uint64_t period_ns;  // CPU time that a sample stands for
  uint64_t lost;       // samples, since the last call
};
enum perfield_samples_answer : uint8_t {
  PERFIELD_SAMPLES_REFUSED,  // the disk or record_limit has no room
  PERFIELD_SAMPLES_WRITTEN,
  PERFIELD_SAMPLES_FEWER  // written; take half as many from now on, to keep to record_limit
};
enum perfield_samples_answer perfield_source_samples(const struct perfield_samples* taken) noexcept;
// Where the kernel counts the bytes that it writes about a thread, into each of its two rings: from
// now on perfield marks in which region the thread was. end: before these numbers are unmapped.
void perfield_source_samples_begin(int thread_id, const uint64_t* const written[2]) noexcept;
void perfield_source_samples_end(int thread_id) noexcept;
// In which region a sample was taken, as a `samples` entry states it. end: the byte behind the
// sample, as `written` counts. Ask in the order in which the kernel wrote them.
uint64_t perfield_source_sample_region(int thread_id, int ring, uint64_t end) noexcept;
// Describes code that the process has loaded or made since the last call: an object of JSON, see
// docs/stream.md.
void perfield_source_modules(const char* json) noexcept;
// Returns 1 while the last step closes: nothing can be handed in later.
int perfield_source_is_ending() noexcept;

// --- quantities ---------------------------------------------------------------------------------
// A quantity is what a source measures beside regions and MPI calls. Define it once, then add to
// it.
typedef uint32_t perfield_quantity;  // 0: none; adding to it does nothing

enum perfield_scope : uint8_t { PERFIELD_PER_REGION, PERFIELD_PER_RANK };
// How the values of several steps (or of the parts of a step between pauses) become one. Amounts
// add up. Of a state, the largest or the last value holds.
enum perfield_over_steps : uint8_t { PERFIELD_STEPS_SUM, PERFIELD_STEPS_MAX, PERFIELD_STEPS_LAST };
// How the values of a rank's threads become one. LONGEST takes one thread's value: of the thread
// with most time in all LONGEST quantities of the region together, so that these times fit into the
// region's time.
enum perfield_over_threads : uint8_t {
  PERFIELD_THREADS_SUM,
  PERFIELD_THREADS_MAX,
  PERFIELD_THREADS_LONGEST
};

// Defines a quantity. Returns 0 if it is refused, with a warning, or if perfield itself reads the
// same counter from the kernel. Locks; call it once, best before the start.
// unit: of the whole numbers that are added: "1", "B" (bytes), "ticks" (of perfield's clock) and
// "ns" (both shown in s), "uJ" (shown in J), "ppm" (a share, shown as a number up to 1). help: one
// sentence, or NULL. The field's name joins the region (if any), the name and the shown unit:
// <region>_<name>_s, <name>_bytes, <name>_J, <name>_share, <name>. Two sources that make the same
// definition share one quantity.
perfield_quantity perfield_quantity_define(const char* name, const char* unit,
                                           enum perfield_scope scope,
                                           enum perfield_over_steps steps,
                                           enum perfield_over_threads threads,
                                           const char* help) noexcept;
// Adds to the innermost open region of this thread, and so to all its open regions; or to the rank.
// Does nothing while nothing is measured and inside perfield's own work.
void perfield_quantity_add(perfield_quantity quantity, uint64_t amount) noexcept;
// Sets the present value of a state, in all open regions of this thread or in the rank.
void perfield_quantity_set(perfield_quantity quantity, uint64_t value) noexcept;
// Reports the reading of a counter of this thread that only grows. Call it right before the begin
// or end of a region: the region gets the growth since the last report.
void perfield_quantity_reading(perfield_quantity quantity, uint64_t value) noexcept;
// Converts nanoseconds to ticks, for quantities in ticks. Call it after the start.
uint64_t perfield_source_ticks_of_ns(uint64_t ns) noexcept;

// --- operations ---------------------------------------------------------------------------------
// An operation is what a thread does in calls other than MPI's: reading a file, copying to a
// device. Its quantities are the rank's number of operations, their bytes and their time, and their
// time inside regions. 0: this quantity is not counted.
struct perfield_operation {
  perfield_quantity count, bytes, time, time_inside;
};
// Enters an operation. Returns a time stamp, or 0 if it is not measured; then do not leave it
// either. Operations inside an MPI call count as part of that call. `operation` must live as long
// as the process.
uint64_t perfield_operation_enter(const struct perfield_operation* operation,
                                  const void* frame) noexcept;
void perfield_operation_leave(const struct perfield_operation* operation, uint64_t entered,
                              uint64_t bytes) noexcept;
// Counts an operation that is too short to time.
void perfield_operation_count(const struct perfield_operation* operation, uint64_t bytes) noexcept;

// --- functions, of sources that see every one of a program; not on the hot path -----------------
// Returns 1 if the configuration may choose any function at all, else 0.
int perfield_source_follows_functions() noexcept;
// Returns the region name of the function with this symbol, as the configuration's `regions` or
// `step_region` has it; NULL if the configuration does not choose it. The caller frees the text.
char* perfield_source_function(const char* symbol) noexcept;
// For a source that chooses functions itself: this one is not chosen. Where an entry of `regions`
// chooses nothing, perfield prints the nearest name.
void perfield_source_function_passed(const char* name) noexcept;
// Returns the handle of that region, at its first entry. Also starts measuring, in a program in
// which no wrapped MPI_Init will.
uint32_t perfield_source_function_entered(const char* name) noexcept;
// Returns the region of a function for perfield_region_begin; defines it if it is new. For a tool
// that reports functions while they run and whose user has chosen them already. Returns 0 if
// neither `regions` (where a lone "*" chooses all) nor `step_region` names it and this thread has
// not armed its next region. Ask once per function, after the start. Locks.
// name: the readable name, with or without arguments. symbol: the name in the program file, or
// NULL. file: may be NULL.
uint32_t perfield_source_function_region(const char* name, const char* symbol, const char* file,
                                         int line) noexcept;

// --- regions, steps and the mesh: see perfield.h; a source may use those too ---------------------
// Offers the end of a time step, for a source that sees what the program does once per step but not
// the steps themselves. perfield takes the offers from the second one on, where nothing else closes
// steps: no call of perfield_step or of another source, and no step_region, step_call or
// step_seconds.
void perfield_source_step_offered(int64_t step, double time) noexcept;
// Returns 1 if a mesh of this rank has been described, or is to be read from mesh_path.
int perfield_source_has_mesh() noexcept;
// What perfield_values gives, of the step that closed last; before the first, of the open one, and
// NaN in the setup. The names live as long as the process.
struct perfield_value;
int perfield_source_values(int capacity, struct perfield_value* rows) noexcept;

// --- perfield's or Catalyst's own work inside the program: nothing below is counted -------------
void perfield_own_begin() noexcept;
void perfield_own_end() noexcept;
// Returns 1 between the two on this thread.
int perfield_own_work() noexcept;
// The same for long work in the middle of a step: it belongs to no step (perfield_time_s has it).
// No thread is counted meanwhile. Locks; pairs do not nest.
void perfield_exclude_begin() noexcept;
void perfield_exclude_end() noexcept;

}  // extern "C"
#pragma GCC visibility pop
