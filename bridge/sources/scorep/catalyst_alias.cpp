// SPDX-License-Identifier: BSD-3-Clause
//
// catalyst_alias.cpp - libscorep_substrate_Catalyst.so: perfield's plugin under the original
// plugin's name, for scripts that say SCOREP_SUBSTRATE_PLUGINS=Catalyst.
#include "sources/scorep/substrate_interface.hpp"

extern "C" perfield::scorep::Info SCOREP_SubstratePlugin_perfield_get_info();

extern "C" __attribute__((visibility("default"))) perfield::scorep::Info
SCOREP_SubstratePlugin_Catalyst_get_info() {
  return SCOREP_SubstratePlugin_perfield_get_info();
}
