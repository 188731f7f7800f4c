// SPDX-License-Identifier: BSD-3-Clause
//
// process.hpp - what the kernel says about this process: memory, CPU time, context switches,
// faults, and the CPUs it may use. It costs a few system calls when a step closes, none of them on
// a path. Never fails: a value that cannot be read is 0 or empty.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "platform/kept_file.hpp"

namespace perfield {

struct ProcessFigures {
  uint64_t cpu_user_ns = 0, cpu_system_ns = 0;
  uint64_t voluntary_switches = 0, involuntary_switches = 0;
  uint64_t minor_faults = 0, major_faults = 0;
};

ProcessFigures process_figures() noexcept;

// Resident memory in bytes. statm: kept for this alone.
uint64_t resident_bytes(KeptFile* statm) noexcept;

// The CPUs that a thread may use, as a mask of bits; empty if there is no such thread. Such masks
// can be joined, and listed in Linux numbers: "0-3,8".
using CpuMask = std::vector<unsigned char>;
CpuMask cpu_mask(pid_t thread);
void join(CpuMask* mask, const CpuMask& other);
std::string cpu_list(const CpuMask& mask);

// The CPU on which a thread of this process last ran, in Linux numbers; -1 if unknown. stat: kept
// for this thread alone.
int last_processor(pid_t thread, KeptFile* stat) noexcept;

// The namespace in which this process's number is valid: "pid:[4026531836]".
std::string pid_namespace();

// The file name of the program, without folders; and its command line.
std::string program_name();
std::string program_arguments();

}  // namespace perfield
