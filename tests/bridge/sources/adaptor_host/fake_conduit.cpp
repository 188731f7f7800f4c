// SPDX-License-Identifier: BSD-3-Clause
// A fake of Conduit; see fake_conduit.hpp.
#include "fake_conduit.hpp"

namespace {

[[noreturn]] void wrong(const char* what) {
  fprintf(stderr, "the real Conduit would throw: %s\n", what);
  abort();
}

conduit_node* child_called(const conduit_node* node, const std::string& name) {
  for (const auto& child : node->children)
    if (child->name == name) return child.get();
  return nullptr;
}

std::vector<std::string> parts_of(const char* path) {
  std::vector<std::string> parts(1);
  for (; *path; ++path) {
    if (*path == '/')
      parts.emplace_back();
    else
      parts.back() += *path;
  }
  return parts;
}

}  // namespace

conduit_node* PREFIX(node_create)() { return new conduit_node; }
void PREFIX(node_destroy)(conduit_node* node) { delete node; }

int PREFIX(node_has_path)(const conduit_node* node, const char* path) {
  for (const std::string& part : parts_of(path))
    if (!(node = child_called(node, part))) return 0;
  return 1;
}

conduit_node* PREFIX(node_fetch)(conduit_node* node, const char* path) {
  for (const std::string& part : parts_of(path)) {
    conduit_node* child = child_called(node, part);
    if (!child) {
      if (node->type.id != 0 && node->type.id != kObject) wrong("fetch below a leaf");
      node->type = {kObject, 0, 0, true};
      node->children.push_back(std::make_unique<conduit_node>());
      child = node->children.back().get();
      child->name = part;
    }
    node = child;
  }
  return node;
}

int64_t PREFIX(node_number_of_children)(conduit_node* node) {
  return int64_t(node->children.size());
}

conduit_node* PREFIX(node_child)(conduit_node* node, int64_t n) {
  if (n < 0 || n >= int64_t(node->children.size())) wrong("no such child");
  return node->children[size_t(n)].get();
}

char* PREFIX(node_name)(const conduit_node* node) { return strdup(node->name.c_str()); }
const conduit_datatype* PREFIX(node_dtype)(const conduit_node* node) { return &node->type; }

char* PREFIX(node_as_char8_str)(conduit_node* node) {
  if (node->type.id != kText) wrong("not a text");
  return static_cast<char*>(node->data);
}

void* PREFIX(node_element_ptr)(conduit_node* node, int64_t n) {
  if (n >= node->type.n) wrong("no such element");
  return static_cast<char*>(node->data) + n * node->type.stride;
}

void PREFIX(node_set_external_node)(conduit_node* node, conduit_node* from) {
  node->type = from->type;
  node->data = from->data;
  node->children.clear();
  for (const auto& child : from->children) {
    node->children.push_back(std::make_unique<conduit_node>());
    node->children.back()->name = child->name;
    PREFIX(node_set_external_node)(node->children.back().get(), child.get());
  }
}

void PREFIX(node_set_path_char8_str)(conduit_node* node, const char* path, const char* text) {
  conduit_node* leaf = PREFIX(node_fetch)(node, path);
  leaf->own.assign(text, text + strlen(text) + 1);
  leaf->type = {kText, int64_t(leaf->own.size()), 1, true};
  leaf->data = leaf->own.data();
}

#ifndef WITHOUT_EXTERNAL  // an older version that lacks something
void PREFIX(node_set_path_external_float64_ptr)(conduit_node* node, const char* path,
                                                double* numbers, int64_t n) {
  set_array(node, path, kFloat64, numbers, n, 8);
}
#endif

int64_t PREFIX(datatype_id)(const conduit_datatype* type) { return type->id; }
int64_t PREFIX(datatype_number_of_elements)(const conduit_datatype* type) { return type->n; }
int64_t PREFIX(datatype_stride)(const conduit_datatype* type) { return type->stride; }
int PREFIX(datatype_endianness_matches_machine)(const conduit_datatype* type) {
  return type->native;
}
