// SPDX-License-Identifier: BSD-3-Clause
// A fake of Ascent: it prints what it gets, when its actions are executed.
#include "fake_conduit.hpp"

namespace conduit {
struct Node;
}

namespace ascent {

class Ascent {
 public:
  void open(const conduit::Node& options);
  void publish(const conduit::Node& data);
  void execute(const conduit::Node& actions);
  void close();

 private:
  conduit_node* tree_ = nullptr;
};

void Ascent::open(const conduit::Node&) { puts("open"); }
void Ascent::publish(const conduit::Node& data) {
  tree_ = reinterpret_cast<conduit_node*>(const_cast<conduit::Node*>(&data));
}
void Ascent::execute(const conduit::Node&) {
  printf("execute %p\n", static_cast<void*>(tree_));
  if (!PREFIX(node_has_path)(tree_, "fields")) return;
  for (const auto& field : PREFIX(node_fetch)(tree_, "fields")->children) {
    conduit_node* values = PREFIX(node_fetch)(field.get(), "values");
    printf("field %s %s %lld %.17g\n", field->name.c_str(),
           PREFIX(node_as_char8_str)(PREFIX(node_fetch)(field.get(), "association")),
           static_cast<long long>(values->type.n),
           *static_cast<double*>(PREFIX(node_element_ptr)(values, values->type.n - 1)));
  }
  fflush(stdout);
}
void Ascent::close() { puts("close"); }

}  // namespace ascent

using ascent::Ascent;
static const conduit::Node& node(conduit_node* n) { return *reinterpret_cast<conduit::Node*>(n); }
extern "C" {
Ascent* ascent_create() { return new Ascent; }
void ascent_open(Ascent* a, conduit_node* options) { a->open(node(options)); }
void ascent_publish(Ascent* a, conduit_node* data) { a->publish(node(data)); }
void ascent_execute(Ascent* a, conduit_node* actions) { a->execute(node(actions)); }
void ascent_close(Ascent* a) { a->close(); }
}
