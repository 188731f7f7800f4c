// SPDX-License-Identifier: BSD-3-Clause
//
// conduit.hpp - the part of Conduit's C interface that perfield uses, found in the program by name.
// So perfield is built without Conduit. libcatalyst brings a Conduit of its own, whose names begin
// with catalyst_conduit_; Ascent uses the ordinary one.
#pragma once

#include <cstdint>

struct conduit_node;
struct conduit_datatype;

namespace perfield::adaptors {

// The numbers of a leaf, in the program's memory.
struct Numbers {
  const unsigned char* data = nullptr;
  int type = 0;        // ConduitType
  int64_t n = 0;       // 0: it is no array of numbers that this machine can read
  int64_t stride = 0;  // bytes from one to the next
  double real(int64_t at) const noexcept;
  int64_t whole(int64_t at) const noexcept;
};

enum ConduitType {
  kObject = 1,
  kList = 2,
  kInt8 = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kUint8 = 7,
  kUint16 = 8,
  kUint32 = 9,
  kUint64 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
  kText = 13
};

// Functions of Conduit that end the program or throw where a path is missing are called only after
// has_path.
class Conduit {
 public:
  // The one whose names begin with "catalyst_conduit" or "conduit", seen from `near`, a function of
  // libcatalyst or Ascent. nullptr if it lacks something; the user has been warned.
  static const Conduit* of_catalyst(void* near) noexcept;
  static const Conduit* of_ascent(void* near) noexcept;

  bool has(const conduit_node* node, const char* path) const noexcept {
    return node && has_path_(node, path);
  }
  // nullptr if there is none.
  conduit_node* at(const conduit_node* node, const char* path) const noexcept;
  int64_t children(const conduit_node* node) const noexcept;  // of an object or a list
  conduit_node* child(const conduit_node* node, int64_t n) const noexcept {
    return child_(const_cast<conduit_node*>(node), n);
  }
  // The name in its object; "" in a list. The caller frees it.
  char* name(const conduit_node* node) const noexcept { return name_(node); }
  int type(const conduit_node* node) const noexcept;  // ConduitType
  // nullptr if it is no text.
  const char* text(const conduit_node* node) const noexcept;
  const char* text_at(const conduit_node* node, const char* path) const noexcept {
    return text(at(node, path));
  }
  Numbers numbers(const conduit_node* node) const noexcept;
  Numbers numbers_at(const conduit_node* node, const char* path) const noexcept {
    return numbers(at(node, path));
  }
  // A single number; `otherwise` where there is none.
  double number_at(const conduit_node* node, const char* path, double otherwise) const noexcept;

  // A copy of the tree whose leaves are the program's memory. Destroy it.
  conduit_node* copy(const conduit_node* node) const noexcept;
  void destroy(conduit_node* node) const noexcept { destroy_(node); }
  conduit_node* make(conduit_node* node, const char* path) const noexcept {
    return fetch_(node, path);
  }
  void set_text(conduit_node* node, const char* path, const char* text) const noexcept {
    set_text_(node, path, text);
  }
  // The numbers stay where they are.
  void set_numbers(conduit_node* node, const char* path, double* numbers,
                   int64_t n) const noexcept {
    set_numbers_(node, path, numbers, n);
  }

 private:
  bool find_all(void* near, const char* prefix) noexcept;
  static const Conduit* found(Conduit* conduit, int* state, void* near, const char* prefix,
                              const char* of) noexcept;

  conduit_node* (*create_)();
  void (*destroy_)(conduit_node*);
  int (*has_path_)(const conduit_node*, const char*);
  conduit_node* (*fetch_)(conduit_node*, const char*);
  int64_t (*number_of_children_)(conduit_node*);
  conduit_node* (*child_)(conduit_node*, int64_t);
  char* (*name_)(const conduit_node*);
  const conduit_datatype* (*dtype_)(const conduit_node*);
  char* (*text_)(conduit_node*);
  void* (*element_)(conduit_node*, int64_t);
  void (*set_external_)(conduit_node*, conduit_node*);
  void (*set_text_)(conduit_node*, const char*, const char*);
  void (*set_numbers_)(conduit_node*, const char*, double*, int64_t);
  int64_t (*type_id_)(const conduit_datatype*);
  int64_t (*elements_)(const conduit_datatype*);
  int64_t (*stride_)(const conduit_datatype*);
  int (*is_native_)(const conduit_datatype*);
};

}  // namespace perfield::adaptors
