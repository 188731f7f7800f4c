// SPDX-License-Identifier: BSD-3-Clause
//
// main.cpp - generate --mpi-header MPI_H --table DIRECTORY --out DIRECTORY: writes the wrappers of
// MPI's functions from the rows of the table. CMake runs it during the build with the mpi.h of the
// MPI that the library is for. Without a header it only writes the kind of call of each function.
// In C++, so that building what runs in measured programs needs no Python.
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "c_wrappers.hpp"
#include "call_kinds.hpp"
#include "fortran_wrappers.hpp"
#include "table.hpp"
#include "text.hpp"

namespace {

using namespace perfield::generate;

void write_wrappers(const std::string& header, const std::string& table, const std::string& out) {
  const std::set<std::string> declared = declared_functions(header);
  std::vector<Function> functions;
  for (const Function& function : read_table(table))
    if (declared.count(function.name)) functions.push_back(function);
  write_file(out + "/next.hpp", next_functions(functions));
  write_file(out + "/mpi3.map", names_of_mpi3(functions));
  write_file(out + "/wrappers.cpp", c_wrappers(functions));
  write_file(out + "/fortran_names.hpp", fortran_names(functions));
  write_file(out + "/fortran_mpifh.cpp", mpifh_wrappers(functions));
  write_file(out + "/fortran_f08.cpp", f08_wrappers(functions));
}

}  // namespace

int main(int n_arguments, char** arguments) {
  std::map<std::string, std::string> given;
  for (int i = 1; i + 1 < n_arguments; i += 2) given[arguments[i]] = arguments[i + 1];
  const bool has_header = given.count("--mpi-header");
  if (n_arguments != (has_header ? 7 : 5) || !given.count("--table") || !given.count("--out")) {
    std::fprintf(stderr, "usage: %s [--mpi-header MPI_H] --table DIRECTORY --out DIRECTORY\n",
                 arguments[0]);
    return 2;
  }
  try {
    if (has_header)
      write_wrappers(given["--mpi-header"], given["--table"], given["--out"]);
    else
      write_file(given["--out"] + "/call_kinds.def", call_kinds(read_table(given["--table"])));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
  return 0;
}
