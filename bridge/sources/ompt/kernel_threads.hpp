// SPDX-License-Identifier: BSD-3-Clause
//
// kernel_threads.hpp - CPU time of each thread of the process, from the kernel.
#pragma once

namespace perfield::ompt {

inline constexpr int kNamedThreads = 16;  // per rank; perfield has room for 64 quantities in all

// Adds the CPU time since the last call to the quantities of threads, if the process has threads of
// a runtime without OMPT. One thread at a time. Opens no paths after its first call.
void count_cpu_time() noexcept;

}  // namespace perfield::ompt
