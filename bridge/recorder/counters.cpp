// SPDX-License-Identifier: BSD-3-Clause
//
// counters.cpp - see counters.hpp.
#include "recorder/counters.hpp"

#include <utility>

#include "recorder/kernel_counters.hpp"

namespace perfield {

void Counters::choose(const std::vector<std::string>& names, Quantities* quantities,
                      std::vector<RefusedCounter>* refused) {
  for (const std::string& name : names) {
    const int number = size();
    FollowedCounter counter{name, 0, {}, false};
    const CounterAbout about = about_counter(name);
    if (number >= int(kMostChosenCounters) || !find_kernel_event(name, &counter.event) ||
        quantities->find(about.quantity, PERFIELD_PER_REGION) >= 0)
      continue;
    if (const int error = KernelCounters::try_out(counter.event, &counter.user_mode_only)) {
      refused->push_back({name, error});
      continue;
    }
    counter.quantity =
        quantities->define(about.quantity.c_str(), about.unit, PERFIELD_PER_REGION,
                           PERFIELD_STEPS_SUM, PERFIELD_THREADS_SUM, about.meaning.c_str());
    if (counter.quantity < 0) continue;
    (*quantities)[counter.quantity].of_kernel = true;
    rows_[number] = std::move(counter);
    size_.store(number + 1, std::memory_order_release);
  }
}

}  // namespace perfield
