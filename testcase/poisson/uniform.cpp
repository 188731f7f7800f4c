// SPDX-License-Identifier: BSD-3-Clause
#include "uniform.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "element.hpp"

namespace poisson {

namespace {

using Index = std::array<int, 3>;

Index place_of(int rank, const Index& ranks) {
  return {rank % ranks[0], rank / ranks[0] % ranks[1], rank / ranks[0] / ranks[1]};
}

// The first element of block number `block` along one axis.
int first_element(const Box& box, int axis, int block) {
  const auto grains = std::int64_t(box.elements[axis] / box.grain);
  return int(grains * block / box.ranks[axis]) * box.grain;
}

// The nodes along one axis that a block touches, and those of them that it owns. The last element's
// block owns the last node; any other block leaves its upper face to the next one.
struct Span {
  int begin, end, owned;
};

Span span_of(const Box& box, int axis, int block) {
  const int first = first_element(box, axis, block), last = first_element(box, axis, block + 1);
  if (first == last) return {first * box.order, first * box.order, first * box.order};
  const int end = last * box.order + 1;
  return {first * box.order, end, last == box.elements[axis] ? end : end - 1};
}

int owner_along(const Box& box, int axis, int node) {
  int block = 0;
  while (span_of(box, axis, block).owned <= node) ++block;
  return block;
}

template <class Visit>
void each(const Index& begin, const Index& end, Visit visit) {
  for (int k = begin[2]; k < end[2]; ++k)
    for (int j = begin[1]; j < end[1]; ++j)
      for (int i = begin[0]; i < end[0]; ++i) visit(i, j, k);
}

struct Spans {
  Index begin{}, end{}, owned{};
};

Spans spans_of(const Box& box, const Index& place) {
  Spans spans;
  bool empty = false;
  for (int axis = 0; axis < 3; ++axis) {
    const Span span = span_of(box, axis, place[axis]);
    spans.begin[axis] = span.begin;
    spans.end[axis] = span.end;
    spans.owned[axis] = span.owned;
    empty |= span.begin == span.end;
  }
  if (empty) spans.end = spans.owned = spans.begin;
  return spans;
}

// Owned nodes first, then the others; both in the order of the lattice.
void number_nodes(UniformMesh& mesh) {
  Lattice& lattice = mesh.lattice;
  const auto owns = [&](int i, int j, int k) {
    return i < lattice.owned[0] && j < lattice.owned[1] && k < lattice.owned[2];
  };
  each(lattice.begin, lattice.end,
       [&](int i, int j, int k) { ++(owns(i, j, k) ? mesh.n_owned : mesh.n_ghosts); });
  int owned = 0, ghost = mesh.n_owned;
  const double size = mesh.box.element_size();
  const std::vector<double> points = lobatto_points(mesh.order);
  mesh.position.resize(3 * size_t(mesh.n_owned + mesh.n_ghosts));
  mesh.fixed.resize(size_t(mesh.n_owned + mesh.n_ghosts));
  each(lattice.begin, lattice.end, [&](int i, int j, int k) {
    const int node = owns(i, j, k) ? owned++ : ghost++;
    lattice.local.push_back(node);
    const Index at = {i, j, k};
    for (int axis = 0; axis < 3; ++axis) {
      mesh.position[3 * size_t(node) + axis] =
          size * (at[axis] / mesh.order + points[size_t(at[axis] % mesh.order)]);
      if (at[axis] == 0 || at[axis] == mesh.box.elements[axis] * mesh.order)
        mesh.fixed[size_t(node)] = 1;
    }
  });
}

// Lists the nodes that this rank shares with each other one. A block's ghosts lie on its upper
// faces, so they belong to one of up to seven blocks above it.
void find_neighbours(UniformMesh& mesh, const Index& place) {
  const Lattice& lattice = mesh.lattice;
  const Box& box = mesh.box;
  std::map<int, Neighbour> found;
  const auto owner = [&](int i, int j, int k) {
    const Index block = {owner_along(box, 0, i), owner_along(box, 1, j), owner_along(box, 2, k)};
    return block[0] + box.ranks[0] * (block[1] + box.ranks[1] * block[2]);
  };
  each(lattice.begin, lattice.end, [&](int i, int j, int k) {
    const int node = lattice.at(i, j, k);
    if (node >= mesh.n_owned) found[owner(i, j, k)].receive.push_back(node);
  });
  if (mesh.n_owned > 0) {
    each({0, 0, 0}, {place[0] + 1, place[1] + 1, place[2] + 1}, [&](int x, int y, int z) {
      const Index other = {x, y, z};
      if (other == place) return;
      const Spans theirs = spans_of(box, other);
      Index begin, end;
      for (int axis = 0; axis < 3; ++axis) {
        begin[axis] = std::max(theirs.begin[axis], lattice.begin[axis]);
        end[axis] = std::min(theirs.end[axis], lattice.owned[axis]);
      }
      each(begin, end, [&](int i, int j, int k) {
        found[x + box.ranks[0] * (y + box.ranks[1] * z)].send.push_back(lattice.at(i, j, k));
      });
    });
  }
  for (auto& [rank, neighbour] : found) {
    neighbour.rank = rank;
    mesh.neighbours.push_back(std::move(neighbour));
  }
}

// Elements that touch no shared node come first; both groups in the order of the lattice.
void list_elements(UniformMesh& mesh, const Function& kappa) {
  const Lattice& lattice = mesh.lattice;
  const int order = mesh.order;
  std::vector<char> shared(size_t(mesh.n_owned + mesh.n_ghosts));
  for (const Neighbour& neighbour : mesh.neighbours) {
    for (int node : neighbour.send) shared[size_t(node)] = 1;
    for (int node : neighbour.receive) shared[size_t(node)] = 1;
  }
  Index first, last;
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = lattice.begin[axis] / order;
    last[axis] =
        lattice.end[axis] > lattice.begin[axis] ? (lattice.end[axis] - 1) / order : first[axis];
  }
  const double size = mesh.box.element_size();
  const auto add = [&](bool mirrors) {
    each(first, last, [&](int x, int y, int z) {
      std::vector<int> nodes;
      each({x * order, y * order, z * order},
           {(x + 1) * order + 1, (y + 1) * order + 1, (z + 1) * order + 1},
           [&](int i, int j, int k) { nodes.push_back(lattice.at(i, j, k)); });
      const bool is_mirror =
          std::any_of(nodes.begin(), nodes.end(), [&](int node) { return shared[size_t(node)]; });
      if (is_mirror != mirrors) return;
      mesh.nodes.insert(mesh.nodes.end(), nodes.begin(), nodes.end());
      mesh.corner.insert(mesh.corner.end(), {x * size, y * size, z * size});
      mesh.size.push_back(size);
      mesh.kappa.push_back(kappa({(x + 0.5) * size, (y + 0.5) * size, (z + 0.5) * size}));
      ++mesh.n_elements;
    });
  };
  add(false);
  mesh.first_mirror = mesh.n_elements;
  add(true);
}

}  // namespace

double Box::element_size() const {
  return 1.0 / *std::max_element(elements.begin(), elements.end());
}

std::array<double, 3> Box::length() const {
  const double size = element_size();
  return {elements[0] * size, elements[1] * size, elements[2] * size};
}

std::array<int, 3> divided(int n_ranks, const std::array<int, 3>& elements) {
  std::array<int, 3> best = {n_ranks, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int x = 1; x <= n_ranks; ++x) {
    if (n_ranks % x) continue;
    for (int y = 1; y <= n_ranks / x; ++y) {
      if (n_ranks / x % y) continue;
      const int z = n_ranks / x / y;
      const double shared = (x - 1.0) * elements[1] * elements[2] +
                            (y - 1.0) * elements[0] * elements[2] +
                            (z - 1.0) * elements[0] * elements[1];
      if (shared < least) {
        least = shared;
        best = {x, y, z};
      }
    }
  }
  return best;
}

UniformMesh uniform_mesh(const Box& box, const Function& kappa, MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  UniformMesh mesh;
  mesh.box = box;
  mesh.order = box.order;
  const Index place = place_of(rank, box.ranks);
  const Spans spans = spans_of(box, place);
  mesh.lattice.begin = spans.begin;
  mesh.lattice.end = spans.end;
  mesh.lattice.owned = spans.owned;
  number_nodes(mesh);
  find_neighbours(mesh, place);
  list_elements(mesh, kappa);
  std::int64_t before = 0, mine = mesh.n_owned;
  MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, comm);
  mesh.first_node = rank == 0 ? 0 : before;
  mesh.all_nodes = 1;
  for (int axis = 0; axis < 3; ++axis)
    mesh.all_nodes *= std::int64_t(box.elements[axis]) * box.order + 1;
  return mesh;
}

}  // namespace poisson
