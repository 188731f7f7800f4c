// SPDX-License-Identifier: BSD-3-Clause
//
// table.cpp - see table.hpp. A row is a line without indentation and the indented lines below it.
// Empty lines and lines that begin with # are ignored.
#include "table.hpp"

#include <glob.h>

#include <regex>
#include <stdexcept>

#include "text.hpp"

namespace perfield::generate {
namespace {

Parameter read_parameter(const std::string& text) {
  static const std::regex form(R"(([^]*?)(\w+)(\[\])?(?:\s+@(root|out|inout))?)");
  std::smatch match;
  if (!std::regex_match(text, match, form) || trimmed(match[1]).empty())
    throw std::runtime_error("'" + text +
                             "' is not a parameter; expected a type, a name and optionally a mark "
                             "(@root, @out or @inout)");
  return {trimmed(match[1]), match[2], match[3], match[4]};
}

// The parameter in the large-count form of its function.
Parameter large(Parameter parameter) {
  static const std::regex counts(R"(counts?(\[\])?$)"), addresses(R"((displs\[\]|disp_unit)$)"),
      integer(R"(\bint\b)");
  const std::string name = parameter.name + parameter.array;
  if (std::regex_search(name, counts))
    parameter.type = std::regex_replace(parameter.type, integer, "MPI_Count");
  else if (std::regex_search(name, addresses))
    parameter.type = std::regex_replace(parameter.type, integer, "MPI_Aint");
  return parameter;
}

// The function and the forms that its flags request: non-blocking, persistent, large counts.
std::vector<Function> forms(const Function& function, const std::set<std::string>& flags) {
  const Parameter info{"MPI_Info", "info", "", ""}, request{"MPI_Request *", "request", "", "out"};
  std::vector<Function> found = {function};
  Function extension;
  if (flags.count("+i")) {
    Function form = function;
    std::string name = function.short_name();
    name[0] = static_cast<char>(std::tolower(name[0]));
    form.name = "MPI_I" + name;
    form.call = "i" + function.call;
    form.parameters.push_back(request);
    for (std::vector<std::string>& rule : form.rules) {
      if (rule[0] != "send" && rule[0] != "collective") continue;
      rule[0] = "i" + rule[0];
      rule.push_back("request");
    }
    found.push_back(form);
  }
  if (flags.count("+init")) {
    Function form = function;
    form.name += "_init";
    form.call = "persistent_collective";
    form.rules = {{"time"}};
    form.parameters.insert(form.parameters.end(), {info, request});
    form.since_mpi4 = true;
    found.push_back(form);
    extension = form;  // what Open MPI 4 offers it as
    extension.name.insert(3, "X");
  }
  if (flags.count("+c")) {
    std::vector<Function> larger = found;
    for (Function& form : larger) {
      form.name += "_c";
      form.since_mpi4 = true;
      for (Parameter& parameter : form.parameters) parameter = large(parameter);
    }
    found.insert(found.end(), larger.begin(), larger.end());
  }
  if (!extension.name.empty()) found.push_back(extension);
  return found;
}

std::vector<Parameter> read_parameters(const std::string& body) {
  std::vector<Parameter> parameters;
  if (body == "void") return parameters;
  for (const std::string& text : split(body, ","))
    if (text != "...") parameters.push_back(read_parameter(text));
  return parameters;
}

std::vector<Function> read_row(const std::string& head, const std::string& body) {
  const size_t colon = head.find(" : ");
  if (colon == std::string::npos || body.empty())
    throw std::runtime_error("expected 'NAMES [= CALL] : RULES' and indented parameters");
  const std::string left = head.substr(0, colon);
  const size_t equals = left.find(" = ");
  std::vector<std::vector<std::string>> rules;
  for (const std::string& rule : split(head.substr(colon + 3), ";")) rules.push_back(words(rule));
  const std::vector<Parameter> parameters = read_parameters(body);
  const bool variadic = body.find("...") != std::string::npos;
  std::vector<std::string> names;
  std::set<std::string> flags;
  for (const std::string& word : words(left.substr(0, equals))) {
    if (word == "+i" || word == "+c" || word == "+init" || word == "+4")
      flags.insert(word);
    else if (starts_with(word, "MPI_"))
      names.push_back(word);
    else
      throw std::runtime_error("found '" + word + "', expected MPI_..., +i, +c, +init or +4");
  }
  std::vector<Function> found;
  for (const std::string& name : names) {
    Function function{name, "", rules, parameters, variadic, flags.count("+4") > 0};
    function.call = equals == std::string::npos ? lower(function.short_name())
                                                : trimmed(left.substr(equals + 3));
    for (const Function& form : forms(function, flags)) found.push_back(form);
  }
  return found;
}

void read_file(const std::string& path, std::vector<Function>* functions) {
  std::string head, body;
  const auto end_row = [&] {
    if (head.empty()) return;
    try {
      for (const Function& function : read_row(head, trimmed(body))) functions->push_back(function);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(path + ", row '" + head + "': " + error.what());
    }
  };
  for (const std::string& line : lines_of(path)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ') {
      body += line + "\n";
      continue;
    }
    end_row();
    head = line;
    body.clear();
  }
  end_row();
}

void find_declared(const std::string& header, std::set<std::string>* seen,
                   std::set<std::string>* names) {
  static const std::regex include(R"re(^\s*#\s*include\s*[<"]([\w./]+)[>"])re");
  static const std::regex function(R"(\b(MPIX?_\w+)\s*\()");
  if (!seen->insert(header).second) return;
  for (const std::string& line : lines_of(header)) {
    std::smatch match;
    if (std::regex_search(line, match, include)) {
      const std::string beside = header.substr(0, header.rfind('/') + 1) + match[1].str();
      if (is_file(beside)) find_declared(beside, seen, names);
    }
    for (std::sregex_iterator at(line.begin(), line.end(), function), end; at != end; ++at)
      names->insert((*at)[1]);
  }
}

}  // namespace

std::string Parameter::declaration() const {
  return type + (type.back() == '*' ? "" : " ") + name + array;
}

bool Parameter::is_handle() const {
  static const std::regex handle(
      "MPI_(Comm|Datatype|Errhandler|File|Group|Info|Message|Op|Request|Session|Win)");
  return array.empty() && std::regex_match(type, handle);
}

bool Function::by_hand() const {
  return rules == std::vector<std::vector<std::string>>{{"by", "hand"}};
}

std::string Function::short_name() const {
  const size_t start = sizeof "MPI_" - 1;
  return starts_with(name, "MPIX_") ? "X" + name.substr(start) : name.substr(start);
}

bool Function::asks(const char* word) const {
  for (const std::vector<std::string>& rule : rules)
    for (size_t i = 1; i < rule.size(); ++i)
      if (rule[i] == word) return true;
  return false;
}

bool is_follower(const std::string& rule) {
  static const std::set<std::string> followers = {"send",
                                                  "isend",
                                                  "send_beside",
                                                  "receive",
                                                  "exchange",
                                                  "post",
                                                  "post_taken",
                                                  "match",
                                                  "match_if",
                                                  "keep_send",
                                                  "keep_receive",
                                                  "keep_parts_sent",
                                                  "keep_parts_received",
                                                  "cancel",
                                                  "collective",
                                                  "icollective",
                                                  "neighbor_allgather",
                                                  "neighbor_allgatherv",
                                                  "neighbor_alltoallv",
                                                  "neighbor_alltoallw",
                                                  "child",
                                                  "grid",
                                                  "duplicate",
                                                  "idup",
                                                  "window",
                                                  "fence",
                                                  "win_start",
                                                  "win_complete",
                                                  "win_post",
                                                  "win_wait",
                                                  "win_test"};
  return followers.count(rule) > 0 || starts_with(rule, "after_");
}

bool is_before(const std::string& rule) { return starts_with(rule, "before_"); }

std::string called(std::vector<std::string> rule) {
  const bool by_own_name = is_before(rule[0]) || starts_with(rule[0], "after_");
  const std::string start = by_own_name ? "" : is_follower(rule[0]) ? "follow_" : "count_";
  const std::string name = start + rule[0];
  rule[0] = "call";
  return name + "(" + joined(rule, ", ") + ")";
}

std::vector<Function> read_table(const std::string& folder) {
  std::vector<Function> functions;
  glob_t found{};  // sorted by name
  glob((folder + "/*.table").c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (paths.empty()) throw std::runtime_error("found no file *.table in " + folder);
  for (const std::string& path : paths) read_file(path, &functions);
  return functions;
}

std::set<std::string> declared_functions(const std::string& header) {
  std::set<std::string> seen, names;
  find_declared(header, &seen, &names);
  const std::string extensions = header.substr(0, header.rfind('/') + 1) + "mpi-ext.h";
  if (is_file(extensions)) find_declared(extensions, &seen, &names);
  return names;
}

}  // namespace perfield::generate
