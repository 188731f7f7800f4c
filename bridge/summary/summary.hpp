// SPDX-License-Identifier: BSD-3-Clause
//
// summary.hpp - the closing lines: what a run was like, in at most nine lines. Computed from the
// streams, finished or not, by rank 0 after MPI_Finalize and by `perfield info`. Never throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

inline constexpr uint64_t kClosingBytes = uint64_t{256} << 20;

// Lines without a prefix and without line ends. Reads the newest max_bytes of the streams; if there
// is more, the first line says so. Where nothing can be read, one line says why.
std::vector<std::string> closing_lines(const std::string& run_path,
                                       uint64_t max_bytes = kClosingBytes) noexcept;

}  // namespace perfield
