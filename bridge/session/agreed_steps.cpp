// SPDX-License-Identifier: BSD-3-Clause
//
// agreed_steps.cpp - see agreed_steps.hpp.
#include "session/agreed_steps.hpp"

#include <unistd.h>

#include "recorder/call_sites.hpp"
#include "run_directory/run_json.hpp"
#include "run_directory/shared_note.hpp"
#include "session/agreed_change.hpp"

namespace perfield {
namespace {

constexpr char kEnded[] = "-ended";

}  // namespace

void AgreedSteps::look(CallSites& sites, uint64_t now_ns) {
  if (sites.is_agreeing()) look_for_site(sites);
  if (sites.has_found()) look_for_pace(sites, now_ns);
}

void AgreedSteps::end(CallSites& sites, uint64_t now_ns) {
  if (!sites.following() || !sites.is_agreeing()) return;
  look(sites, now_ns);
  if (!sites.has_found() || !sites.found_is_right()) refuse_all();
}

void AgreedSteps::refuse_all() const { leave_note(note_ + kEnded, "refused"); }

void AgreedSteps::refuse_proposed() {
  while (agreed_change(note(n_ + 1)).to) ++n_;
  if (n_ > 0) leave_note(note(n_) + "-refused", "refused");
}

void AgreedSteps::look_for_site(CallSites& sites) {
  AgreedSite& agreed = sites.agreed();
  const auto refusal = [this] { return note(n_) + "-refused"; };
  const auto is_there = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
  if (const StepProposal wish = sites.take_wish(); wish.identity)
    agree(note(n_ + 1), {wish.first, wish.identity, wish.level, wish.every, wish.between});
  for (Change found = agreed_change(note(n_ + 1)); found.to; found = agreed_change(note(n_ + 1))) {
    ++n_;
    if (sites.agree({found.to, found.from, found.of, found.every, found.between})) continue;
    leave_note(refusal(), "refused");
    agreed.refuse();
  }
  if (agreed.gives_up()) refuse_all();
  if (is_there(note_ + kEnded))
    sites.stop_agreeing();
  else if (agreed.has_agreed() && is_there(refusal()))
    agreed.refuse();
}

void AgreedSteps::look_for_pace(CallSites& sites, uint64_t now_ns) {
  const uint64_t name = sites.found_name();
  if (name != paced_) n_paces_ = 0;
  paced_ = name;
  const auto next = [this] {
    return note_ + "-of-" + hex16(paced_) + "-" + std::to_string(n_paces_ + 1);
  };
  if (proposes_) {
    const StepPace::Change wish = sites.pace().wish(sites.found_steps(), now_ns);
    if (wish.every) agree(next(), {wish.from, wish.every});
  }
  for (Change found = agreed_change(next()); found.to; found = agreed_change(next())) {
    ++n_paces_;
    sites.pace().change({found.from, found.to});
  }
}

}  // namespace perfield
