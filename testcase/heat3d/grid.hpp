// SPDX-License-Identifier: BSD-3-Clause
//
// grid.hpp - the points of the box, and this rank's block of them. Points 1 to n along each
// direction are computed; 0 and n + 1 lie on the walls.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>

#include "input.hpp"

// This rank's block. Its array has one more layer on each side (the halo): the neighbour's
// outermost layer, or the wall. Local point (i, j, k) counts from 0, in the halo; i is fastest.
struct Grid {
  std::array<int, 3> points;        // of the whole box, without walls
  std::array<int, 3> n;             // of this rank, without halo
  std::array<int, 3> first;         // global number of this rank's local point 0
  std::array<double, 3> d;          // distance between points, m
  MPI_Comm ranks;                   // MPI_COMM_WORLD's ranks in the same order, as a box
  std::array<int, 3> place;         // of this rank in that box
  std::array<int, 3> below, above;  // neighbours along x, y, z, or MPI_PROC_NULL

  explicit Grid(const Input& input);

  std::array<int, 3> sizes() const { return {n[0] + 2, n[1] + 2, n[2] + 2}; }
  size_t at(int i, int j, int k) const { return i + size_t(n[0] + 2) * (j + size_t(n[1] + 2) * k); }
  size_t at_end() const { return at(0, 0, n[2] + 2); }

  // The position of global point number `point`, in m.
  double position(int direction, int point) const { return d[direction] * point; }

  // Whether this rank computes the point with these global numbers.
  bool holds(const std::array<int, 3>& point) const;
};
