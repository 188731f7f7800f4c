// SPDX-License-Identifier: BSD-3-Clause
//
// process.hpp - what the kernel says of this process: memory, CPU time, switches, faults, and where
// it may run. A few system calls; read at the closing of a step. Never fails: what cannot be read
// is 0 or empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace perfield {

struct ProcessFigures {
  uint64_t cpu_user_ns = 0, cpu_system_ns = 0;
  uint64_t voluntary_switches = 0, involuntary_switches = 0;
  uint64_t minor_faults = 0, major_faults = 0;
};

ProcessFigures process_figures() noexcept;

// Resident memory in bytes.
uint64_t resident_bytes() noexcept;

// The CPUs that a thread of this process may use, Linux numbers: "0-3,8".
std::string cpu_set(pid_t thread);

// The CPU on which a thread of this process ran last, Linux number; -1 if that cannot be told.
int last_processor(pid_t thread) noexcept;

// Within which the number of this process means something: "pid:[4026531836]".
std::string pid_namespace();

// The name of the program's file, without folders; and the words it was started with.
std::string program_name();
std::string program_arguments();

}  // namespace perfield
