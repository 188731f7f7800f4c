// SPDX-License-Identifier: BSD-3-Clause
//
// steps_binding.cpp - what the finder of steps does with a sequence of call sites, for tests.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <tuple>
#include <vector>

#include "recorder/site_period.hpp"
#include "recorder/step_finder.hpp"
#include "recorder/step_pace.hpp"

namespace py = pybind11;
using perfield::SitePeriod;
using perfield::StepFinder;
using perfield::StepPace;

void bind_steps(py::module_& module) {
  module.def(
      "found_steps",
      [](const std::vector<std::tuple<uint64_t, uint16_t, bool>>& met) {
        const auto finder = std::make_unique<StepFinder>();
        std::vector<size_t> closed;
        for (size_t at = 0; at < met.size(); ++at) {
          const auto& [identity, depth, in_a_row] = met[at];
          const auto answer =
              finder->met(finder->number_of(identity, depth, in_a_row, StepFinder::kNone));
          if (answer == StepFinder::Answer::restarts ||
              answer == StepFinder::Answer::restarts_and_closes)
            closed.clear();
          if (answer == StepFinder::Answer::closes ||
              answer == StepFinder::Answer::restarts_and_closes)
            closed.push_back(at);
        }
        return finder->is_right_at_end() ? closed : std::vector<size_t>();
      },
      py::arg("met"),
      "Where a program closes steps that reports none: the positions of these operations.\n\n"
      "met : collective operations of all ranks in their order, each as the identity of its call\n"
      "site, the depth of its callers, and whether it was hit again without a message in between.\n"
      "The first position ends setup. Empty if no steps are found.");
  module.def(
      "returns_per_step",
      [](const std::vector<std::tuple<uint64_t, uint32_t>>& intervals) {
        SitePeriod period;
        uint64_t partners = 0;
        uint32_t calls = 0;
        period.hit(partners, calls);
        for (const auto& [of_interval, n_calls] : intervals)
          period.hit(partners += of_interval, calls += n_calls);
        return period.period();
      },
      py::arg("intervals"),
      "How many returns of a call make a time step; 0: not known yet.\n\n"
      "intervals : from each return to the next, a number for the partners of the messages in\n"
      "between, and of MPI calls.");
  module.def(
      "paced_steps",
      [](const std::vector<uint64_t>& hits_ns, uint64_t behind) {
        StepPace first, other;
        std::vector<std::vector<uint64_t>> closed(2);
        std::vector<StepPace::Change> notes;
        size_t n_read = 0;
        for (uint64_t hit = 1; hit <= hits_ns.size() + behind; ++hit) {
          if (hit <= hits_ns.size()) {
            const auto answer = first.met(hit);
            if (answer & perfield::kHitCloses) closed[0].push_back(hit);
            const auto wish = answer & perfield::kHitAsks ? first.wish(hit, hits_ns[hit - 1])
                                                          : StepPace::Change{};
            if (wish.every) {
              notes.push_back(wish);
              first.change(wish);
            }
          }
          if (hit <= behind) continue;
          const auto answer = other.met(hit - behind);
          if (answer & perfield::kHitCloses) closed[1].push_back(hit - behind);
          while (answer & perfield::kHitAsks && n_read < notes.size())
            other.change(notes[n_read++]);
        }
        return closed;
      },
      py::arg("hits_ns"), py::arg("behind"),
      "Which hits of a site close steps on rank 0, and on a rank that is so many hits behind.\n\n"
      "hits_ns : when rank 0 hits it, in ns.");
}
