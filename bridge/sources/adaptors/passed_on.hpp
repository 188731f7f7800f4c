// SPDX-License-Identifier: BSD-3-Clause
//
// passed_on.hpp - the trees that perfield passes on in place of the program's: the same leaves, and
// perfield's fields. What receives a tree may read it until the next one has come.
#pragma once

#include "sources/adaptors/blueprint.hpp"
#include "sources/adaptors/conduit.hpp"
#include "sources/rows.hpp"

namespace perfield::adaptors {

class PassedOn {
 public:
  // Finds the domains of all meshes in a tree.
  using Domains = void(const Conduit& conduit, const conduit_node* tree,
                       Rows<conduit_node*>* domains);

  // Keeps the meshes of a tree for perfield's pictures. Returns the tree to pass on: the program's,
  // or a copy with perfield's fields.
  const conduit_node* next(const Conduit& conduit, const conduit_node* tree,
                           Domains* domains_of) noexcept;
  // That tree has come.
  void settle() noexcept;
  // No tree is read any more.
  void forget() noexcept {
    for (Tree& one : trees_) one.forget();
  }

 private:
  struct Tree {
    const Conduit* conduit;
    conduit_node* node;
    AddedFields fields;

    void forget() noexcept;
  };

  Tree trees_[2] = {};
  int newest_ = 0;
};

}  // namespace perfield::adaptors
