// SPDX-License-Identifier: BSD-3-Clause
//
// files.cpp - see files.hpp. An operation inside another one (a function that calls another) is
// part of it. If libperfield_io.so is loaded, it counts files and this does not.
#include "sources/scorep/files.hpp"

#include <atomic>

#include "recorder/file_operations.hpp"
#include "recorder/source.h"
#include "sources/scorep/calls.hpp"
#include "sources/scorep/thread.hpp"

namespace perfield::scorep {
namespace {

enum : uint32_t { kRead = 0, kWrite = 1 };  // Score-P's modes of an operation
constexpr uint64_t kUnknownBytes = ~uint64_t(0);

// The open operation of this thread.
struct Operation {
  Handle file;
  uint32_t depth;  // 0: none
  const perfield_operation* kind;
  uint64_t stamp;
};
__thread Operation operation __attribute__((tls_model("initial-exec"))) = {};

FileOperations operations;  // used if no other library wraps these functions

// Whether libperfield_io.so counts files, which is known once perfield is awake. Otherwise this
// file does.
bool are_wrapped() noexcept {
  enum : int { unknown, no, yes };
  static std::atomic<int> answer{unknown};
  int known = answer.load(std::memory_order_relaxed);
  if (known == unknown) {
    if (!perfield_source_is_started()) return true;
    known = perfield_source_is_present("io") ? yes : no;
    answer.store(known, std::memory_order_relaxed);
    if (known == no) {
      perfield_source_present("scorep-io");
      operations = define_file_operations(perfield_quantity_define);
    }
  }
  return known == yes;
}

const perfield_operation* kind_of(uint32_t mode) noexcept {
  return mode == kRead ? &operations.read : &operations.write;
}

struct Moved {
  uint64_t out, in;
};
Moved moved(uint32_t mode, uint64_t bytes) noexcept {
  if (bytes == kUnknownBytes) bytes = 0;
  return {mode == kWrite ? bytes : 0, mode == kRead ? bytes : 0};
}

bool moves_bytes_of_files(perfield_call kind) noexcept {
  return kind == PERFIELD_CALL_file_read || kind == PERFIELD_CALL_file_read_all ||
         kind == PERFIELD_CALL_file_write || kind == PERFIELD_CALL_file_write_all;
}

void leave(Moved bytes) noexcept {
  operation.depth = 0;
  if (operation.stamp)
    perfield_operation_leave(operation.kind, operation.stamp, bytes.out + bytes.in);
}

// Whether this thread itself reads or writes.
bool is_followed(Location* location, uint32_t mode) noexcept {
  return mode <= kWrite && is_awake() && is_own(location);
}

void begin(Location* location, uint64_t, Handle file, uint32_t mode, uint32_t, uint64_t, uint64_t,
           uint64_t) {
  if (!is_followed(location, mode)) return;
  if (open_call.is_open) {
    ++open_call.operations;
    return;
  }
  if (are_wrapped()) return;
  if (operation.depth && operation.file == file) leave({0, 0});  // its end was lost
  if (operation.depth++) return;
  const perfield_operation* kind = kind_of(mode);
  operation = {file, 1, kind, perfield_operation_enter(kind, __builtin_frame_address(0))};
}

// An asynchronous operation: its bytes count when it is complete.
void issue(Location* location, uint64_t, Handle, uint32_t mode, uint64_t) {
  if (is_followed(location, mode) && operation.depth && --operation.depth == 0) leave({0, 0});
}

void complete(Location* location, uint64_t, Handle, uint32_t mode, uint64_t bytes, uint64_t) {
  if (!is_followed(location, mode)) return;
  const Moved done = moved(mode, bytes);
  if (open_call.is_open) {
    const bool is_outermost = open_call.operations && --open_call.operations == 0;
    if (!is_outermost || !moves_bytes_of_files(open_call.kind)) return;
    open_call.bytes_out += done.out;
    open_call.bytes_in += done.in;
    return;
  }
  if (are_wrapped()) return;
  if (operation.depth == 0)
    perfield_quantity_add(kind_of(mode)->bytes, done.out + done.in);
  else if (--operation.depth == 0)
    leave(done);
}

void cancel(Location* location, uint64_t, Handle, uint32_t mode, uint64_t) {
  issue(location, 0, 0, mode, 0);
}

// --- Score-P's own trace, if its memory does not hold it until the end --------------------------
// A thread is not measured while Score-P flushes it.
__thread bool is_writing_trace __attribute__((tls_model("initial-exec"))) = false;

void begin_flush(Location*, uint64_t, Handle, uint64_t*) {
  if (is_writing_trace) return;
  is_writing_trace = true;
  perfield_own_begin();
}

void end_flush(Location*, uint64_t, Handle, uint64_t*) {
  if (!is_writing_trace) return;
  is_writing_trace = false;
  perfield_own_end();
}

}  // namespace

void end_operation() noexcept {
  if (operation.depth) leave({0, 0});
}

void set_file_events(Event* events) noexcept {
  set(events, kFlushBegin, begin_flush);
  set(events, kFlushEnd, end_flush);
  set(events, kIoBegin, begin);
  set(events, kIoIssued, issue);
  set(events, kIoComplete, complete);
  set(events, kIoCancelled, cancel);
}

}  // namespace perfield::scorep
