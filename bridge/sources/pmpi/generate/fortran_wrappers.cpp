// SPDX-License-Identifier: BSD-3-Clause
//
// fortran_wrappers.cpp - see fortran_wrappers.hpp. No header says which of these symbols an MPI
// has, so it writes all; those that the program's MPI lacks are never called.
#include "fortran_wrappers.hpp"

#include "text.hpp"

namespace perfield::generate {
namespace {

struct Symbol {
  std::string name;     // "mpi_isend_f08_"
  std::string binding;  // of fortran.hpp
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

bool has(const Function& function, bool (*property)(const Parameter&)) {
  for (const Parameter& parameter : function.parameters)
    if (property(parameter)) return true;
  return false;
}
bool is_choice(const Parameter& parameter) { return contains(parameter.type, "void"); }
bool is_c_pointer(const Parameter& parameter) { return parameter.name == "baseptr"; }

// The large-count form is MPI_Isend_c in C, and a second mpi_f08 function in Fortran.
bool is_large(const Function& function) {
  const std::string& name = function.name;
  return name.size() > 2 && name.compare(name.size() - 2, 2, "_c") == 0;
}

std::vector<Symbol> mpifh_symbols(const Function& function) {
  if (is_large(function)) return {};
  const std::string name = lower(function.name);
  if (has(function, is_c_pointer)) return {{name + "_", "mpifh"}, {name + "_cptr_", "mpifh"}};
  return {{name + "_", "mpifh"}};
}

std::vector<Symbol> f08_symbols(const Function& function) {
  std::string name = lower(function.name), end = "_";
  if (is_large(function)) {
    name.resize(name.size() - 2);
    end = "_large_";
  }
  std::vector<Symbol> symbols = {{name + "_f08" + end, "f08"}};
  if (has(function, is_choice)) symbols.push_back({name + "_f08ts" + end, "f08ts"});
  return symbols;
}

// The C type without const, surrounding blanks and pointer marks.
std::string bare(const Parameter& parameter) {
  std::string type = parameter.type;
  if (starts_with(type, "const ")) type.erase(0, sizeof "const " - 1);
  return trimmed(type.substr(0, type.find('*')));
}

bool is_text(const Parameter& parameter) { return bare(parameter) == "char"; }
bool is_pointer(const Parameter& parameter) { return contains(parameter.type, "*"); }
bool is_value(const Parameter& parameter) {
  return !is_pointer(parameter) && parameter.array.empty();
}
// True for the few functions that return yes or no as an integer.
bool is_logical(const Parameter& parameter) {
  return is_pointer(parameter) && parameter.name == "flag";
}

std::string type_in_fortran(const Parameter& parameter) {
  const std::string type = bare(parameter);
  if (type == "void" || type == "char") return type;
  if (type == "MPI_Status") return "FortranStatus";
  if (is_logical(parameter)) return "FortranLogical";
  const bool is_constant = is_value(parameter) || starts_with(parameter.type, "const ");
  if (type == "int") return is_constant ? "const MPI_Fint" : "MPI_Fint";
  if (type == "MPI_Count" || type == "MPI_Aint" || type == "MPI_Offset")
    return is_constant ? "const " + type : type;
  return "Fortran<" + type + ">";
}

// A word of a rule as C++: a parameter's name becomes its value, any other word stays.
std::string in_rule(const Function& function, const std::string& word, const std::string& binding) {
  for (const Parameter& parameter : function.parameters) {
    if (parameter.name != word) continue;
    if (is_choice(parameter)) return "buffer<Binding::" + binding + ">(" + word + ")";
    if (is_pointer(parameter)) return "held<" + bare(parameter) + ">(*" + word + ")";
    return is_value(parameter) ? word + "_given" : word;
  }
  return word;
}

// Whether a rule takes the parameter by value. The wrapper reads it before the call, because many
// programs pass part of the status that the call fills: the previous message's source.
bool is_kept(const Function& function, const Parameter& parameter) {
  return is_value(parameter) && function.asks(parameter.name.c_str());
}

std::string wrapper(const Function& function, const Symbol& symbol) {
  std::vector<std::string> parameters, arguments, lengths;
  for (const Parameter& parameter : function.parameters) {
    parameters.push_back(type_in_fortran(parameter) + "* " + parameter.name);
    arguments.push_back(parameter.name);
    // The lengths of text arguments follow all arguments.
    if (is_text(parameter)) lengths.push_back("length_of_" + parameter.name);
  }
  parameters.push_back("MPI_Fint* ierror");
  arguments.push_back("ierror");
  for (const std::string& length : lengths) {
    parameters.push_back("size_t " + length);
    arguments.push_back(length);
  }
  std::string text = "PERFIELD_FORTRAN " + symbol.name + "(" + joined(parameters, ", ") + ") {\n";
  text += "  FortranCall call(PERFIELD_CALL_" + function.call + ", ierror);\n";
  if (function.asks("status"))
    text += "  FortranStatus own;\n  status = own_if_ignored<Binding::" + symbol.binding +
            ">(status, &own);\n";
  for (const std::vector<std::string>& rule : function.rules)
    if (rule[0] == "take")
      text +=
          "  Pending taken = take_message(" + in_rule(function, rule[1], symbol.binding) + ");\n";
  for (const Parameter& parameter : function.parameters)
    if (is_kept(function, parameter))
      text += "  const auto " + parameter.name + "_given = *" + parameter.name + ";\n";
  const auto with_values = [&](std::vector<std::string> rule) {
    for (size_t i = 1; i < rule.size(); ++i) rule[i] = in_rule(function, rule[i], symbol.binding);
    return called(rule);
  };
  for (const std::vector<std::string>& rule : function.rules)
    if (is_before(rule[0])) text += "  " + with_values(rule) + ";\n";
  text += "  PERFIELD_NEXT(" + symbol.name + ")(" + joined(arguments, ", ") + ");\n";
  for (const std::vector<std::string>& rule : function.rules) {
    if (rule[0] == "time" || rule[0] == "take" || is_before(rule[0])) continue;
    text += std::string("  if (call.") + (is_follower(rule[0]) ? "follows" : "counts") +
            "(*ierror)) " + with_values(rule) + ";\n";
  }
  return text + "}\n";
}

std::string wrappers(const std::vector<Function>& functions,
                     std::vector<Symbol> (*symbols_of)(const Function&), bool with_alias) {
  std::string text =
      "// Generated from table/*.table: the regular wrappers of Fortran functions.\n"
      "#include \"fortran.hpp\"\n"
      "#include \"rules.hpp\"\n"
      "\n"
      "using namespace perfield::pmpi;\n";
  for (const Function& function : functions) {
    if (function.by_hand()) continue;
    const std::vector<Symbol> symbols = symbols_of(function);
    for (const Symbol& symbol : symbols) text += "\n" + wrapper(function, symbol);
    if (with_alias && !symbols.empty()) text += "PERFIELD_ALIAS(" + lower(function.name) + ")\n";
  }
  return text;
}

}  // namespace

std::string fortran_names(const std::vector<Function>& functions) {
  std::vector<std::string> names;
  for (const Function& function : functions)
    for (const auto& symbols : {mpifh_symbols(function), f08_symbols(function)})
      for (const Symbol& symbol : symbols) names.push_back("  X(" + symbol.name + ")");
  return "// Generated from table/*.table: the Fortran functions that the wrappers call on.\n"
         "#pragma once\n"
         "\n"
         "#define PERFIELD_FORTRAN_NAMES(X) \\\n" +
         joined(names, " \\\n") + "\n";
}

std::string mpifh_wrappers(const std::vector<Function>& functions) {
  return wrappers(functions, mpifh_symbols, true);
}

std::string f08_wrappers(const std::vector<Function>& functions) {
  return wrappers(functions, f08_symbols, false);
}

}  // namespace perfield::generate
