// SPDX-License-Identifier: BSD-3-Clause
//
// run_directory.cpp - see run_directory.hpp. Prepares a directory under a temporary name beside the
// wanted one and renames it. rename(2) refuses to replace a directory that holds something, so one
// of all racing ranks wins; the others find its run.json and join. The owner of the prepared
// directory is the one that this process's files get there: on a network file system that squashes
// or maps users, that is not the process's user.
#include "run_directory/run_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "format/decode.hpp"
#include "format/decode_file.hpp"
#include "platform/clock.hpp"
#include "platform/guarded.hpp"
#include "platform/kernel_calls.hpp"
#include "platform/quietly.hpp"
#include "platform/regular_file.hpp"
#include "run_directory/job.hpp"
#include "run_directory/run_json.hpp"

namespace perfield {
namespace {

constexpr int64_t kTokenLifetimeNs = 3600LL * 1000000000;  // then a launcher's numbers may repeat
constexpr int kMostNames = 10000;
// How long a rank sleeps for the first one of its node, which may never start or not be measured:
// long for a claim, short for a program's start. Time without the processor does not count.
constexpr int64_t kPatienceNs = 3 * 1000000000LL;
constexpr int64_t kShortestPauseNs = 200 * 1000, kLongestPauseNs = 50 * 1000 * 1000;
const char* const kRooms[] = {"stream", "mesh", "machine"};

uint64_t random_number() {
  uint64_t number = 0;
  if (!try_random(&number, sizeof number))
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
  if (realpath(path.c_str(), found)) return found;
  if (path[0] == '/' || !realpath(".", found)) return path;
  return std::string(found) + "/" + path;
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

bool write_file(int directory, const char* name, const std::string& text, mode_t mode) {
  const int file =
      openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  return file >= 0 && write_and_close(file, text);
}

// A directory of perfield's under a temporary name, first empty, then complete; deleted on
// destruction unless renamed.
class Prepared {
 public:
  // readers: a mode that leaves out who must not read it; the umask leaves out more.
  Prepared(const std::string& parent, mode_t readers)
      : readers_(readers),
        path_(parent + "/.perfield-" + stream_stem() + "-" + std::to_string(getpid()) + "-" +
              hex16(random_number())) {}
  ~Prepared() {
    if (directory_ >= 0) {
      unlinkat(directory_, "run.json", 0);
      for (const char* room : kRooms) unlinkat(directory_, room, AT_REMOVEDIR);
      close(directory_);
    }
    if (made_) rmdir(path_.c_str());
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  // Makes it, empty. False (errno) if that is not possible here.
  bool make() {
    if (!made_ && mkdir(path_.c_str(), 0777 & readers_) != 0) return false;
    made_ = true;
    struct stat facts {};
    if (directory_ < 0)
      directory_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory_ < 0 || fstat(directory_, &facts) != 0) return false;
    owner_ = facts.st_uid;
    return true;
  }
  bool complete(const std::string& json) {
    bool good = make();
    if (complete_) return good;
    for (const char* room : kRooms) good = good && mkdirat(directory_, room, 0777 & readers_) == 0;
    complete_ = good && write_file(directory_, "run.json", json, 0666 & readers_);
    return complete_;
  }
  bool rename_onto(const std::string& name) {
    if (rename(path_.c_str(), name.c_str()) != 0) return false;
    made_ = false;
    close(directory_);
    directory_ = -1;
    return true;
  }
  // Of what this process makes here; its own user if it could make nothing.
  uid_t owner() const { return directory_ < 0 ? geteuid() : owner_; }

 private:
  const mode_t readers_;
  std::string path_;
  bool made_ = false, complete_ = false;
  int directory_ = -1;
  uid_t owner_ = 0;
};

// What lies under a name. Follows no symbolic link.
struct Found {
  bool anything = false;
  uid_t owner = 0;        // of a directory
  bool readable = false;  // it holds a run.json of perfield
  int reason = 0;         // why it or its run.json could not be opened
  RunFacts facts;
};

Found look_at(const std::string& path) {
  Found found;
  const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat facts {};
  if (directory < 0) {
    found.reason = errno;
    if (errno == ENOENT) return found;  // even if another rank has claimed it since
    found.anything = lstat(path.c_str(), &facts) == 0;
    found.owner = facts.st_uid;
    return found;
  }
  found.anything = true;
  if (fstat(directory, &facts) == 0) found.owner = facts.st_uid;
  const int file =
      openat(directory, "run.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) {
    found.reason = errno;
  } else {
    found.readable =
        fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && read_run_facts(file, &found.facts);
    close(file);
  }
  close(directory);
  return found;
}

// Whether a rank of this node has left entries in a run. Ranks do so early, thus near the
// beginning.
bool has_entries_of(const std::string& run, int rank, uint64_t run_id) {
  constexpr uint64_t kBeginning = uint64_t{1} << 20;
  const std::string path = run + "/stream/" + stream_stem() + ".pf";
  struct stat facts {};
  if (rank < 0 || lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  StreamFile file(path);
  bool found = false;
  if (file.opened())
    scan_entries(file, 0, std::min(file.size(), kBeginning), run_id,
                 [&](const EntryHeader& header, uint64_t, const unsigned char*, const StepView*) {
                   found = found || header.rank == rank;
                 });
  return found;
}

std::string of_another_user(uid_t owner) {
  return "belongs to another user (number " + std::to_string(owner) + ")";
}

std::string refusal(const std::string& path, int reason) {
  const std::string cannot = "cannot make the run directory " + path + ": " + std::strerror(reason);
  if (reason == ENOSPC || reason == EDQUOT)
    return cannot + "; free some space there, or set run_directory to another place";
  return cannot + "; set run_directory (or PERFIELD_RUN_DIRECTORY) to a place that can be written";
}

// Whether this process's own files get the owner of a directory found in `parent`.
bool is_ours(const std::string& parent, const Found& found) {
  if (found.owner == geteuid()) return true;
  Prepared probe(parent, 0700);
  return probe.make() && found.owner == probe.owner();
}

// False if the path is the run that spawned this one.
bool join_named(const std::string& path, RunDirectory* joined) {
  RunDirectory& run = *joined;
  run.path = absolute(path);
  const Found found = look_at(run.path);
  if (!found.readable && found.reason && found.reason != ENOENT) {
    run.error =
        "PERFIELD_RUN is " + path + ", which cannot be read (" + std::strerror(found.reason) + ")";
    return true;
  }
  if (!found.readable) {
    run.error = "PERFIELD_RUN is " + path +
                ", which holds no run.json of perfield; unset PERFIELD_RUN to make a new run";
    return true;
  }
  if (!is_ours(folder_of(run.path), found)) {
    run.error = "PERFIELD_RUN is " + path + ", which " + of_another_user(found.owner) +
                " and is left alone; unset PERFIELD_RUN to make a new run";
    return true;
  }
  run.run_id = found.facts.run_id;
  guard_directory(run.path, found.owner);
  return is_of_this_world(found.facts.token);
}

// Claims or joins a directory for one process.
class Claim {
 public:
  Claim(const std::string& wanted, bool is_private, const std::vector<std::string>& command,
        const std::string& trace)
      : wanted_(wanted),
        private_(is_private),
        command_(command),
        trace_(trace),
        token_(job_token()) {
    int size = 0;
    if (!rank_from_environment(&rank_, &size)) rank_ = -1;
    own_.token = token_.text;
    own_.start_ns = realtime_ns();
    own_.run_id = from_hex16(token_.text);
    if (own_.run_id == 0) own_.run_id = random_number();
  }

  RunDirectory run() {
    RunDirectory run;
    run.error = token_.question;
    if (!run.error.empty()) return run;
    const bool others_claim = !token_.text.empty() && local_rank() > 0 && !speaks_for_node();
    if (!others_claim || !wait_for_others(&run)) claim_or_join(&run);
    return run;
  }

 private:
  void locate() {
    parent_ = absolute(folder_of(wanted_));
    first_ = (parent_ == "/" ? "" : parent_) + "/" + wanted_.substr(wanted_.rfind('/') + 1);
  }

  std::string name(int n) const { return first_ + (n == 1 ? "" : "-" + std::to_string(n)); }

  // A launcher's numbers may repeat, and soon where each job has process ids of its own. A launch
  // has each rank once, so a run that holds this rank is of an earlier one.
  bool is_of_this_job(const std::string& path, const Found& found) const {
    const bool fresh = own_.start_ns - found.facts.start_ns < kTokenLifetimeNs;
    return found.readable && !token_.text.empty() && found.facts.token == token_.text &&
           (fresh || !token_.by_launcher) && !has_entries_of(path, rank_, found.facts.run_id);
  }

  void join(const std::string& path, uint64_t run_id, uid_t owner, RunDirectory* run) {
    run->path = absolute(path);  // a rank that waited knew it before its parents were made
    run->run_id = run_id;
    guard_directory(run->path, owner);
  }

  // Looks for a directory that the first rank of this node, or of any node, has claimed, at growing
  // intervals. Makes nothing, unless a directory has another owner than this process. Names that
  // others have are looked at once: what lies there does not change.
  bool wait_for_others(RunDirectory* run) {
    locate();
    int64_t slept_ns = 0, pause_ns = kShortestPauseNs;
    for (int n = 1; n <= kMostNames;) {
      const Found found = look_at(name(n));
      if (is_of_this_job(name(n), found) && is_ours(parent_, found)) {
        join(name(n), found.facts.run_id, found.owner, run);
        run->first_of_node = false;
        return true;
      }
      if (found.anything) {
        ++n;
        continue;
      }
      if (slept_ns > kPatienceNs) return false;
      const timespec pause = {0, pause_ns};
      nanosleep(&pause, nullptr);
      slept_ns += pause_ns;
      pause_ns = std::min(2 * pause_ns, kLongestPauseNs);
    }
    return false;
  }

  void claim_or_join(RunDirectory* result) {
    RunDirectory& run = *result;
    if (const int reason = make_parents(wanted_)) {
      run.error = refusal(wanted_, reason);
      return;
    }
    locate();
    Prepared prepared(parent_, private_ ? 0700 : 0777);
    prepared.make();          // a failure counts only where there is nothing to join
    int attempts_left = 100;  // in case others keep taking and freeing names
    std::string taken = " exists";
    for (int n = 1; n <= kMostNames;) {
      const Found found = look_at(name(n));
      if (found.anything) {
        const bool ours = found.owner == prepared.owner();
        if (ours && is_of_this_job(name(n), found))
          return join(name(n), found.facts.run_id, found.owner, &run);
        if (n == 1 && !ours) taken = " " + of_another_user(found.owner);
        ++n;
        continue;
      }
      if (!prepared.complete(
              run_json(own_, command_, relative_path(name(n), absolute(".")), trace_))) {
        run.error = refusal(name(n), errno);
        return;
      }
      const uid_t owner = prepared.owner();
      if (prepared.rename_onto(name(n))) {
        join(name(n), own_.run_id, owner, &run);
        run.claimed = true;
        if (n > 1) run.notice = wanted_ + taken + "; using " + wanted_ + "-" + std::to_string(n);
        return;
      }
      const bool lost = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
      if (!lost || --attempts_left == 0) {
        run.error = refusal(name(n), errno);
        return;
      }
    }
    run.error = wanted_ + " and " + std::to_string(kMostNames) +
                " names after it are taken; remove old runs, or set run_directory to another name";
  }

  const std::string wanted_;
  const bool private_;
  const std::vector<std::string>& command_;
  const std::string& trace_;
  const JobToken token_;
  std::string parent_, first_;  // absolute
  RunFacts own_;
  int rank_ = -1;
};

}  // namespace

std::string why_not_ours(const std::string& run) {
  const Found found = look_at(run);
  return is_ours(folder_of(run), found) ? "" : of_another_user(found.owner);
}

RunDirectory open_run_directory(const Config& config, const std::vector<std::string>& command,
                                const std::string& trace) {
  try {
    const char* named = std::getenv("PERFIELD_RUN");
    RunDirectory joined;
    if (named && *named && join_named(named, &joined)) return joined;
    std::string wanted = config.run_directory;
    while (wanted.size() > 1 && wanted.back() == '/') wanted.pop_back();
    return Claim(wanted, config.private_run, command, trace).run();
  } catch (const std::exception& error) {
    RunDirectory run;
    run.error = std::string("cannot make the run directory: ") + error.what();
    return run;
  }
}

}  // namespace perfield
