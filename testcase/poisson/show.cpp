// SPDX-License-Identifier: BSD-3-Clause
#include "show.hpp"

#include <array>
#include <cmath>
#include <map>
#include <perfield.hpp>
#include <vector>

namespace poisson {

namespace {

constexpr double kGrain = 1.0 / (std::int64_t(1) << 40);  // points that are closer are one

// By places, not by nodes: so elements of any order, and hanging nodes, make the same picture.
void show_mesh(const Mesh& mesh) {
  std::vector<double> points;
  std::vector<std::int32_t> connectivity, offsets = {0};
  std::map<std::array<std::int64_t, 3>, std::int32_t> numbers;
  const std::uint8_t hexahedron = 12;
  for (int e = 0; e < mesh.n_elements; ++e) {
    const double* corner = &mesh.corner[3 * size_t(e)];
    for (int vertex : {0, 1, 3, 2, 4, 5, 7, 6}) {  // round each face, as VTK numbers them
      std::array<double, 3> at;
      std::array<std::int64_t, 3> place;
      for (size_t axis = 0; axis < 3; ++axis) {
        at[axis] = corner[axis] + ((vertex >> axis) & 1) * mesh.size[size_t(e)];
        place[axis] = std::llround(at[axis] / kGrain);
      }
      const auto [found, is_new] = numbers.emplace(place, std::int32_t(numbers.size()));
      if (is_new) points.insert(points.end(), at.begin(), at.end());
      connectivity.push_back(found->second);
    }
    offsets.push_back(std::int32_t(connectivity.size()));
  }
  perfield_mesh_unstructured(0, perfield::array(points, 3), perfield::array(connectivity),
                             perfield::array(offsets), perfield::array(&hexahedron, 1), 0);
}

// One number for all elements of this rank. perfield writes it for each of them, so it is short.
perfield_array same_for_all(const float* value, int n_elements) {
  perfield_array array = perfield::array(value, n_elements);
  array.stride[0] = 0;
  return array;
}

}  // namespace

Show::Show(const Mesh& finest, bool steps_are_matvecs) : steps_are_matvecs_(steps_are_matvecs) {
  if (finest.n_elements > 0) {
    show_mesh(finest);
    const auto field = [&](const char* name, const float* value) {
      perfield_field(0, name, PERFIELD_CELLS, same_for_all(value, finest.n_elements));
    };
    field("alpha", &alpha_);
    field("w_in_s", &wait_in_s_);
    field("w_out_s", &wait_out_s_);
  }
  perfield_initialize();
}

void Show::matvec(const MatVec& one) {
  if (one.level != 0) return;
  alpha_ = float(one.alpha);
  wait_in_s_ = float(one.w_in);
  wait_out_s_ = float(one.w_out);
  if (steps_are_matvecs_) close();
}

void Show::iteration() {
  if (!steps_are_matvecs_) close();
}

void Show::close() {
  ++step_;
  perfield_step(step_, double(step_));
}

}  // namespace poisson
