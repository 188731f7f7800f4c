// SPDX-License-Identifier: BSD-3-Clause
//
// regions.hpp - the plugin's events of regions: begins and ends of those that the configuration
// names, and Score-P's recording going off and on.
#pragma once

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// What happens while Score-P records, and while it does not.
enum Mode { kRecording = 0, kNotRecording = 1 };

// Puts the functions of this file into their places in a table of events.
void set_region_events(Event* events, Mode mode) noexcept;

// Begins what this thread was inside when perfield woke, at its first event after that.
void enter_early_regions() noexcept;

}  // namespace perfield::scorep
