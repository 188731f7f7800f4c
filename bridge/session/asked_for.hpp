// SPDX-License-Identifier: BSD-3-Clause
//
// asked_for.hpp - says in the end entry what this rank saw of the regions and messages that the
// configuration asks for. The closing lines join the ranks' answers, since a region that one rank
// lacks may exist on another. Called under the session's lock.
#pragma once

#include "configuration/config.hpp"
#include "format/json.hpp"

namespace perfield {

// regions_entered, messages_seen: numbers of regions and of (peer, call) pairs. Where an entry of
// `regions`, or step_region, fits no region of this rank, also: regions_unmatched, the entries;
// regions_not_entered, those of them that name a function that never ran; regions_known, names of
// this rank, the nearest first; python_without_perfield, true if that is why.
void add_asked_for(const Config& config, JsonObject* entry);

}  // namespace perfield
