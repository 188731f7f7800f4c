// SPDX-License-Identifier: BSD-3-Clause
//
// table.hpp - the rows of table/*.table (see table/README.md) as MPI functions, each with the
// forms that its row asks for. What writes wrappers for a language starts from here.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace perfield::generate {

// `const int recvcounts[] @root`
struct Parameter {
  std::string type;   // "const int"
  std::string name;   // "recvcounts"
  std::string array;  // "[]" or nothing
  std::string mark;   // "root", "out", "inout" or nothing

  std::string declaration() const;  // as it stands in a parameter list of C
  bool is_handle() const;           // of an MPI object, handed over by value
};

struct Function {
  std::string name;                             // "MPI_Isend"
  std::string call;                             // what it counts as: "isend"
  std::vector<std::vector<std::string>> rules;  // each a name and the words after it
  std::vector<Parameter> parameters;
  bool variadic = false;
  bool since_mpi4 = false;

  bool by_hand() const;               // its wrapper is not to be written
  std::string short_name() const;     // "Isend": its place among the next functions
  bool asks(const char* word) const;  // whether a rule is given this parameter
};

// Whether a rule keeps track of requests or messages, and so runs also while nothing is measured.
bool is_follower(const std::string& rule);

// All functions of the tables in that folder. Throws std::runtime_error, naming file and row.
std::vector<Function> read_table(const std::string& folder);

// Names of the functions that this mpi.h declares, with the headers beside it that it includes.
// Throws std::runtime_error if it cannot be read.
std::set<std::string> declared_functions(const std::string& header);

}  // namespace perfield::generate
