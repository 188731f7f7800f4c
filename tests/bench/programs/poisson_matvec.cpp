// SPDX-License-Identifier: BSD-3-Clause
//
// poisson_matvec.cpp - seconds of products with the matrix of testcase/poisson on a uniform mesh:
// without a matrix, by the elements of each kind, and by PETSc from the assembled matrix. They take
// turns. Arguments: elements along each axis, order, repetitions. Prints the nodes, then one line
// for each way: its name, and its CPU seconds per product in each repetition, on the slowest rank.
#include <petscmat.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "element.hpp"
#include "operator.hpp"
#include "trilinear.hpp"
#include "uniform.hpp"

using poisson::Operator;

namespace {

constexpr int products = 5;  // in each repetition

// Other programs on the machine do not lengthen it, but for caches and memory.
double cpu_time_s() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

std::vector<double> local_values(const poisson::Mesh& mesh) {
  std::vector<double> x;
  for (int node = 0; node < mesh.n_owned; ++node) {
    const double* at = &mesh.position[3 * size_t(node)];
    x.push_back(std::sin(9 * at[0] + 5 * at[1]) + std::cos(7 * at[2]));
  }
  return x;
}

PetscErrorCode assemble(Operator& product, const poisson::Elements& elements, Mat* a) {
  const poisson::Mesh& mesh = product.mesh();
  const size_t n = size_t(mesh.order + 1), n_nodes = n * n * n;
  const PetscInt n_owned = mesh.n_owned;
  // Where a node's elements lie around it says how many nodes they have.
  std::vector<double> local(size_t(mesh.n_owned + mesh.n_ghosts), 0);
  for (int node : mesh.nodes) local[size_t(node)] += 1;
  product.exchange().sum_to_owners(local.data());
  std::vector<PetscInt> n_entries;
  for (int node = 0; node < mesh.n_owned; ++node) {
    const double around = std::log2(local[size_t(node)]);  // directions with elements on both sides
    const double entries = std::pow(2.0 * double(n) - 1, around) * std::pow(double(n), 3 - around);
    n_entries.push_back(mesh.fixed[size_t(node)] ? 1 : PetscInt(std::lround(entries)));
  }
  std::vector<double> numbers(local.size());  // global numbers, exact in a double
  for (int node = 0; node < mesh.n_owned; ++node)
    numbers[size_t(node)] = double(mesh.first_node + node);
  product.exchange().update_ghosts(numbers.data());
  PetscFunctionBeginUser;
  PetscCall(MatCreate(product.comm(), a));
  PetscCall(MatSetSizes(*a, n_owned, n_owned, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*a, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*a, 0, n_entries.data()));
  const bool shares = !mesh.neighbours.empty();
  PetscCall(
      MatMPIAIJSetPreallocation(*a, 0, n_entries.data(), 0, shares ? n_entries.data() : nullptr));
  for (int element = 0; element < mesh.n_elements; ++element) {
    const int* nodes = &mesh.nodes[size_t(element) * n_nodes];
    const std::vector<double> values = elements.matrix(element);
    std::vector<PetscInt> places;  // negative ones are left out
    for (size_t i = 0; i < n_nodes; ++i) {
      const size_t node = size_t(nodes[i]);
      places.push_back(mesh.fixed[node] ? -1 : PetscInt(numbers[node]));
    }
    const PetscInt count = PetscInt(n_nodes);
    PetscCall(
        MatSetValues(*a, count, places.data(), count, places.data(), values.data(), ADD_VALUES));
  }
  for (int node = 0; node < mesh.n_owned; ++node)
    if (mesh.fixed[size_t(node)]) {
      const PetscInt place = PetscInt(mesh.first_node + node);
      PetscCall(MatSetValue(*a, place, place, 1, ADD_VALUES));
    }
  PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

struct Way {
  const char* name;
  std::function<void(std::vector<double>&)> multiply;  // fills y
  std::vector<double> seconds;
};

PetscErrorCode compare(int n_elements, int order, int repetitions) {
  const MPI_Comm comm = PETSC_COMM_WORLD;
  int rank, n_ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &n_ranks);
  poisson::Box box;
  box.elements = {n_elements, n_elements, n_elements};
  box.ranks = poisson::divided(n_ranks, box.elements);
  box.order = order;
  const auto mesh = poisson::uniform_mesh(
      box, [](const auto& at) { return at[0] < 0.5 ? 1.0 : 1000.0; }, comm);
  const poisson::Elements elements(mesh);
  Operator by_elements(mesh, elements, comm);
  const std::vector<double> x = local_values(mesh);
  poisson::Record record(1);
  const auto splitting = poisson::make_splitting({});
  poisson::MatVec one{};

  Mat a;
  Vec in, out;
  PetscFunctionBeginUser;
  PetscCall(assemble(by_elements, elements, &a));
  PetscCall(MatCreateVecs(a, &in, &out));
  PetscScalar* values;
  PetscCall(VecGetArrayWrite(in, &values));
  std::copy(x.begin(), x.end(), values);
  PetscCall(VecRestoreArrayWrite(in, &values));

  std::vector<Way> ways;
  ways.push_back({"sum factorisation",
                  [&](auto& y) { by_elements.apply(x.data(), y.data(), *splitting, record, one); },
                  {}});
  std::unique_ptr<poisson::Trilinear> trilinear;
  std::unique_ptr<Operator> by_trilinear;
  if (order == 1) {
    trilinear = std::make_unique<poisson::Trilinear>(mesh);
    by_trilinear = std::make_unique<Operator>(mesh, *trilinear, comm);
    ways.push_back(
        {"8 x 8 matrices",
         [&](auto& y) { by_trilinear->apply(x.data(), y.data(), *splitting, record, one); },
         {}});
  }
  ways.push_back({"PETSc's assembled matrix",
                  [&](auto& y) {
                    const PetscScalar* found;
                    PetscCallAbort(comm, MatMult(a, in, out));
                    PetscCallAbort(comm, VecGetArrayRead(out, &found));
                    y[0] = found[0];
                    PetscCallAbort(comm, VecRestoreArrayRead(out, &found));
                  },
                  {}});
  // Do they agree? PETSc's product stays in `out`.
  std::vector<double> y(size_t(mesh.n_owned + mesh.n_ghosts));
  ways.back().multiply(y);
  const PetscScalar* expected;
  PetscCall(VecGetArrayRead(out, &expected));
  for (size_t way = 0; way + 1 < ways.size(); ++way) {
    ways[way].multiply(y);
    double most = 0, apart = 0;
    for (int node = 0; node < mesh.n_owned; ++node) {
      most = std::max(most, std::abs(expected[node]));
      apart = std::max(apart, std::abs(expected[node] - y[size_t(node)]));
    }
    if (apart > 1e-12 * most) {
      std::fprintf(stderr, "%s differs from PETSc by %g of %g\n", ways[way].name, apart, most);
      MPI_Abort(comm, 1);
    }
  }
  PetscCall(VecRestoreArrayRead(out, &expected));

  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (Way& way : ways) {
      way.multiply(y);  // warms the caches
      MPI_Barrier(comm);
      const double start = cpu_time_s();
      for (int product = 0; product < products; ++product) way.multiply(y);
      double seconds = (cpu_time_s() - start) / products;
      MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
      way.seconds.push_back(seconds);
    }
  if (rank == 0) {
    std::printf("%lld\n", static_cast<long long>(mesh.all_nodes));
    for (const Way& way : ways) {
      std::printf("%s:", way.name);
      for (const double seconds : way.seconds) std::printf(" %.9g", seconds);
      std::printf("\n");
    }
  }
  PetscCall(MatDestroy(&a));
  PetscCall(VecDestroy(&in));
  PetscCall(VecDestroy(&out));
  PetscFunctionReturn(0);
}

}  // namespace

int main(int argc, char** argv) {
  PetscCall(PetscInitialize(nullptr, nullptr, nullptr, nullptr));
  if (argc < 4) return 2;
  PetscCall(compare(std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3])));
  return PetscFinalize();
}
