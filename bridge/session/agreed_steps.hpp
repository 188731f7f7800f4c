// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_steps.hpp - carries proposals of the call site that closes steps from rank 0 to the
// others, and refusals, by notes in the run directory; see recorder/agreed_site.hpp.
#pragma once

#include <cstdint>
#include <string>

namespace perfield {

class CallSites;

class AgreedSteps {
 public:
  // note: the path of the notes, without their numbers. proposes: this rank is rank 0.
  void start(const std::string& note, bool proposes) {
    note_ = note;
    proposes_ = proposes;
  }
  // Reads what is new, and answers. now_ns: on this rank's clock. Throws std::bad_alloc.
  void look(CallSites& sites, uint64_t now_ns);
  // Collective operations end this rank's steps: refuses what was proposed so far.
  void refuse_proposed();
  // The rank ends, and looks a last time. If it has no steps, it refuses those of the others.
  void end(CallSites& sites, uint64_t now_ns);

 private:
  void refuse_all() const;
  void look_for_site(CallSites& sites);
  void look_for_pace(CallSites& sites, uint64_t now_ns);
  std::string note(uint32_t number) const { return note_ + "-" + std::to_string(number); }

  std::string note_;
  bool proposes_ = false;
  uint32_t n_ = 0;        // proposals of sites so far
  uint64_t paced_ = 0;    // CallSites::found_name()
  uint32_t n_paces_ = 0;  // of these steps
};

}  // namespace perfield
