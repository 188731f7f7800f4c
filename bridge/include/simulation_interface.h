/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simulation_interface.h - for simulations instrumented for the Catalyst-Score-P plug-in (Alves,
 * see README.md, Cite). It maps the plug-in's four calls, for C and C++, to perfield.h.
 * Like perfield.h it needs no library and does nothing without perfield. docs/original-plugin.md
 * compares old and new. New code uses perfield.h.
 *
 * Fortran programs call the symbols of these names in libperfield.so, which take addresses; link
 * them with what `perfield setup paths --libs` prints. C passes values, so C programs need this
 * header.
 */
#pragma once

#include "perfield.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Call it where the time loop starts. */
PERFIELD_INLINE void cat_sco_initialize_(void) { perfield_initialize(); }

/* Closes a time step. */
PERFIELD_INLINE void cat_sco_run_(int time_step, double time_value) {
  perfield_step(time_step, time_value);
}

/* Call it after the time loop: measuring ends. */
PERFIELD_INLINE void cat_sco_finalize_(void) { perfield_finalize(); }

/* Call it right before a function: perfield measures the function's region when it is entered from
 * this place, and not from elsewhere. */
PERFIELD_INLINE void cat_sco_pipeline_next_(void) { perfield_pipeline_next(); }

#ifdef __cplusplus
}
#endif
