// SPDX-License-Identifier: BSD-3-Clause
//
// network_file.hpp - writes machine/network.txt, the switches of the cluster as the user's file or
// Slurm describes them, once per run: the process that claimed the run directory does it. Slurm is
// asked while the caller does something else, and for kSlurmPatienceMs at most: a thousand nodes
// that ask at once would hurt its controller. The answer is kept as text, which Python reads later
// (topology/network/) and a user can correct.
#pragma once

#include <memory>
#include <string>

#include "configuration/config.hpp"
#include "platform/child.hpp"
#include "run_directory/draft.hpp"

namespace perfield {

class NetworkFile {
 public:
  // Copies config.topology_file, or starts `scontrol show topology` if it is not set and
  // may_run_scontrol. Never throws.
  NetworkFile(const std::string& run_directory, const Config& config, bool may_run_scontrol);

  // Ends the writing. "" if the file is there or Slurm knows no switches, else a sentence that says
  // why not. Never throws.
  std::string finish();

 private:
  std::string copy(const std::string& from);
  std::string take_answer(int status);

  std::string trouble_;
  std::unique_ptr<Draft> draft_;
  std::unique_ptr<Child> scontrol_;  // writes into the draft
};

}  // namespace perfield
