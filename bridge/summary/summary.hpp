// SPDX-License-Identifier: BSD-3-Clause
//
// summary.hpp - the summary of a run, in a dozen lines. The first ones show where it costs most,
// and why. Rank 0 computes them from the streams, finished or not, after MPI_Finalize; so does
// `perfield info`. Never throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfield {

inline constexpr uint64_t kClosingBytes = uint64_t{256} << 20;

// Returns lines without prefix and line ends. Reads the newest max_bytes of the streams; if there
// is more, the first line mentions it. If nothing can be read, the one line is the reason.
std::vector<std::string> summary_lines(const std::string& run_path,
                                       uint64_t max_bytes = kClosingBytes) noexcept;

}  // namespace perfield
