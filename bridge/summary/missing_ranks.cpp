// SPDX-License-Identifier: BSD-3-Clause
//
// missing_ranks.cpp - see missing_ranks.hpp.
#include "summary/missing_ranks.hpp"

#include <vector>

#include "summary/text.hpp"

namespace perfield {

std::string missing_ranks_line(const RunTotals& run) {
  std::vector<int32_t> missing;
  for (int32_t rank = 0; rank < run.size; ++rank)
    // Of a large run only a part is read, which may lack a rank's first entry or its last ones.
    if (!run.group.count(rank) && !run.memory.count(rank)) missing.push_back(rank);
  if (missing.empty()) return "";
  const bool may_come = run.n_blind() == run.blind.size();  // without MPI, ranks start at any time
  return line("missing", text_of_ranks(missing) + " of " + std::to_string(run.size) +
                             " wrote nothing here" + (may_come ? " so far" : "") +
                             ": not started by perfield-exec, or in another run "
                             "(docs/clusters.md: PERFIELD_RUN_ID)");
}

std::string not_believed_line(const RunTotals& run) {
  const NotBelieved& stated = run.not_believed;
  if (!stated.n) return "";
  return line("world", text_of_count(stated.n) + " of " + plural(stated.of, "rank") +
                           (stated.n == 1 ? " states" : " state") + " a world of up to " +
                           text_of_count(uint64_t(stated.largest)) + " ranks, expected at most " +
                           text_of_count(uint64_t(stated.bound)) + ", so " +
                           (run.size ? "the size that others state counts"
                                     : "only ranks with entries count"));
}

}  // namespace perfield
