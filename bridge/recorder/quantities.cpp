// SPDX-License-Identifier: BSD-3-Clause
//
// quantities.cpp - see quantities.hpp.
#include "recorder/quantities.hpp"

#include <utility>

#include "format/known_quantities.hpp"

namespace perfield {
namespace {

constexpr size_t kLongestName = 100;

}  // namespace

Quantities::Quantities() {
  for (const char* name : kMpiTimeNames)
    define(name, "ticks", PERFIELD_PER_REGION, PERFIELD_STEPS_SUM, PERFIELD_THREADS_LONGEST,
           "time in MPI calls of one class inside the region");
}

int Quantities::find(const std::string& name, perfield_scope scope) const noexcept {
  for (int i = 0; i < size(); ++i)
    if (rows_[i].scope == scope && rows_[i].name == name) return i;
  return -1;
}

void Quantities::refuse(const std::string& sentence) { refusals_.push_back(sentence); }

std::vector<std::string> Quantities::take_refusals() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(refusals_, {});
}

int Quantities::define(const char* name, const char* unit, perfield_scope scope,
                       perfield_over_steps steps, perfield_over_threads threads,
                       const char* help) noexcept {
  if (!name || !*name || !unit) return -1;
  try {
    const std::string text = std::string(name).substr(0, kLongestName);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto refused = [&](const std::string& reason) {
      refuse("the quantity " + text + " is not measured: " + reason);
      return -1;
    };
    const Unit* known = find_unit(unit);
    if (!known)
      return refused(std::string("its unit is '") + unit +
                     "'; expected is one of 1, B, ticks, ns, uJ and ppm");
    if (threads == PERFIELD_THREADS_LONGEST &&
        (std::string(known->stored) != "ns" || scope != PERFIELD_PER_REGION ||
         steps != PERFIELD_STEPS_SUM))
      return refused(
          "only a time inside regions that adds up over steps can be that of the "
          "longest thread; let its threads add up, or take the largest");
    const int found = find(text, scope);
    if (found >= 0) {
      const Quantity& q = rows_[found];
      if (q.unit == known && q.over_steps == steps && q.over_threads == threads) return found;
      return refused(std::string("it is defined already, in ") + q.unit->added +
                     ", and another source defines it in " + unit +
                     " or adds it up otherwise; give one of them another name");
    }
    const int number = size();
    if (number >= kMostQuantities)
      return refused("there is room for " + std::to_string(kMostQuantities) +
                     " quantities; choose fewer counters");
    Quantity& q = rows_[number];
    q.name = text;
    q.help = help ? help : "";
    q.unit = known;
    q.scope = scope;
    q.over_steps = steps;
    q.over_threads = threads;
    const uint64_t bit = uint64_t(1) << number;
    if (scope == PERFIELD_PER_RANK) per_rank_.fetch_or(bit, std::memory_order_relaxed);
    if (q.is_state()) states_.fetch_or(bit, std::memory_order_relaxed);
    if (threads == PERFIELD_THREADS_LONGEST) longest_.fetch_or(bit, std::memory_order_relaxed);
    if (known_quantity(text, scope == PERFIELD_PER_RANK) == KnownQuantity::file_time_inside &&
        q.is_ticks())
      in_files_.fetch_or(bit, std::memory_order_relaxed);
    size_.store(number + 1, std::memory_order_release);
    return number;
  } catch (...) {
    return -1;  // no memory for a name: not measured
  }
}

}  // namespace perfield
