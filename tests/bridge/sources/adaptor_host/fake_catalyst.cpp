// SPDX-License-Identifier: BSD-3-Clause
// A fake of libcatalyst: it loads an implementation as the real one does, or prints what it gets
// itself. With -DIMPLEMENTATION it is such an implementation, libcatalyst-probe.so.
#include <dlfcn.h>

#include <sstream>
#include <stdexcept>

#include "fake_conduit.hpp"

struct Implementation {
  int version;
  int (*functions[3])(const conduit_node*);
  int (*others[2])(conduit_node*);
};

namespace {

double number(conduit_node* node, int64_t n) {
  return *static_cast<double*>(PREFIX(node_element_ptr)(node, n));
}

void print_fields(const char* who, const char* channel, conduit_node* mesh) {
  for (const char* group : {"fields", "state/fields"}) {
    if (!PREFIX(node_has_path)(mesh, group)) continue;
    for (const auto& field : PREFIX(node_fetch)(mesh, group)->children) {
      const bool full = PREFIX(node_has_path)(field.get(), "values");
      conduit_node* values = full ? PREFIX(node_fetch)(field.get(), "values") : field.get();
      const int64_t n = values->type.n;
      printf("%s field %s %s %s %s %lld %.17g %.17g\n", who, channel, field->name.c_str(),
             full ? PREFIX(node_as_char8_str)(PREFIX(node_fetch)(field.get(), "association"))
                  : "state",
             full ? PREFIX(node_as_char8_str)(PREFIX(node_fetch)(field.get(), "topology")) : "-",
             static_cast<long long>(n), number(values, 0), number(values, n - 1));
    }
  }
}

int print(const char* who, const char* what, const conduit_node* params) {
  printf("%s %s %p\n", who, what, static_cast<const void*>(params));
  if (strcmp(what, "execute") != 0 || !params) return 0;
  auto* tree = const_cast<conduit_node*>(params);
  if (PREFIX(node_has_path)(tree, "throw")) throw std::runtime_error("thrown on purpose");
  if (PREFIX(node_has_path)(tree, "refuse")) return 100;
  if (!PREFIX(node_has_path)(tree, "catalyst/channels")) return 0;
  for (const auto& channel : PREFIX(node_fetch)(tree, "catalyst/channels")->children) {
    if (!PREFIX(node_has_path)(channel.get(), "data")) continue;
    conduit_node* data = PREFIX(node_fetch)(channel.get(), "data");
    if (PREFIX(node_has_path)(data, "topologies"))
      print_fields(who, channel->name.c_str(), data);
    else
      for (const auto& domain : data->children)
        print_fields(who, domain->name.c_str(), domain.get());
  }
  fflush(stdout);
  return 0;
}

}  // namespace

#ifdef IMPLEMENTATION
namespace {

int initialize(const conduit_node* p) { return print("probe", "initialize", p); }
int execute(const conduit_node* p) { return print("probe", "execute", p); }
int finalize(const conduit_node* p) { return print("probe", "finalize", p); }
int nothing(conduit_node*) { return 0; }

}  // namespace
extern "C" Implementation catalyst_api_impl;
Implementation catalyst_api_impl{1, {initialize, execute, finalize}, {nothing, nothing}};
#else
namespace {

Implementation* chosen;

int load() {
  const char* name = getenv("CATALYST_IMPLEMENTATION_NAME");
  if (!name || chosen) return 0;
  std::stringstream folders(getenv("CATALYST_IMPLEMENTATION_PATHS"));
  void* library = nullptr;
  for (std::string folder; !library && std::getline(folders, folder, ':');)
    library = dlopen((folder + "/libcatalyst-" + name + ".so").c_str(), RTLD_LAZY | RTLD_GLOBAL);
  chosen = library ? static_cast<Implementation*>(dlsym(library, "catalyst_api_impl")) : nullptr;
  return chosen ? 0 : 3;
}

int call(int which, const char* what, const conduit_node* params) {
  return chosen ? chosen->functions[which](params) : print("stub", what, params);
}

}  // namespace
extern "C" {
int catalyst_initialize(const conduit_node* params) {
  const int status = load();
  return status ? status : call(0, "initialize", params);
}
int catalyst_execute(const conduit_node* params) { return call(1, "execute", params); }
int catalyst_finalize(const conduit_node* params) { return call(2, "finalize", params); }
int catalyst_stub_initialize(const conduit_node* p) { return print("stub", "initialize", p); }
int catalyst_stub_execute(const conduit_node* p) { return print("stub", "execute", p); }
int catalyst_stub_finalize(const conduit_node* p) { return print("stub", "finalize", p); }
int catalyst_stub_about(conduit_node*) { return 0; }
int catalyst_stub_results(conduit_node*) { return 0; }
}
#endif
