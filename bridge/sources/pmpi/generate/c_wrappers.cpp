// SPDX-License-Identifier: BSD-3-Clause
//
// c_wrappers.cpp - see c_wrappers.hpp; what the rules become is declared in ../rules.hpp.
#include "c_wrappers.hpp"

#include "text.hpp"

namespace perfield::generate {
namespace {

std::string wrapper(const Function& function) {
  std::vector<std::string> parameters, arguments;
  for (const Parameter& parameter : function.parameters) {
    parameters.push_back(parameter.declaration());
    arguments.push_back(parameter.name);
  }
  std::string text = "PERFIELD_WRAPPER " + function.name + "(" + joined(parameters, ", ") + ") {\n";
  text += "  Call call(PERFIELD_CALL_" + function.call + ");\n";
  if (function.asks("status"))
    text += "  MPI_Status own;\n  status = own_if_ignored(status, &own);\n";
  for (const std::vector<std::string>& rule : function.rules)
    if (rule[0] == "take") text += "  Pending taken = take_message(" + rule[1] + ");\n";
  text += "  const int result = next()." + function.short_name() + "(" + joined(arguments, ", ") +
          ");\n";
  for (std::vector<std::string> rule : function.rules) {
    if (rule[0] == "time" || rule[0] == "take") continue;
    const bool follows = is_follower(rule[0]);
    const std::string name = (follows ? "follow_" : "count_") + rule[0];
    rule[0] = "call";
    text += std::string("  if (call.") + (follows ? "follows" : "counts") + "(result)) " + name +
            "(" + joined(rule, ", ") + ");\n";
  }
  return text + "  return result;\n}\n";
}

}  // namespace

std::string next_functions(const std::vector<Function>& functions) {
  std::string members;
  std::vector<std::string> names;
  for (const Function& function : functions) {
    const std::string name = function.short_name();
    members += "  decltype(&::MPI_" + name + ") " + name + ";\n";
    names.push_back("  X(" + name + ")");
  }
  return "// Generated from table/*.table: the functions that the wrappers call on.\n"
         "#pragma once\n"
         "#include \"mpi_header.hpp\"\n"
         "\n"
         "namespace perfield::pmpi {\n"
         "struct NextFunctions {\n" +
         members +
         "};\n"
         "#define PERFIELD_NEXT_FUNCTIONS(X) \\\n" +
         joined(names, " \\\n") +
         "\n"
         "}  // namespace perfield::pmpi\n";
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
