// SPDX-License-Identifier: BSD-3-Clause
// A solver with an adaptor for Catalyst 2 that knows nothing of perfield: solver WHAT [SCRIPT ...].
// Each rank has a piece of the mesh beside that of the rank before.
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <stdexcept>

#include "fake_conduit.hpp"

extern "C" {
int catalyst_initialize(const conduit_node*);
int catalyst_execute(const conduit_node*);
int catalyst_finalize(const conduit_node*);
}

namespace {

constexpr int kSteps = 6;
int rank_ = 0;

struct Tree {
  conduit_node* node = PREFIX(node_create)();
  ~Tree() { PREFIX(node_destroy)(node); }
};

// Coordinates of 3 x 3 x 2 points, and what topologies make of them. New at each step, as in codes
// that gather them for Catalyst.
struct Arrays {
  double x[18], y[18], z[18], xyz[54], axis[3] = {0, 1, 4};
  float small[18];
  int64_t hexes[32], quads[16];
  int32_t triangles[6] = {0, 1, 3, 1, 4, 3}, polygons[7] = {0, 1, 4, 3, 1, 2, 4}, sizes[2] = {4, 3},
          offsets[2] = {0, 4}, shapes[2] = {9, 5}, marks[4] = {0, 0, 0, 1};
  double pressure[18];

  explicit Arrays(double moved) {
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) {
          const int n = (k * 3 + j) * 3 + i;
          xyz[3 * n] = x[n] = i + 2 * rank_ + moved;
          xyz[3 * n + 1] = y[n] = j;
          xyz[3 * n + 2] = z[n] = k;
          small[n] = float(x[n]);
          pressure[n] = n;
        }
    int at = 0, flat = 0;
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i) {
        const int64_t a = j * 3 + i;
        for (int64_t b : {a, a + 1, a + 4, a + 3}) quads[flat++] = hexes[at++] = b;
        for (int64_t b : {a, a + 1, a + 4, a + 3}) hexes[at++] = b + 9;
      }
  }
};

void coordinates(conduit_node* mesh, Arrays& a, const std::string& kind) {
  set(mesh, "coordsets/coords/type", "explicit");
  const char* paths[] = {"coordsets/coords/values/x", "coordsets/coords/values/y",
                         "coordsets/coords/values/z"};
  const double* separate[] = {a.x, a.y, a.z};
  const bool flat = kind == "flat" || kind == "triangles" || kind == "polygons" || kind == "mixed";
  for (int d = 0; d < (flat ? 2 : 3); ++d) {
    if (kind == "interleaved")
      set_array(mesh, paths[d], kFloat64, a.xyz + d, 18, 24);
    else if (kind == "floats" && d == 0)
      set_array(mesh, paths[d], kFloat32, a.small, 18, 4);
    else
      set_array(mesh, paths[d], kFloat64, separate[d], flat ? 9 : 18, 8);
  }
}

void topology(conduit_node* mesh, const char* type, const char* name = "mesh") {
  const std::string path = std::string("topologies/") + name;
  set(mesh, (path + "/type").c_str(), type);
  set(mesh, (path + "/coordset").c_str(), "coords");
}

void cells(conduit_node* mesh, const char* shape, int type, const void* numbers, int64_t n) {
  topology(mesh, "unstructured");
  set(mesh, "topologies/mesh/elements/shape", shape);
  set_array(mesh, "topologies/mesh/elements/connectivity", type, numbers, n,
            type == kInt32 ? 4 : 8);
}

void describe(conduit_node* mesh, Arrays& a, const std::string& kind) {
  if (kind == "uniform") {
    set(mesh, "coordsets/coords/type", "uniform");
    set(mesh, "coordsets/coords/dims/i", int64_t(3));
    set(mesh, "coordsets/coords/dims/j", int64_t(4));
    set(mesh, "coordsets/coords/origin/x", 10.0 * rank_);
    set(mesh, "coordsets/coords/spacing/dy", 0.5);
    return topology(mesh, "uniform");
  }
  if (kind == "rectilinear") {
    set(mesh, "coordsets/coords/type", "rectilinear");
    set_array(mesh, "coordsets/coords/values/x", kFloat64, a.axis, 3, 8);
    set_array(mesh, "coordsets/coords/values/y", kFloat64, a.axis, 2, 8);
    return topology(mesh, "rectilinear");
  }
  coordinates(mesh, a, kind);
  if (kind == "structured") {
    topology(mesh, "structured");
    for (const char* d : {"i", "j"})
      set(mesh, (std::string("topologies/mesh/elements/dims/") + d).c_str(), int64_t(2));
    set(mesh, "topologies/mesh/elements/dims/k", int64_t(1));
  } else if (kind == "points") {
    topology(mesh, "points");
  } else if (kind == "triangles") {
    cells(mesh, "tri", kInt32, a.triangles, 6);
  } else if (kind == "flat") {
    cells(mesh, "quad", kInt64, a.quads, 16);
  } else if (kind == "polygons" || kind == "mixed") {
    cells(mesh, kind == "mixed" ? "mixed" : "polygonal", kInt32, a.polygons, 7);
    set_array(mesh, "topologies/mesh/elements/sizes", kInt32, a.sizes, 2, 4);
    set_array(mesh, "topologies/mesh/elements/offsets", kInt32, a.offsets, 2, 4);
    set_array(mesh, "topologies/mesh/elements/shapes", kInt32, a.shapes, 2, 4);
    set(mesh, "topologies/mesh/elements/shape_map/quad", int64_t(9));
    set(mesh, "topologies/mesh/elements/shape_map/tri", int64_t(5));
  } else if (kind == "polyhedra") {
    cells(mesh, "polyhedral", kInt64, a.hexes, 32);
  } else if (kind == "empty") {
    cells(mesh, "hex", kInt64, a.hexes, 0);
  } else {
    cells(mesh, "hex", kInt64, a.hexes, 32);
  }
  if (kind == "ghosts") {
    set(mesh, "fields/ascent_ghosts/association", "element");
    set(mesh, "fields/ascent_ghosts/topology", "mesh");
    set_array(mesh, "fields/ascent_ghosts/values", kInt32, a.marks, 4, 4);
  }
  if (kind == "own") {
    set(mesh, "fields/compute_time_s/association", "vertex");
    set(mesh, "fields/compute_time_s/topology", "mesh");
    set_array(mesh, "fields/compute_time_s/values", kFloat64, a.pressure, 18, 8);
  }
}

void channel(conduit_node* params, const std::string& name, Arrays& a, const std::string& kind) {
  conduit_node* one = PREFIX(node_fetch)(params, ("catalyst/channels/" + name).c_str());
  set(one, "type", kind == "domains" ? "multimesh" : kind == "other" ? "ioss" : "mesh");
  if (kind == "domains")
    for (const char* domain : {"data/left", "data/right"})
      describe(PREFIX(node_fetch)(one, domain), a, "hexes");
  else
    describe(PREFIX(node_fetch)(one, "data"), a, kind);
}

int64_t nodes(const conduit_node* node) {
  int64_t n = 1;
  for (const auto& child : node->children) n += nodes(child.get());
  return n;
}

void execute(const std::string& what, int step) {
  Arrays a(what == "moving" ? 0.1 * step : 0);
  Tree tree;
  set(tree.node, "catalyst/state/timestep", int64_t(10 * step));
  set(tree.node, "catalyst/state/time", 0.5 * step);
  const auto kind = what == "refuse" || what == "throw" || what == "channels" || what == "removed"
                        ? "hexes"
                        : what;
  if (what == "refuse" || what == "throw") set(tree.node, what.c_str(), int64_t(1));
  if (what == "odd")
    channel(tree.node, "a b\xc3\xa4'\"%s", a, "hexes");
  else if (what != "none")
    channel(tree.node, "grid", a, kind);
  if (what == "channels" || (what == "removed" && step < 3))
    channel(tree.node, "second", a, "uniform");
  const int64_t before = nodes(tree.node);
  printf("solver %d %p\n", step, static_cast<void*>(tree.node));
  try {
    const int status = catalyst_execute(what == "null" ? nullptr : tree.node);
    if (status) printf("status %d\n", status);
  } catch (const std::exception& error) {
    printf("caught %s\n", error.what());
  }
  if (nodes(tree.node) != before) puts("the program's tree was changed");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  const std::string what = argv[1];
  Tree start;
  for (int i = 2; i < argc; ++i)
    set(start.node, ("catalyst/scripts/script" + std::to_string(i)).c_str(), argv[i]);
  const int status = catalyst_initialize(start.node);
  if (status) printf("status %d\n", status);
  for (int step = 0; step < kSteps && what != "never"; ++step) {
    volatile double sum = 0;
    for (int i = 0; i < 200000; ++i) sum = sum + std::sqrt(double(i));
    MPI_Barrier(MPI_COMM_WORLD);
    if (what == "fork" && step == 3) {
      fflush(stdout);
      const pid_t child = fork();
      if (!child) {
        execute(what, 99);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
    }
    if (what != "some" || rank_ == 0) execute(what, step);
  }
  Tree end;
  catalyst_finalize(end.node);
  MPI_Finalize();
}
