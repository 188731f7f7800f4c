// SPDX-License-Identifier: BSD-3-Clause
//
// elements.cpp - the elements of testcase/poisson as a library that ctypes loads.
#include <algorithm>
#include <cstdio>

#include "element.hpp"

using poisson::Elements;
using poisson::Mesh;

namespace {

struct Made {
  explicit Made(Mesh&& given) : mesh(std::move(given)), elements(mesh) {}
  Mesh mesh;
  Elements elements;
};

using Function = double (*)(double x, double y, double z);

poisson::Function at(Function f) {
  return [f](const std::array<double, 3>& x) { return f(x[0], x[1], x[2]); };
}

}  // namespace

extern "C" {

// `hanging` may be null. Null, with a line on stderr, if the elements cannot be made.
Made* make(int order, int n_elements, const int* nodes, const unsigned* hanging,
           const double* corner, const double* size, const double* kappa) {
  Mesh mesh;
  mesh.order = order;
  mesh.n_elements = n_elements;
  mesh.nodes.assign(nodes, nodes + n_elements * (order + 1) * (order + 1) * (order + 1));
  mesh.corner.assign(corner, corner + 3 * n_elements);
  mesh.size.assign(size, size + n_elements);
  mesh.kappa.assign(kappa, kappa + n_elements);
  if (hanging) mesh.hanging.assign(hanging, hanging + n_elements);
  try {
    return new Made(std::move(mesh));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return nullptr;
  }
}

void discard(Made* made) { delete made; }

void apply(Made* made, int first, int last, const double* u, double* b) {
  made->elements.apply(first, last, u, b);
}

void diagonal(Made* made, double* d) { made->elements.add_diagonal(d); }

void load(Made* made, Function f, double* b) { made->elements.add_load(at(f), b); }

double squared_error(Made* made, Function exact, const double* u) {
  return made->elements.squared_error(at(exact), u);
}

void matrix(Made* made, int element, double* a) {
  const auto found = made->elements.matrix(element);
  std::copy(found.begin(), found.end(), a);
}

void points(int order, double* x) {
  const auto found = poisson::lobatto_points(order);
  std::copy(found.begin(), found.end(), x);
}
}
