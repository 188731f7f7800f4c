// SPDX-License-Identifier: BSD-3-Clause
#include "octree.hpp"

#include <p8est_bits.h>
#include <p8est_extended.h>
#include <p8est_ghost.h>
#include <p8est_lnodes.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "element.hpp"

namespace poisson {

namespace {

static_assert(finest_level == P8EST_QMAXLEVEL, "p4est knows other levels than octree.hpp");

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* made) const { destroy(made); }
};
using Cube = std::unique_ptr<p8est_connectivity_t,
                             Destroy<p8est_connectivity_t, p8est_connectivity_destroy>>;
using Forest = std::unique_ptr<p8est_t, Destroy<p8est_t, p8est_destroy>>;
using Ghosts = std::unique_ptr<p8est_ghost_t, Destroy<p8est_ghost_t, p8est_ghost_destroy>>;
using Nodes = std::unique_ptr<p8est_lnodes_t, Destroy<p8est_lnodes_t, p8est_lnodes_destroy>>;

// Both say only what is wrong.
void start_p4est() {
  static const bool started = [] {
    sc_init(MPI_COMM_NULL, 0, 0, nullptr, SC_LP_ERROR);
    p4est_init(nullptr, SC_LP_ERROR);
    return true;
  }();
  (void)started;
}

using Point = std::array<double, 3>;

double size_of(const p8est_quadrant_t& quadrant) {
  return double(P8EST_QUADRANT_LEN(quadrant.level)) / P8EST_ROOT_LEN;
}

Point corner_of(const p8est_quadrant_t& quadrant) {
  const double unit = 1.0 / P8EST_ROOT_LEN;
  return {quadrant.x * unit, quadrant.y * unit, quadrant.z * unit};
}

double at_centre(const Function& f, const Point& corner, double size) {
  return f({corner[0] + size / 2, corner[1] + size / 2, corner[2] + size / 2});
}

int jumps_on(p8est_t* forest, p4est_topidx_t, p8est_quadrant_t* quadrant) {
  const auto& kappa = *static_cast<const Function*>(forest->user_pointer);
  const Point corner = corner_of(*quadrant);
  const double size = size_of(*quadrant);
  const double expected = at_centre(kappa, corner, size);
  const double along[] = {-0.001, 0.5, 1.001};  // a jump on a face is seen from both sides
  for (const double z : along)
    for (const double y : along)
      for (const double x : along) {
        const Point part = {x, y, z};
        Point at;
        for (int d = 0; d < 3; ++d) at[d] = std::clamp(corner[d] + part[d] * size, 0.0, 1.0);
        if (kappa(at) != expected) return 1;
      }
  return 0;
}

// Where the nodes lie that an element lists: those of a hanging face or edge on the larger one.
void place_nodes(Mesh& mesh, int element, const std::vector<double>& points) {
  const int n = mesh.order + 1;
  const int* nodes = &mesh.nodes[size_t(element) * n * n * n];
  const std::uint32_t code = mesh.hanging[size_t(element)];
  const double* corner = &mesh.corner[3 * size_t(element)];
  const double size = mesh.size[size_t(element)];
  const auto bit = [code](int number) { return int(code >> number & 1); };
  for (int i = 0; i < n * n * n; ++i) {
    const int at[3] = {i % n, i / n % n, i / (n * n)};
    bool lies[3], larger[3] = {};  // on the faces at the parent's corner; along which directions
    for (int d = 0; d < 3; ++d) lies[d] = at[d] == bit(d) * (n - 1);
    for (int d = 0; d < 3; ++d) {
      const int a = (d + 1) % 3, b = (d + 2) % 3;
      if (lies[d] && bit(3 + d)) larger[a] = larger[b] = true;
      if (lies[a] && lies[b] && bit(6 + d)) larger[d] = true;
    }
    for (int d = 0; d < 3; ++d) {
      const double along = points[size_t(at[d])];
      mesh.position[3 * size_t(nodes[i]) + d] =
          corner[d] + size * (larger[d] ? 2 * along - bit(d) : along);
    }
  }
}

void take_elements(Mesh& mesh, const p8est_t& forest, const p8est_lnodes_t& found,
                   const Function& kappa) {
  std::vector<char> shared(size_t(found.num_local_nodes));
  for (const Neighbour& neighbour : mesh.neighbours) {
    for (const int node : neighbour.send) shared[size_t(node)] = 1;
    for (const int node : neighbour.receive) shared[size_t(node)] = 1;
  }
  std::vector<const p8est_quadrant_t*> quadrants;
  for (p4est_topidx_t t = forest.first_local_tree; t <= forest.last_local_tree; ++t) {
    sc_array_t* trees = forest.trees;
    sc_array_t& leaves = p8est_tree_array_index(trees, t)->quadrants;
    for (size_t q = 0; q < leaves.elem_count; ++q)
      quadrants.push_back(p8est_quadrant_array_index(&leaves, q));
  }
  for (const bool mirrors : {false, true}) {
    if (mirrors) mesh.first_mirror = int(mesh.size.size());
    for (size_t q = 0; q < quadrants.size(); ++q) {
      const int* nodes = found.element_nodes + q * size_t(found.vnodes);
      const bool is_mirror =
          std::any_of(nodes, nodes + found.vnodes, [&](int node) { return shared[size_t(node)]; });
      if (is_mirror != mirrors) continue;
      const Point corner = corner_of(*quadrants[q]);
      const double size = size_of(*quadrants[q]);
      mesh.nodes.insert(mesh.nodes.end(), nodes, nodes + found.vnodes);
      mesh.corner.insert(mesh.corner.end(), corner.begin(), corner.end());
      mesh.size.push_back(size);
      mesh.kappa.push_back(at_centre(kappa, corner, size));
      mesh.hanging.push_back(std::uint32_t(found.face_code[q]));
    }
  }
  mesh.n_elements = int(quadrants.size());
}

// Both ends list what they share by its global number.
void take_neighbours(Mesh& mesh, const p8est_lnodes_t& found, int my_rank) {
  for (size_t s = 0; s < found.sharers->elem_count; ++s) {
    p8est_lnodes_rank_t& sharer = *p8est_lnodes_rank_array_index(found.sharers, s);
    Neighbour neighbour;
    neighbour.rank = sharer.rank;
    if (sharer.rank == my_rank) continue;
    for (int i = 0; i < sharer.shared_mine_count; ++i) {
      const size_t place = size_t(sharer.shared_mine_offset + i);
      neighbour.send.push_back(
          *static_cast<p4est_locidx_t*>(sc_array_index(&sharer.shared_nodes, place)));
    }
    for (int i = 0; i < sharer.owned_count; ++i)
      neighbour.receive.push_back(sharer.owned_offset + i);
    if (!neighbour.send.empty() || !neighbour.receive.empty())
      mesh.neighbours.push_back(std::move(neighbour));
  }
}

}  // namespace

Mesh octree_mesh(const Octree& octree, const Function& kappa, MPI_Comm comm) {
  if (octree.coarsest < 0 || octree.finest < octree.coarsest || octree.finest > finest_level)
    throw std::invalid_argument(
        "an octree with coarsest level " + std::to_string(octree.coarsest) + " and finest level " +
        std::to_string(octree.finest) +
        " is not possible: choose 0 <= coarsest <= finest <= " + std::to_string(finest_level));
  start_p4est();
  int rank;
  MPI_Comm_rank(comm, &rank);
  const Cube cube(p8est_connectivity_new_unitcube());
  const Forest forest(p8est_new_ext(comm, cube.get(), 0, octree.coarsest, 1, 0, nullptr,
                                    const_cast<Function*>(&kappa)));
  for (int level = octree.coarsest; level < octree.finest; ++level) {
    p8est_refine_ext(forest.get(), 0, octree.finest, jumps_on, nullptr, nullptr);
    p8est_partition(forest.get(), 0, nullptr);  // few ranks hold the jump
  }
  p8est_balance(forest.get(), P8EST_CONNECT_FULL, nullptr);
  p8est_partition(forest.get(), 0, nullptr);
  const Ghosts ghosts(p8est_ghost_new(forest.get(), P8EST_CONNECT_FULL));
  const Nodes found(p8est_lnodes_new(forest.get(), ghosts.get(), octree.order));

  Mesh mesh;
  mesh.order = octree.order;
  mesh.first_node = found->global_offset;
  int n_ranks;
  MPI_Comm_size(comm, &n_ranks);
  for (int r = 0; r < n_ranks; ++r) mesh.all_nodes += found->global_owned_count[r];
  mesh.n_owned = found->owned_count;
  mesh.n_ghosts = found->num_local_nodes - found->owned_count;
  take_neighbours(mesh, *found, rank);
  take_elements(mesh, *forest, *found, kappa);

  const size_t n_local = size_t(found->num_local_nodes);
  mesh.position.resize(3 * n_local);
  const std::vector<double> points = lobatto_points(octree.order);
  for (int element = 0; element < mesh.n_elements; ++element) place_nodes(mesh, element, points);
  for (size_t node = 0; node < n_local; ++node) {
    const double* at = &mesh.position[3 * node];
    mesh.fixed.push_back(std::any_of(at, at + 3, [](double x) { return x == 0 || x == 1; }));
  }
  return mesh;
}

}  // namespace poisson
