// SPDX-License-Identifier: BSD-3-Clause
//
// octree.cpp - facts of an octree mesh of testcase/poisson, and of the operator on it, as JSON.
// Arguments: coarsest and finest level, order, and where kappa jumps: nowhere, plane, ball.
#include "octree.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "element.hpp"
#include "exchange.hpp"

using poisson::Mesh;
using Point = std::array<double, 3>;

namespace {

double kappa_of(const std::string& where, const Point& at) {
  if (where == "plane") return at[0] < 0.5 ? 1 : 1000;
  const double r = std::hypot(at[0] - 0.3, at[1] - 0.4, at[2] - 0.5);
  return where == "ball" && r < 0.25 ? 1000 : 1;
}

template <class T>
T reduced(T value, MPI_Datatype type, MPI_Op how) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, how, MPI_COMM_WORLD);
  return value;
}

double sum(double value) { return reduced(value, MPI_DOUBLE, MPI_SUM); }
double largest(double value) { return reduced(value, MPI_DOUBLE, MPI_MAX); }
double total(int value) { return reduced(value, MPI_INT, MPI_SUM); }

// A number for each node that does not depend on who knows it.
std::vector<double> at_nodes(const Mesh& mesh, const poisson::Function& f) {
  std::vector<double> u;
  for (int node = 0; node < mesh.n_owned + mesh.n_ghosts; ++node) {
    const double* at = &mesh.position[3 * size_t(node)];
    u.push_back(f({at[0], at[1], at[2]}));
  }
  return u;
}

struct Product {
  const Mesh& mesh;
  const poisson::Elements& elements;
  poisson::Exchange& exchange;

  std::vector<double> operator()(const std::vector<double>& u) {
    std::vector<double> b(u.size(), 0);
    elements.apply(0, mesh.n_elements, u.data(), b.data());
    exchange.sum_to_owners(b.data());
    return b;
  }
  double dot(const std::vector<double>& u, const std::vector<double>& v) {
    double all = 0;
    for (int node = 0; node < mesh.n_owned; ++node) all += u[size_t(node)] * v[size_t(node)];
    return sum(all);
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  poisson::Octree octree;
  octree.coarsest = std::atoi(argv[1]);
  octree.finest = std::atoi(argv[2]);
  octree.order = std::atoi(argv[3]);
  const std::string where = argv[4];
  Mesh mesh;
  try {
    mesh = poisson::octree_mesh(
        octree, [&](const Point& at) { return kappa_of(where, at); }, MPI_COMM_WORLD);
  } catch (const std::invalid_argument& error) {
    if (rank == 0) std::fprintf(stderr, "%s\n", error.what());
    MPI_Finalize();
    return 0;  // or mpirun takes seconds to say
  }
  const poisson::Elements elements(mesh);
  poisson::Exchange exchange(mesh, MPI_COMM_WORLD);
  Product product{mesh, elements, exchange};

  // Do neighbours mean the same nodes, and does each ghost have one owner?
  std::vector<double> x(size_t(mesh.n_owned + mesh.n_ghosts));
  double apart = 0;
  for (size_t d = 0; d < 3; ++d) {
    std::fill(x.begin(), x.end(), 7);  // ghosts that nobody fills are reported
    for (int node = 0; node < mesh.n_owned; ++node)
      x[size_t(node)] = mesh.position[3 * size_t(node) + d];
    exchange.update_ghosts(x.data());
    for (size_t node = 0; node < x.size(); ++node)
      apart = std::max(apart, std::abs(x[node] - mesh.position[3 * node + d]));
  }
  // Inner elements touch no node that a neighbour knows; mirror elements touch at least one.
  std::set<int> shared;
  for (const auto& neighbour : mesh.neighbours) {
    shared.insert(neighbour.send.begin(), neighbour.send.end());
    shared.insert(neighbour.receive.begin(), neighbour.receive.end());
  }
  const size_t n = size_t(mesh.order + 1), n_nodes = n * n * n;
  int misplaced = 0, hanging = 0, elements_at_level[20] = {};
  double volume = 0;
  for (int element = 0; element < mesh.n_elements; ++element) {
    const int* nodes = &mesh.nodes[size_t(element) * n_nodes];
    const bool mirror =
        std::any_of(nodes, nodes + n_nodes, [&](int node) { return shared.count(node) > 0; });
    misplaced += mirror != (element >= mesh.first_mirror);
    hanging += mesh.hanging[size_t(element)] != 0;
    const double size = mesh.size[size_t(element)];
    ++elements_at_level[int(std::lround(-std::log2(size)))];
    volume += size * size * size;
  }
  // A linear function is represented exactly, and needs no force at inner nodes where kappa is 1.
  const auto linear = [](const Point& at) { return 1 + 2 * at[0] - 3 * at[1] + 0.5 * at[2]; };
  const auto u = at_nodes(mesh, linear);
  const double error = elements.squared_error(linear, u.data());
  Mesh even = mesh;
  std::fill(even.kappa.begin(), even.kappa.end(), 1);
  const poisson::Elements even_elements(even);
  const auto b = Product{even, even_elements, exchange}(u);
  double force = 0, largest_force = 0;
  for (int node = 0; node < mesh.n_owned; ++node) {
    double& found = mesh.fixed[size_t(node)] ? largest_force : force;
    found = std::max(found, std::abs(b[size_t(node)]));
  }
  const auto v = at_nodes(mesh, [](const Point& at) {
    return std::sin(50 * at[0] + 90 * at[1]) * std::cos(70 * at[2]);
  });
  const auto w = at_nodes(
      mesh, [](const Point& at) { return std::cos(30 * at[0]) + std::sin(80 * at[1] * at[2]); });
  const auto av = product(v), aw = product(w);
  std::vector<double> diagonal(x.size(), 0);
  elements.add_diagonal(diagonal.data());
  exchange.sum_to_owners(diagonal.data());
  double least = 1e300, diagonals = 0;
  for (int node = 0; node < mesh.n_owned; ++node) {
    least = std::min(least, diagonal[size_t(node)]);
    diagonals += diagonal[size_t(node)];
  }
  int n_fixed = 0;
  for (int node = 0; node < mesh.n_owned; ++node) n_fixed += mesh.fixed[size_t(node)];

  int first = 0;
  MPI_Exscan(&mesh.n_owned, &first, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) first = 0;

  std::map<std::string, double> facts = {
      {"elements", total(mesh.n_elements)},
      {"hanging", total(hanging)},
      {"misplaced", total(misplaced)},
      {"nodes", double(mesh.all_nodes)},
      {"owned", total(mesh.n_owned)},
      {"fixed", total(n_fixed)},
      {"first_node_wrong", total(first != mesh.first_node)},
      {"ranks_without_elements", total(mesh.n_elements == 0)},
      {"ranks_without_mirrors", total(mesh.n_elements == mesh.first_mirror)},
      {"volume", sum(volume)},
      {"ghosts_apart", largest(apart)},
      {"linear_error", std::sqrt(sum(error))},
      {"inner_force", largest(force)},
      {"boundary_force", largest(largest_force)},
      {"v_A_v", product.dot(v, av)},
      {"v_A_w", product.dot(v, aw)},
      {"w_A_v", product.dot(w, av)},
      {"w_A_w", product.dot(w, aw)},
      {"least_diagonal", -largest(-least)},
      {"sum_of_diagonal", sum(diagonals)},
  };
  for (int level = octree.coarsest; level <= octree.finest; ++level)
    facts["level_" + std::to_string(level)] = total(elements_at_level[level]);
  if (rank == 0) {
    const char* separator = "{";
    for (const auto& [name, value] : facts) {
      std::printf("%s\"%s\": %.17g", separator, name.c_str(), value);
      separator = ", ";
    }
    std::printf("}\n");
  }
  MPI_Finalize();
}
