// SPDX-License-Identifier: BSD-3-Clause
//
// c_wrappers.cpp - see c_wrappers.hpp. ../rules.hpp defines the functions that rules become.
#include "c_wrappers.hpp"

#include "text.hpp"

namespace perfield::generate {
namespace {

// The parameters of a wrapper: handles are as wide as a pointer.
std::string wide_parameters(const Function& function) {
  std::vector<std::string> parameters;
  for (Parameter parameter : function.parameters) {
    if (parameter.is_handle()) parameter.type = "Wide<" + parameter.type + ">";
    parameters.push_back(parameter.declaration());
  }
  if (function.variadic) parameters.push_back("...");
  return "(" + joined(parameters, ", ") + ")";
}

std::string parameters_of(const Function& function) {
  std::vector<std::string> parameters;
  for (const Parameter& parameter : function.parameters)
    parameters.push_back(parameter.declaration());
  if (function.variadic) parameters.push_back("...");
  return "(" + joined(parameters, ", ") + ")";
}

std::string wrapper(const Function& function) {
  std::vector<std::string> arguments;
  for (const Parameter& parameter : function.parameters) arguments.push_back(parameter.name);
  std::string text =
      "PERFIELD_WRAPPER(" + function.name + ", " + wide_parameters(function) + ") {\n";
  text += "  Call call(PERFIELD_CALL_" + function.call + ");\n";
  if (function.asks("status"))
    text += "  MPI_Status own;\n  status = own_if_ignored(status, &own);\n";
  for (const std::vector<std::string>& rule : function.rules)
    if (rule[0] == "take") text += "  Pending taken = take_message(" + rule[1] + ");\n";
  for (std::vector<std::string> rule : function.rules)
    if (is_before(rule[0])) text += "  " + called(rule) + ";\n";
  text += "  const int result = next(call)." + function.short_name() + "(" +
          joined(arguments, ", ") + ");\n";
  for (std::vector<std::string> rule : function.rules) {
    if (rule[0] == "time" || rule[0] == "take" || is_before(rule[0])) continue;
    text += std::string("  if (call.") + (is_follower(rule[0]) ? "follows" : "counts") +
            "(result)) " + called(rule) + ";\n";
  }
  return text + "  return result;\n}\n";
}

}  // namespace

std::string next_functions(const std::vector<Function>& functions) {
  std::string members, checks;
  std::vector<std::string> names, new_names;
  for (const Function& function : functions) {
    const std::string name = function.short_name();
    if (function.since_mpi4) new_names.push_back("  X(" + function.name + ")");
    members += "  int (*" + name + ")" + wide_parameters(function) + ";\n";
    checks += "static_assert(std::is_same_v<decltype(&::" + function.name + "), int (*)" +
              parameters_of(function) + ">);\n";
    names.push_back("  X(" + name + ", " + function.name + ")");
  }
  return "// Generated from table/*.table: the functions that the wrappers call on.\n"
         "#pragma once\n"
         "#include \"mpi_header.hpp\"\n"
         "\n"
         "namespace perfield::pmpi {\n"
         "struct NextFunctions {\n" +
         members +
         "};\n"
         "// Checks that the table agrees with mpi.h.\n" +
         checks + "#define PERFIELD_NEXT_FUNCTIONS(X) \\\n" + joined(names, " \\\n") +
         "\n"
         "// Those that not every MPI has.\n"
         "#define PERFIELD_NEW_FUNCTIONS(X) \\\n" +
         joined(new_names, " \\\n") +
         "\n"
         "}  // namespace perfield::pmpi\n";
}

std::string names_of_mpi3(const std::vector<Function>& functions) {
  std::string text =
      "/* Generated from table/*.table: the functions of MPI 3 that are wrapped. */\n"
      "{\n"
      "  global:\n"
      "    perfield_behind_*;\n"
      "    mpi_*;\n"
      "    dlsym;\n";
  for (const Function& function : functions)
    if (!function.since_mpi4) text += "    " + function.name + ";\n";
  return text + "  local: *;\n};\n";
}

std::string c_wrappers(const std::vector<Function>& functions) {
  std::string text =
      "// Generated from table/*.table: the regular wrappers.\n"
      "#include \"rules.hpp\"\n"
      "\n"
      "using namespace perfield::pmpi;\n";
  for (const Function& function : functions)
    if (!function.by_hand()) text += "\n" + wrapper(function);
  return text;
}

}  // namespace perfield::generate
