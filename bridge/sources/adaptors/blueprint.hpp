// SPDX-License-Identifier: BSD-3-Clause
//
// blueprint.hpp - the meshes of Conduit's Mesh Blueprint, as Catalyst 2 and Ascent get them. Reads
// them for perfield's own pictures and adds perfield's fields. A mesh has domains (or is one), a
// domain has topologies, and each topology is a block of perfield's mesh.
#pragma once

#include <cstdint>

#include "sources/adaptors/conduit.hpp"
#include "sources/adaptors/wanted.hpp"
#include "sources/rows.hpp"

namespace perfield::adaptors {

// A topology of a domain.
struct Topology {
  conduit_node *domain, *topology, *coordset;
  enum Kind { unknown, uniform, rectilinear, structured, points, unstructured } kind;
  int64_t size[3];  // points along i, j, k, of the first three kinds
  int64_t n_points, n_cells;
};

// Adds the domains of a mesh to `domains`: itself, its children, or none if it is no mesh.
void domains_of(const Conduit& conduit, conduit_node* mesh, Rows<conduit_node*>* domains) noexcept;

// Adds the topologies of a domain to `topologies`.
void topologies_of(const Conduit& conduit, conduit_node* domain,
                   Rows<Topology>* topologies) noexcept;

// Describes the meshes of one call as this rank's mesh, if they are new or have changed, and knows
// how long that takes. Change is seen by sizes and by samples of the numbers.
class MeshKeeper {
 public:
  void see(const Conduit& conduit, Rows<conduit_node*>& domains) noexcept;

 private:
  bool is_switched_on() noexcept;
  bool has_time() noexcept;
  void describe(const Conduit& conduit, Rows<Topology>& topologies) noexcept;

  enum { unasked, on, off } state_ = unasked;
  uint64_t fingerprint_ = 0;
  uint64_t begun_ns_ = 0, spent_ns_ = 0;
  Rows<Topology> topologies_;
};

MeshKeeper& mesh_keeper() noexcept;

// Fields that a call has added; their numbers live until the next call has returned.
class AddedFields {
 public:
  // Adds the wanted values to the first topology of each domain, which must be a copy.
  void add(const Conduit& conduit, Rows<conduit_node*>& domains,
           Rows<perfield_value>& values) noexcept;
  void release() noexcept;

 private:
  Rows<double*> numbers_;
};

}  // namespace perfield::adaptors
