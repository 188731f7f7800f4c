// SPDX-License-Identifier: BSD-3-Clause
//
// run_directory.cpp - see run_directory.hpp. Prepares a directory under a temporary name beside the
// wanted one and renames it. rename(2) refuses to replace a directory that holds something, so one
// of all racing ranks wins; the others find its run.json and join.
#include "run_directory/run_directory.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "configuration/toml.hpp"
#include "run_directory/job.hpp"
#include "run_directory/run_json.hpp"

namespace perfield {
namespace {

constexpr int64_t kTokenLifetimeNs = 3600LL * 1000000000;  // then a launcher's numbers may repeat
constexpr int kMostNames = 10000;
const char* const kRooms[] = {"stream", "mesh", "machine"};

int64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

uint64_t random_number() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<uint64_t>(realtime_ns()) * 0x9E3779B97F4A7C15u ^
             static_cast<uint64_t>(getpid());
  return number ? number : 1;
}

bool exists(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0;
}

std::string absolute(const std::string& path) {
  char found[PATH_MAX];
  return realpath(path.c_str(), found) ? found : path;
}

// The path from one absolute directory to another; both without symbolic links.
std::string relative_path(const std::string& from, const std::string& to) {
  if (from == to) return ".";
  const std::string a = from == "/" ? from : from + "/", b = to == "/" ? to : to + "/";
  size_t common = 0;  // just after the last slash of the common part
  for (size_t i = 0; i < a.size() && i < b.size() && a[i] == b[i]; ++i)
    if (a[i] == '/') common = i + 1;
  std::string path;
  for (size_t i = common; i < a.size(); ++i)
    if (a[i] == '/') path += "../";
  path += b.substr(common);
  path.pop_back();
  return path;
}

// Makes the directories above `path`; returns 0, or errno of the first that fails.
int make_parents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (mkdir(parent.c_str(), 0777) == 0) continue;
    const int reason = errno;
    if (!exists(parent)) return reason;
  }
  return 0;
}

bool write_file(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const ssize_t written = write(file, text.data(), text.size());
  if (written >= 0 && written < static_cast<ssize_t>(text.size())) errno = ENOSPC;
  const bool good = written == static_cast<ssize_t>(text.size());
  const int reason = errno;
  const bool closed = close(file) == 0;  // network file systems report a full disk here
  if (!good) errno = reason;
  return good && closed;
}

// A complete directory under a temporary name; deletes it on destruction unless renamed.
class Prepared {
 public:
  explicit Prepared(const std::string& parent)
      : path_(parent + "/.perfield-" + stream_stem() + "-" + std::to_string(getpid()) + "-" +
              hex16(random_number())) {}
  ~Prepared() {
    if (!made_) return;
    unlink((path_ + "/run.json").c_str());
    for (const char* room : kRooms) rmdir((path_ + "/" + room).c_str());
    rmdir(path_.c_str());
  }
  bool made() const { return made_; }
  bool make(const std::string& json) {
    made_ = mkdir(path_.c_str(), 0777) == 0;
    bool good = made_;
    for (const char* room : kRooms) good = good && mkdir((path_ + "/" + room).c_str(), 0777) == 0;
    return good && write_file(path_ + "/run.json", json);
  }
  bool rename_onto(const std::string& name) {
    if (rename(path_.c_str(), name.c_str()) != 0) return false;
    made_ = false;
    return true;
  }

 private:
  std::string path_;
  bool made_ = false;
};

std::string refusal(const std::string& path, int reason) {
  const std::string cannot = "cannot make the run directory " + path + ": " + std::strerror(reason);
  if (reason == ENOSPC || reason == EDQUOT)
    return cannot + "; free some space there, or set run_directory to another place";
  return cannot + "; set run_directory (or PERFIELD_RUN_DIRECTORY) to a place that can be written";
}

// False if the path is the run that spawned this one.
bool join_as_told(const std::string& path, RunDirectory* joined) {
  RunDirectory& run = *joined;
  RunFacts facts;
  run.path = absolute(path);
  if (read_run_facts(run.path, &facts)) {
    run.run_id = facts.run_id;
    return is_of_this_world(facts.token);
  }
  run.error = "PERFIELD_RUN is " + path +
              ", which holds no run.json of perfield; unset PERFIELD_RUN to make a new run";
  return true;
}

RunDirectory claim_or_join(const std::string& wanted, const std::vector<std::string>& command) {
  RunDirectory run;
  const JobToken token = job_token();
  if (const int reason = make_parents(wanted)) {
    run.error = refusal(wanted, reason);
    return run;
  }
  const size_t slash = wanted.rfind('/');
  const std::string parent = absolute(slash == std::string::npos ? "."
                                      : slash == 0               ? "/"
                                                                 : wanted.substr(0, slash));
  const std::string first = (parent == "/" ? "" : parent) + "/" + wanted.substr(slash + 1);

  RunFacts own;
  own.token = token.text;
  own.start_ns = realtime_ns();
  own.run_id = from_hex16(token.text);
  if (own.run_id == 0) own.run_id = random_number();

  Prepared prepared(parent);
  int attempts_left = 100;  // in case others keep taking and freeing names
  for (int n = 1; n <= kMostNames;) {
    const std::string suffix = n == 1 ? "" : "-" + std::to_string(n);
    run.path = first + suffix;
    // Checked before reading: if it exists now and is ours, it already has its run.json. Checking
    // after reading would take a directory that a sibling rank makes in between for a stranger's.
    if (exists(run.path)) {
      RunFacts theirs;
      if (read_run_facts(run.path, &theirs)) {
        const bool fresh = own.start_ns - theirs.start_ns < kTokenLifetimeNs;
        if (!token.text.empty() && theirs.token == token.text && (fresh || !token.by_launcher)) {
          run.run_id = theirs.run_id;
          return run;
        }
      }
      ++n;
    } else {
      if (!prepared.made() &&
          !prepared.make(run_json(own, command, relative_path(run.path, absolute("."))))) {
        run.error = refusal(run.path, errno);
        return run;
      }
      if (prepared.rename_onto(run.path)) {
        run.run_id = own.run_id;
        if (n > 1) run.notice = wanted + " exists; using " + wanted + suffix;
        return run;
      }
      const bool taken = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
      if (!taken || --attempts_left == 0) {
        run.error = refusal(run.path, errno);
        return run;
      }
    }
  }
  run.error = wanted + " and " + std::to_string(kMostNames) +
              " names after it are taken; remove old runs, or set run_directory to another name";
  return run;
}

}  // namespace

RunDirectory open_run_directory(const Config& config, const std::vector<std::string>& command) {
  try {
    const char* told = std::getenv("PERFIELD_RUN");
    RunDirectory joined;
    if (told && *told && join_as_told(told, &joined)) return joined;
    std::string wanted = config.run_directory;
    while (wanted.size() > 1 && wanted.back() == '/') wanted.pop_back();
    return claim_or_join(wanted, command);
  } catch (const std::exception& error) {
    RunDirectory run;
    run.error = std::string("cannot make the run directory: ") + error.what();
    return run;
  }
}

}  // namespace perfield
