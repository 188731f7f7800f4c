// SPDX-License-Identifier: BSD-3-Clause
//
// level.hpp - a mesh with its elements and its operator.
#pragma once

#include <memory>
#include <utility>

#include "element.hpp"
#include "operator.hpp"
#include "trilinear.hpp"
#include "uniform.hpp"

namespace poisson {

// Trilinear where that is enough.
inline std::unique_ptr<Kernel> make_elements(const Mesh& mesh) {
  if (mesh.order == 1 && mesh.hanging.empty()) return std::make_unique<Trilinear>(mesh);
  return std::make_unique<Elements>(mesh);
}

// A level of multigrid; without multigrid, there is one.
struct Level {
  Level(UniformMesh with, MPI_Comm comm)
      : mesh(std::move(with)), kernel(make_elements(mesh)), product(mesh, *kernel, comm) {}
  Level(const Level&) = delete;  // kernel and product know where the mesh is
  Level& operator=(const Level&) = delete;

  UniformMesh mesh;  // or an octree, which has no lattice
  std::unique_ptr<Kernel> kernel;
  Operator product;
  double eps_s = 0;  // a shorter wait is none
};

}  // namespace poisson
