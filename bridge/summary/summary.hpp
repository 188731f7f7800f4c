// SPDX-License-Identifier: BSD-3-Clause
//
// summary.hpp - the summary of a run, in a dozen lines. The first ones show where it costs most,
// and why. Rank 0 computes them from the streams, finished or not, after MPI_Finalize; so does
// `perfield info`. Never throws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "summary/run_parts.hpp"

namespace perfield {

inline constexpr uint64_t kClosingBytes = uint64_t{256} << 20;

struct Summary {
  std::vector<std::string> lines;  // without prefix and line ends
  std::vector<RunPart> parts;      // setup, steps, teardown, as the line on them says
};

// Reads the newest max_bytes of the streams; if there is more, the first line mentions it. If
// nothing can be read, the one line is the reason.
Summary summary_of(const std::string& run_path, uint64_t max_bytes = kClosingBytes) noexcept;

}  // namespace perfield
