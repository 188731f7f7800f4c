// SPDX-License-Identifier: BSD-3-Clause
// A fake: the part of Conduit's C interface that perfield and these tests use, on a small tree. It
// is strict where the real one throws. PREFIX(name): the name under which a function is known.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#ifndef PREFIX
#define PREFIX(name) catalyst_conduit_##name
#endif

struct conduit_datatype {
  int64_t id = 0, n = 0, stride = 0;
  bool native = true;
};

struct conduit_node {
  std::string name;
  conduit_datatype type;
  void* data = nullptr;
  std::vector<char> own;
  std::vector<std::unique_ptr<conduit_node>> children;
};

enum {
  kObject = 1,
  kList = 2,
  kInt32 = 5,
  kInt64 = 6,
  kUint32 = 9,
  kFloat32 = 11,
  kFloat64 = 12,
  kText = 13
};

extern "C" {
conduit_node* PREFIX(node_create)();
void PREFIX(node_destroy)(conduit_node*);
int PREFIX(node_has_path)(const conduit_node*, const char* path);
conduit_node* PREFIX(node_fetch)(conduit_node*, const char* path);
int64_t PREFIX(node_number_of_children)(conduit_node*);
conduit_node* PREFIX(node_child)(conduit_node*, int64_t);
char* PREFIX(node_name)(const conduit_node*);
const conduit_datatype* PREFIX(node_dtype)(const conduit_node*);
char* PREFIX(node_as_char8_str)(conduit_node*);
void* PREFIX(node_element_ptr)(conduit_node*, int64_t);
void PREFIX(node_set_external_node)(conduit_node*, conduit_node*);
void PREFIX(node_set_path_char8_str)(conduit_node*, const char* path, const char* text);
void PREFIX(node_set_path_external_float64_ptr)(conduit_node*, const char* path, double*,
                                                int64_t n);
int64_t PREFIX(datatype_id)(const conduit_datatype*);
int64_t PREFIX(datatype_number_of_elements)(const conduit_datatype*);
int64_t PREFIX(datatype_stride)(const conduit_datatype*);
int PREFIX(datatype_endianness_matches_machine)(const conduit_datatype*);
}

// What the tests set beside: any array where it lies, and single numbers.
inline void set_array(conduit_node* node, const char* path, int type, const void* data, int64_t n,
                      int64_t stride) {
  conduit_node* leaf = PREFIX(node_fetch)(node, path);
  leaf->type = {type, n, stride, true};
  leaf->data = const_cast<void*>(data);
}
inline void set(conduit_node* node, const char* path, const char* text) {
  PREFIX(node_set_path_char8_str)(node, path, text);
}
inline void set(conduit_node* node, const char* path, int64_t number) {
  conduit_node* leaf = PREFIX(node_fetch)(node, path);
  leaf->own.assign(reinterpret_cast<char*>(&number), reinterpret_cast<char*>(&number + 1));
  leaf->type = {kInt64, 1, 8, true};
  leaf->data = leaf->own.data();
}
inline void set(conduit_node* node, const char* path, double number) {
  conduit_node* leaf = PREFIX(node_fetch)(node, path);
  leaf->own.assign(reinterpret_cast<char*>(&number), reinterpret_cast<char*>(&number + 1));
  leaf->type = {kFloat64, 1, 8, true};
  leaf->data = leaf->own.data();
}
