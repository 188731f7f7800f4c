// SPDX-License-Identifier: BSD-3-Clause
// A solver with an adaptor for Ascent, by its C interface; it knows nothing of perfield.
#include <cmath>

#include "fake_conduit.hpp"

struct Ascent;
extern "C" {
Ascent* ascent_create();
void ascent_open(Ascent*, conduit_node*);
void ascent_publish(Ascent*, conduit_node*);
void ascent_execute(Ascent*, conduit_node*);
void ascent_close(Ascent*);
}

int main(int argc, char** argv) {
  Ascent* ascent = ascent_create();
  conduit_node* options = PREFIX(node_create)();
  if (argc > 1) set(options, "actions_file", argv[1]);
  ascent_open(ascent, options);
  for (int step = 0; step < 5; ++step) {
    volatile double sum = 0;
    for (int i = 0; i < 200000; ++i) sum = sum + std::sqrt(double(i));
    conduit_node *mesh = PREFIX(node_create)(), *actions = PREFIX(node_create)();
    set(mesh, "state/cycle", int64_t(step));
    set(mesh, "state/time", 0.25 * step);
    set(mesh, "coordsets/coords/type", "uniform");
    set(mesh, "coordsets/coords/dims/i", int64_t(4));
    set(mesh, "coordsets/coords/dims/j", int64_t(3));
    set(mesh, "topologies/mesh/type", "uniform");
    set(mesh, "topologies/mesh/coordset", "coords");
    set(actions, "action/plots/p1/field", "waiting_time_s");
    printf("solver %p\n", static_cast<void*>(mesh));
    ascent_publish(ascent, mesh);
    ascent_execute(ascent, actions);
    PREFIX(node_destroy)(mesh);
    PREFIX(node_destroy)(actions);
  }
  ascent_close(ascent);
  PREFIX(node_destroy)(options);
}
