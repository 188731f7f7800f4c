/* SPDX-License-Identifier: BSD-3-Clause
 *
 * simulation_interface.h - for simulations that were instrumented for the Catalyst-Score-P plug-in
 * (Alves, see README.md, Publications): its four calls, for C and C++, as calls of perfield.h. Like
 * those they need no library and do nothing where perfield is absent. docs/original-plugin.md says
 * what corresponds to what. New code uses perfield.h.
 *
 * Fortran programs call the symbols of these names in libperfield.so, which take addresses, and
 * are linked with what `perfield paths --libs` prints. C's call passes values: so it needs this
 * header.
 */
#pragma once

#include "perfield.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The time loop is about to start. */
PERFIELD_INLINE void cat_sco_initialize_(void) { perfield_initialize(); }

/* Closes a time step. */
PERFIELD_INLINE void cat_sco_run_(int time_step, double time_value) {
  perfield_step(time_step, time_value);
}

/* The time loop is over: measuring ends. */
PERFIELD_INLINE void cat_sco_finalize_(void) { perfield_finalize(); }

/* To be called right before the call of a function: its region is measured when entered from here,
 * and not when entered from elsewhere. */
PERFIELD_INLINE void cat_sco_pipeline_next_(void) { perfield_pipeline_next(); }

#ifdef __cplusplus
}
#endif
