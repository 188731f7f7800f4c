/* SPDX-License-Identifier: BSD-3-Clause
 *
 * perfield.h - the header that a C or C++ simulation includes so that perfield can measure it.
 *
 * Call any function from any thread, but the step, mesh and field functions from one thread at a
 * time. No function fails or prints more than one line per node. Without perfield, every call does
 * nothing: the symbols are weak, so the program links and runs without a perfield library. To
 * measure, start the program with `perfield-exec`, or link it with what `perfield setup paths
 * --libs` prints.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A region's handle. 0 means "no region": every call ignores it. */
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

/* An array of the simulation, seen as (component, i, j, k); i runs fastest. perfield reads it
 * during the call (mesh) or when a step closes (fields); it neither keeps nor changes it. Strides
 * count numbers, not bytes. The helpers below fill it. */
typedef struct perfield_array {
  const void* data;
  int32_t type;             /* enum perfield_type */
  int32_t components;       /* 1: scalar, 3: vector, ... */
  int64_t component_stride; /* from one component to the next */
  int64_t size[3];          /* tuples along i, j, k; 1 for unused directions */
  int64_t stride[3];        /* from one tuple to the next along i, j, k */
} perfield_array;

/* n tuples whose components lie side by side: x0 y0 z0 x1 y1 z1 ... */
static inline perfield_array perfield_array_of(const void* data, int32_t type, int32_t components,
                                               int64_t n) {
  perfield_array a = {data, type, components, 1, {n, 1, 1}, {components, 0, 0}};
  return a;
}

/* One component of a Fortran-ordered q(n_components, ni, nj, nk); component counts from 0. If the
 * block is part of a larger array, li and lj are that array's ni and nj. For types other than
 * double, fill the struct the same way; data points to the component's first number. */
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

/* --- how calls reach the weak symbols: users need not read this ------------------------------- */
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
/* Compilers would enter it as a function of the program, as Score-P's do. */
#define PERFIELD_INLINE static inline __attribute__((always_inline, no_instrument_function))
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

/* Call perfield_initialize where the time loop starts, after MPI_Init. Everything before it is
 * setup and belongs to no step. Without this call, everything before the first perfield_step is
 * setup. In a program that runs without perfield-exec, or without MPI (rank 0 of 1), measuring
 * starts at this call, at the first piece of mesh or at the first perfield_step. A program that
 * runs under perfield-exec and calls MPI_Finalize does not need perfield_finalize. */
PERFIELD_PROCEDURE(perfield_initialize, (void), ())
PERFIELD_PROCEDURE(perfield_finalize, (void), ())

/* Closes a time step: it contains everything measured since the previous call. `step` is the
 * program's own number; it may repeat or fall, because frames count calls. `time` is the program's
 * own time, in its own unit. Not collective. */
PERFIELD_PROCEDURE(perfield_step, (int64_t step, double time), (step, time))

/* 1 while perfield measures in this process, else 0. */
PERFIELD_FUNCTION(int, 0, perfield_measuring, (void), ())

/* Defines a region; returns its handle, always the same for the same name. file may be NULL. */
PERFIELD_FUNCTION(perfield_region, 0, perfield_region_define,
                  (const char* name, const char* file, int line), (name, file, line))

/* Enters and leaves a region on this thread. Regions nest and recurse. A region that is open when a
 * step closes adds its share of time to both steps. */
PERFIELD_PROCEDURE(perfield_region_begin, (perfield_region region), (region))
PERFIELD_PROCEDURE(perfield_region_end, (perfield_region region), (region))

/* Like perfield_region_begin, but gives the time to one block of this rank's mesh, so that pictures
 * colour each block. End it with perfield_region_end(region). */
PERFIELD_PROCEDURE(perfield_region_begin_on, (perfield_region region, int block), (region, block))

/* The same by name, for code that cannot keep a handle. The look-up costs tens of nanoseconds. */
PERFIELD_PROCEDURE(perfield_begin, (const char* name), (name))
PERFIELD_PROCEDURE(perfield_end, (const char* name), (name))

/* Arms the next region that this thread enters: perfield measures it when it is entered from this
 * place in the code, and not from elsewhere. Call it before each call that you want to see. Nested
 * regions may be armed together. */
PERFIELD_PROCEDURE(perfield_pipeline_next, (void), ())

/* The same with an explicit place, for languages without a caller's address. place: any number but
 * 0; the same place has the same number in all ranks. */
PERFIELD_PROCEDURE(perfield_pipeline_next_at, (uintptr_t place), (place))

/* Between pause and resume, perfield counts nothing and its clock stops. They nest:
 * measuring goes on after as many resumes as pauses. MPI_Pcontrol(0) is a pause of its own, which
 * only MPI_Pcontrol(1) ends; measuring goes on when both have ended. With `start_paused`, the first
 * resume without a pause, or MPI_Pcontrol(1), starts it. */
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

/* Any VTK cell types. points has 3 components. Cells are stored as in VTK: cell c uses
 * connectivity[offsets[c]] up to but not including connectivity[offsets[c + 1]]; offsets has
 * n_cells + 1 numbers and starts at 0. types holds one VTK cell type number per cell
 * (10 tetrahedron, 12 hexahedron, ...), or one number for all. perfield leaves out a block,
 * with a warning, if a cell's number of points does not fit its type. first_number (0 or 1) is the
 * number of the first point in connectivity. */
PERFIELD_PROCEDURE(perfield_mesh_unstructured,
                   (int block, perfield_array points, perfield_array connectivity,
                    perfield_array offsets, perfield_array types, int first_number),
                   (block, points, connectivity, offsets, types, first_number))

/* Marks ghost points or cells: ghosts[n] is nonzero if point or cell n belongs to a neighbour. */
PERFIELD_PROCEDURE(perfield_mesh_ghosts, (int block, int association, perfield_array ghosts),
                   (block, association, ghosts))

/* Forgets all blocks and fields, because a new mesh follows. Steps closed from then on appear on
 * the new mesh. */
PERFIELD_PROCEDURE(perfield_mesh_changed, (void), ())

/* Says how large this rank's piece is, for a program that does not describe its mesh by the
 * functions above. cells and points: the rank's own; ghost_cells: those beside them. Grids of one
 * rank add up; `grid`, any address, distinguishes them (NULL: there is one). The numbers hold until
 * a later step brings new ones. perfield.attach and perfield::attach call it for the grids that
 * they get. */
PERFIELD_PROCEDURE(perfield_mesh_size,
                   (const void* grid, int64_t cells, int64_t points, int64_t ghost_cells),
                   (grid, cells, points, ghost_cells))

/* Shows a field of the simulation beside perfield's own. The array must stay valid: perfield reads
 * it for the first frame at or after each multiple of the setting fields_every (by default every
 * tenth step at first, and less often in a long run). */
PERFIELD_PROCEDURE(perfield_field,
                   (int block, const char* name, int association, perfield_array values),
                   (block, name, association, values))

/* --- what this rank measured, for the simulation itself (to put on its own grids, say) ----------
 * Values of the open step; if nothing was counted since perfield_step, of the step that it closed.
 * Each function returns the number of rows and fills at most `capacity` of them. Texts stay valid
 * until this thread calls the same function again. */

/* One field of the frame: its name, which ends with its unit as in ParaView, and its value. For
 * each rank f in the setting focus_ranks also what this rank sent to f and received from f, as
 * "isend_count_to_3"; NaN for nothing. */
typedef struct perfield_value {
  const char* name; /* "solver_loop_time_s" */
  double value;
} perfield_value;
PERFIELD_FUNCTION(int, 0, perfield_values, (int capacity, perfield_value* rows), (capacity, rows))

/* One measured region, summed over blocks and over the places that armed it. */
typedef struct perfield_region_value {
  const char* name; /* as the program gave it */
  uint64_t count;
  double time_s;
} perfield_region_value;
PERFIELD_FUNCTION(int, 0, perfield_region_values, (int capacity, perfield_region_value* rows),
                  (capacity, rows))

/* Messages that this rank sent, put or fetched: one row per world rank and kind of call. */
typedef struct perfield_message_value {
  int32_t peer;     /* negative: no world rank */
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
