// SPDX-License-Identifier: BSD-3-Clause
//
// passed_on.cpp - see passed_on.hpp.
#include "sources/adaptors/passed_on.hpp"

#include "sources/adaptors/wanted.hpp"

namespace perfield::adaptors {

const conduit_node* PassedOn::next(const Conduit& conduit, const conduit_node* tree,
                                   Domains* domains_of) noexcept {
  Rows<conduit_node*> domains;
  domains_of(conduit, tree, &domains);
  mesh_keeper().see(conduit, domains);
  Rows<perfield_value> values;
  wanted().read(&values);
  newest_ = 1 - newest_;
  Tree& mine = trees_[newest_];
  mine.forget();
  conduit_node* const copy = values.size() && domains.size() ? conduit.copy(tree) : nullptr;
  if (!copy) return tree;
  mine.conduit = &conduit;
  mine.node = copy;
  domains.clear();
  domains_of(conduit, copy, &domains);
  mine.fields.add(conduit, domains, values);
  return copy;
}

void PassedOn::settle() noexcept { trees_[1 - newest_].forget(); }

void PassedOn::Tree::forget() noexcept {
  if (node) conduit->destroy(node);
  node = nullptr;
  fields.release();
}

}  // namespace perfield::adaptors
