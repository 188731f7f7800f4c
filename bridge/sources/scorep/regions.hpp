// SPDX-License-Identifier: BSD-3-Clause
//
// regions.hpp - the plugin's region events: begin and end of the regions that the configuration
// selects, and Score-P switching its recording off and on.
#pragma once

#include "sources/scorep/substrate_interface.hpp"

namespace perfield::scorep {

// The two tables: events while Score-P records, and while it does not.
enum Mode { kRecording = 0, kNotRecording = 1 };

// Registers the functions of this file in the table of events.
void set_region_events(Event* events, Mode mode) noexcept;

// Begins the regions that were open on this thread when perfield woke, at its first event after
// that.
void enter_early_regions() noexcept;

}  // namespace perfield::scorep
