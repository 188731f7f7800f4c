/* SPDX-License-Identifier: BSD-3-Clause
 *
 * perfield.h - what a C or C++ simulation includes to be seen by perfield.
 *
 * Every function may be called from any thread (run, mesh and field functions: from one thread at
 * a time), never fails, never prints more than one line per node, and does nothing where perfield
 * is absent: the symbols behind them are weak, so a program built with this header needs no
 * perfield library, neither to link nor to run. Start the program with `perfield-exec`, or link it
 * with what `perfield paths --libs` prints, and the same calls are measured.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A region's handle; 0 is "no region" and is ignored wherever it is passed. */
typedef uint32_t perfield_region;

/* Type of the numbers in an array. */
enum perfield_type {
  PERFIELD_INT8 = 1,
  PERFIELD_UINT8 = 2,
  PERFIELD_INT32 = 3,
  PERFIELD_INT64 = 4,
  PERFIELD_FLOAT32 = 5,
  PERFIELD_FLOAT64 = 6
};

/* Where the values of a field sit. */
enum perfield_association { PERFIELD_POINTS = 0, PERFIELD_CELLS = 1 };

/* An array of the simulation, seen as (component, i, j, k): i runs fastest. It is read during the
 * call that takes it (mesh) or at the close of a step (fields), and never kept or changed.
 * Strides are in numbers, not bytes. Use the helpers below to fill it. */
typedef struct perfield_array {
  const void* data;
  int32_t type;             /* enum perfield_type */
  int32_t components;       /* 1: scalar, 3: vector, ... */
  int64_t component_stride; /* from one component to the next */
  int64_t size[3];          /* tuples along i, j, k; 1 where there is no such direction */
  int64_t stride[3];        /* from one tuple to the next along i, j, k */
} perfield_array;

/* n tuples whose components lie side by side: x0 y0 z0 x1 y1 z1 ... */
static inline perfield_array perfield_array_of(const void* data, int32_t type, int32_t components,
                                               int64_t n) {
  perfield_array a = {data, type, components, 1, {n, 1, 1}, {components, 0, 0}};
  return a;
}

/* One component of a Fortran-ordered q(n_components, ni, nj, nk); component counts from 0. The
 * block may be a part of a larger array: then give the larger array's ni and nj as li and lj.
 * For other types than double fill the struct alike: data is the component's first number. */
static inline perfield_array perfield_array_component(const double* q, int32_t n_components,
                                                      int32_t component, int64_t ni, int64_t nj,
                                                      int64_t nk, int64_t li, int64_t lj) {
  perfield_array a = {q + component,
                      PERFIELD_FLOAT64,
                      1,
                      1,
                      {ni, nj, nk},
                      {n_components, n_components * li, n_components * li * lj}};
  return a;
}

/* --- how the weak symbols are reached: nothing to read here as a user ------------------------ */
#ifdef PERFIELD_BUILDING_LIBRARY
#define PERFIELD_FUNCTION(result, absent, name, parameters, arguments) result name parameters;
#define PERFIELD_PROCEDURE(name, parameters, arguments) void name parameters;
#else
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define PERFIELD_WEAK __attribute__((weak, noplt)) /* noplt: right also without -fPIE */
#endif
#endif
#ifndef PERFIELD_WEAK
#define PERFIELD_WEAK __attribute__((weak))
#endif
#define PERFIELD_INLINE static inline __attribute__((always_inline))
#define PERFIELD_FUNCTION(result, absent, name, parameters, arguments) \
  extern result name##_weak parameters __asm__(#name) PERFIELD_WEAK;   \
  PERFIELD_INLINE result name parameters __asm__(#name "_inline");     \
  PERFIELD_INLINE result name parameters { return name##_weak ? name##_weak arguments : (absent); }
#define PERFIELD_PROCEDURE(name, parameters, arguments)            \
  extern void name##_weak parameters __asm__(#name) PERFIELD_WEAK; \
  PERFIELD_INLINE void name parameters __asm__(#name "_inline");   \
  PERFIELD_INLINE void name parameters {                           \
    if (name##_weak) name##_weak arguments;                        \
  }
#endif
/* ---------------------------------------------------------------------------------------------- */

/* Call perfield_initialize where the time loop starts (after MPI_Init): what came before is setup
 * and belongs to no step. Without this call, what precedes the first perfield_step is setup. In a
 * program started without perfield-exec, or without MPI (rank 0 of 1), this call, the first piece
 * of mesh or the first perfield_step also starts measuring. perfield_finalize is not needed where
 * MPI_Finalize is called in a program started by perfield-exec. */
PERFIELD_PROCEDURE(perfield_initialize, (void), ())
PERFIELD_PROCEDURE(perfield_finalize, (void), ())

/* Closes a time step: what was measured since the previous call belongs to it. `step` is the
 * program's own number (it may repeat or fall: frames are counted by calls), `time` its time in
 * its own unit. Not collective. */
PERFIELD_PROCEDURE(perfield_step, (int64_t step, double time), (step, time))

/* 1 while perfield measures in this process, else 0. */
PERFIELD_FUNCTION(int, 0, perfield_measuring, (void), ())

/* Defines a region once; returns its handle, the same for the same name. file may be NULL. */
PERFIELD_FUNCTION(perfield_region, 0, perfield_region_define,
                  (const char* name, const char* file, int line), (name, file, line))

/* Enters and leaves a region on this thread. Regions nest and recurse; one that is open when a
 * step closes is credited to both steps with its share. */
PERFIELD_PROCEDURE(perfield_region_begin, (perfield_region region), (region))
PERFIELD_PROCEDURE(perfield_region_end, (perfield_region region), (region))

/* As perfield_region_begin, with the time given to one block of this rank's mesh, so that it is
 * coloured per block. Ended by perfield_region_end(region). */
PERFIELD_PROCEDURE(perfield_region_begin_on, (perfield_region region, int block), (region, block))

/* The same by name: a look-up slower (tens of nanoseconds); for code that cannot keep a handle. */
PERFIELD_PROCEDURE(perfield_begin, (const char* name), (name))
PERFIELD_PROCEDURE(perfield_end, (const char* name), (name))

/* Arms the next region that this thread enters: it is measured when entered from here, and its
 * entries from elsewhere are not. One call before each call to be seen; nested ones may be armed
 * at once. */
PERFIELD_PROCEDURE(perfield_pipeline_next, (void), ())

/* The same from a place that is given: for languages in which the caller's address is none.
 * place: any number but 0, the same for the same place in all ranks. */
PERFIELD_PROCEDURE(perfield_pipeline_next_at, (uintptr_t place), (place))

/* Between pause and resume nothing is counted and no time passes for perfield. They nest. */
PERFIELD_PROCEDURE(perfield_pause, (void), ())
PERFIELD_PROCEDURE(perfield_resume, (void), ())

/* --- the mesh: this rank's piece, block by block (blocks count from 0) ------------------------ */

/* Points i0..i1, j0..j1, k0..k1 (inclusive, global numbers) at origin + spacing * number. */
PERFIELD_PROCEDURE(perfield_mesh_image,
                   (int block, const int64_t extent[6], const double origin[3],
                    const double spacing[3]),
                   (block, extent, origin, spacing))

/* Points at all (x[i], y[j], z[k]); extent as above. */
PERFIELD_PROCEDURE(perfield_mesh_rectilinear,
                   (int block, const int64_t extent[6], perfield_array x, perfield_array y,
                    perfield_array z),
                   (block, extent, x, y, z))

/* Curvilinear: points has 3 components and size ni, nj, nk. */
PERFIELD_PROCEDURE(perfield_mesh_structured,
                   (int block, const int64_t extent[6], perfield_array points),
                   (block, extent, points))

/* Any VTK cell types: points (3 components); cells as VTK has them: cell c uses
 * connectivity[offsets[c]] up to but not including connectivity[offsets[c + 1]], n_cells + 1
 * offsets that start at 0; types has n_cells VTK cell type numbers (10 tetrahedron,
 * 12 hexahedron, ...), or one number for all. first_number: 0 or 1, the number of the first point
 * in connectivity. */
PERFIELD_PROCEDURE(perfield_mesh_unstructured,
                   (int block, perfield_array points, perfield_array connectivity,
                    perfield_array offsets, perfield_array types, int first_number),
                   (block, points, connectivity, offsets, types, first_number))

/* Marks ghost points or cells: ghosts[n] is not 0 where entity n belongs to a neighbour. */
PERFIELD_PROCEDURE(perfield_mesh_ghosts, (int block, int association, perfield_array ghosts),
                   (block, association, ghosts))

/* Says that a new mesh follows: forgets all blocks and fields; the next description is a new
 * version, and steps closed from then on are shown on it. */
PERFIELD_PROCEDURE(perfield_mesh_changed, (void), ())

/* A field of the simulation to be shown beside perfield's own. The array must stay valid; it is
 * read with the first frame at or after each multiple of fields_every (by itself: every tenth step
 * at first, in a long run ever more rarely). */
PERFIELD_PROCEDURE(perfield_field,
                   (int block, const char* name, int association, perfield_array values),
                   (block, name, association, values))

/* --- what this rank measured, for the simulation's own use (attaching to its own grids, say) ----
 * Of the step that is open; of the one that perfield_step closed last, if nothing was counted
 * since. Each function returns how many rows there are, and fills at most `capacity` of them. Texts
 * stay valid until the same function is called again on this thread. */

/* One field of the frame, by the name and with the unit that it has in ParaView. */
typedef struct perfield_value {
  const char* name; /* "solver_loop_time_s" */
  double value;
} perfield_value;
PERFIELD_FUNCTION(int, 0, perfield_values, (int capacity, perfield_value* rows), (capacity, rows))

/* One measured region, blocks and places that armed it added up. */
typedef struct perfield_region_value {
  const char* name; /* as the program gave it */
  uint64_t count;
  double time_s;
} perfield_region_value;
PERFIELD_FUNCTION(int, 0, perfield_region_values, (int capacity, perfield_region_value* rows),
                  (capacity, rows))

/* Messages that this rank sent, put or fetched: one row for each (world rank, kind of call). */
typedef struct perfield_message_value {
  int32_t peer;     /* below 0: no world rank */
  const char* call; /* "send", "isend", "put", "get", ... */
  uint64_t count, bytes;
} perfield_message_value;
PERFIELD_FUNCTION(int, 0, perfield_message_values, (int capacity, perfield_message_value* rows),
                  (capacity, rows))

/* Ranks in MPI_COMM_WORLD; 0 while perfield does not measure here. */
PERFIELD_FUNCTION(int, 0, perfield_world_size, (void), ())

#ifdef __cplusplus
}
#endif
