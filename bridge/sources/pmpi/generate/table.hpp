// SPDX-License-Identifier: BSD-3-Clause
//
// table.hpp - the rows of table/*.table (see table/README.md) as MPI functions, each with the forms
// that its row requests. The writers of wrappers for each language start here.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace perfield::generate {

// `const int recvcounts[] @root`
struct Parameter {
  std::string type;   // "const int"
  std::string name;   // "recvcounts"
  std::string array;  // "[]" or ""
  std::string mark;   // "root", "out", "inout" or ""

  std::string declaration() const;  // as in a C parameter list
  bool is_handle() const;           // of an MPI object, passed by value
};

struct Function {
  std::string name;                             // "MPI_Isend"
  std::string call;                             // the call it counts as: "isend"
  std::vector<std::vector<std::string>> rules;  // each a name and the words after it
  std::vector<Parameter> parameters;
  bool variadic = false;
  bool since_mpi4 = false;

  bool by_hand() const;               // its wrapper is handwritten
  std::string short_name() const;     // "Isend", "X_Bcast_init": its place among the next functions
  bool asks(const char* word) const;  // whether a rule uses this parameter
};

// Whether a rule follows requests or messages, and so also runs while measuring is paused.
bool is_follower(const std::string& rule);

// Whether a rule runs before the call, not after it has succeeded.
bool is_before(const std::string& rule);

// A rule as a call in C++: before_ and after_ rules by their own name, others as follow_<rule> or
// count_<rule>. The words after the rule's name are its arguments.
std::string called(std::vector<std::string> rule);

// All functions of the tables in that folder. Throws std::runtime_error with file and row.
std::vector<Function> read_table(const std::string& folder);

// Names of the functions that this mpi.h and the headers included from its folder declare. Throws
// std::runtime_error if it cannot be read.
std::set<std::string> declared_functions(const std::string& header);

}  // namespace perfield::generate
