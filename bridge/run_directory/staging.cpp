// SPDX-License-Identifier: BSD-3-Clause
//
// staging.cpp - see staging.hpp. <stage>/perfield-<run id>-<name> holds stream.pf and mesh.pf. Its
// writers share a lock on stream.pf; whoever gets that lock alone collects. rename(2) makes each
// collected file appear in the run directory at once. A rank that starts later opens a directory
// with the next number. Until all is collected, the note stream/.staged-<name> in the run directory
// says where the files lie.
#include "run_directory/staging.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "format/entry.hpp"
#include "platform/guarded.hpp"
#include "platform/open_file.hpp"
#include "platform/quietly.hpp"
#include "run_directory/draft.hpp"
#include "run_directory/run_directory.hpp"
#include "run_directory/run_json.hpp"
#include "run_directory/staging_note.hpp"

namespace perfield {
namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string collected_path(const std::string& run, const char* room, const std::string& name) {
  return run + "/" + room + "/" + name + ".pf";
}

// "/perfield-<run id>-<name>": the last part of the path of a node's staged files.
std::string staged_name(uint64_t run_id, const std::string& name) {
  return "/perfield-" + hex16(run_id) + "-" + name;
}

// Whether the open file still has that name.
bool still_there(int file, const std::string& path) {
  struct stat open_one {
  }, named{};
  return fstat(file, &open_one) == 0 && stat(path.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// Under a name that no reader looks at.
std::string draft_of(std::string collected) {
  collected.insert(collected.rfind('/') + 1, ".collecting-").resize(collected.size() - 3);  // .pf
  return collected;
}

// The staged files of a node, in their open directory. What others may have put there, or at the
// place that a note names, is not opened: the directory must be named for the run, belong to this
// user and be closed to other writers, and its files must be this user's streams of the run.
class StagedFiles {
 public:
  // Throws std::runtime_error if it may not be opened.
  StagedFiles(const std::string& path, uint64_t run_id, const std::string& name)
      : path_(path), run_id_(run_id), directory_(open_it(path, staged_name(run_id, name))) {}

  const std::string& path() const { return path_; }
  // -1 if there is none. Throws std::runtime_error for a file that is not this user's, or no stream
  // of the run.
  int open_file(const char* file) const {
    const int found = openat(directory_.number(), file,
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (found < 0 && errno == ENOENT) return -1;
    if (found < 0) fail("cannot read " + path_ + "/" + file);
    struct stat facts {};
    if (fstat(found, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
        begins_as_stream(found, facts.st_size))
      return found;
    close(found);
    throw std::runtime_error(path_ + "/" + file + " is not a stream of this run and this user");
  }
  void remove() const {
    unlinkat(directory_.number(), "mesh.pf", 0);
    unlinkat(directory_.number(), "stream.pf", 0);
    rmdir(path_.c_str());
  }

 private:
  static int open_it(const std::string& path, const std::string& last) {
    const bool named = path[0] == '/' && path.size() >= last.size() &&
                       path.compare(path.size() - last.size(), last.size(), last) == 0;
    if (!named) throw std::runtime_error(path + " is not named for this run (..." + last + ")");
    const int directory =
        open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (directory < 0) fail("cannot open " + path);
    struct stat facts {};
    if (fstat(directory, &facts) == 0 && facts.st_uid == geteuid() && !(facts.st_mode & 022))
      return directory;
    close(directory);
    throw std::runtime_error(path + " is not a directory that only this user can write");
  }

  // An empty file, one that ends in its first header, and one that has no whole entry count, too:
  // its beginning may have been cut.
  bool begins_as_stream(int file, off_t size) const {
    EntryHeader header{};
    const ssize_t got = pread(file, &header, sizeof header, 0);
    if (got < 0) return false;
    const size_t n = size_t(got), marker = sizeof header.marker;
    if (memcmp(header.marker, kMarker, std::min(n, marker)) != 0) return false;
    return n == sizeof header ? header.run_id == run_id_ : off_t(n) == size;
  }

  const std::string path_;
  const uint64_t run_id_;
  const OpenFile directory_;
};

// Returns the size of the file in bytes; 0 if it does not exist.
uint64_t move_into_place(const StagedFiles& staged, const char* name, const std::string& to) {
  const OpenFile in(staged.open_file(name));
  if (in.number() < 0) return 0;
  Draft draft(to, draft_of(to));
  if (draft.file() < 0) throw std::runtime_error(draft.refusal());
  std::vector<char> buffer(size_t{1} << 20);
  uint64_t bytes = 0;
  for (ssize_t got; (got = read(in.number(), buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read " + staged.path() + "/" + name);
    errno = ENOSPC;  // for a short write
    if (write(draft.file(), buffer.data(), size_t(got)) != got) fail("cannot write " + to);
    bytes += uint64_t(got);
  }
  // Network file systems report a full disk here.
  const bool kept = fsync(draft.file()) == 0 || errno == EINVAL;
  if (!kept || !draft.publish()) fail("cannot write " + to);
  return bytes;
}

// Moves one node's files while holding their lock alone. Returns a sentence about what was moved,
// "" if another process had done so before.
std::string move_all(const std::string& run, const std::string& name, const StagedFiles& staged) {
  HeldBack signal(SIGXFSZ);
  const std::string mesh = collected_path(run, "mesh", name);
  const std::string stream = collected_path(run, "stream", name);
  const bool is_new = !exists(stream) && exists(staged.path() + "/stream.pf");
  uint64_t bytes = 0;
  // A mesh without its stream may be of an interrupted collection, and older than the staged one.
  if (is_new || !exists(mesh)) bytes += move_into_place(staged, "mesh.pf", mesh);
  if (is_new) bytes += move_into_place(staged, "stream.pf", stream);
  staged.remove();
  unlink_guarded(note_path(run, name));
  return is_new || bytes ? name + ": " + std::to_string(bytes) + " bytes from " + staged.path()
                         : "";
}

std::string not_collected(const std::string& reason, const std::string& run,
                          const std::string& directory) {
  return reason + ", so this node's files still lie in " + directory +
         "; once that is solved, run on this node: perfield setup collect " + run;
}

// Waits for another process that collects, but not for ranks that still run: then returns false.
bool lock_alone(int file) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
  if (flock(file, LOCK_SH | LOCK_NB) != 0) return flock(file, LOCK_EX) == 0;
  flock(file, LOCK_UN);  // our shared lock may have kept an ending rank from collecting
  return flock(file, LOCK_EX | LOCK_NB) == 0;
}

void collect_one(const std::string& run, uint64_t run_id, const StagingNote& note,
                 Collection* collection) {
  const std::string stream = note.directory + "/stream.pf";
  if (!exists(note.directory)) {
    if (note.host != host_name())
      collection->elsewhere.push_back(note.host);
    else if (exists(collected_path(run, "stream", note.name)))
      unlink_guarded(note_path(run, note.name));
    else if (exists(note_path(run, note.name)))  // lost with the node's memory
      collection->trouble.push_back(stream + " does not exist any more, so its entries are lost; " +
                                    "was " + note.host + " restarted?");
    return;
  }
  try {
    const StagedFiles staged(note.directory, run_id, note.name);
    const OpenFile file(staged.open_file("stream.pf"));
    if (file.number() < 0) {  // collected
      move_all(run, note.name, staged);
    } else if (!lock_alone(file.number())) {
      collection->trouble.push_back(stream + " is in use by ranks that still run; the last of " +
                                    "them collects it, or run this again after they end");
    } else if (still_there(file.number(), stream)) {
      const std::string done = move_all(run, note.name, staged);
      if (!done.empty()) collection->done.push_back(done);
    }
  } catch (const std::exception& error) {
    collection->trouble.push_back(not_collected(error.what(), run, note.directory));
  }
}

}  // namespace

std::string NodeFiles::begin(const std::string& stage, const std::string& run,
                             uint64_t run_id) noexcept {
  try {
    run_ = run;
    run_id_ = run_id;
    stream = run + "/stream/" + stream_stem() + ".pf";
    mesh = run + "/mesh/" + stream_stem() + ".pf";
    if (stage.empty()) return "";
    char whole[PATH_MAX];
    if (!realpath(stage.c_str(), whole)) fail("it cannot be used");
    join(whole);
    stream_instead = stream;
    mesh_instead = mesh;
    stream = directory_ + "/stream.pf";
    mesh = directory_ + "/mesh.pf";
    return "";
  } catch (const std::exception& error) {
    release();
    directory_.clear();
    return "cannot stage in " + stage + " (stage): " + error.what() +
           "; writing entries directly into the run directory";
  }
}

void NodeFiles::join(const std::string& stage) {
  constexpr int kMost = 1000;  // times all ranks of the node ended before another started
  for (int n = 1; n <= kMost; ++n, release()) {
    name_ = stream_stem() + "-staged-" + std::to_string(n);
    const std::string collected = collected_path(run_, "stream", name_);
    if (exists(collected)) continue;
    directory_ = (stage == "/" ? "" : stage) + staged_name(run_id_, name_);
    struct stat facts {};
    if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) fail("cannot make " + directory_);
    const bool there = lstat(directory_.c_str(), &facts) == 0;
    if (!there && errno == ENOENT) continue;  // collected since mkdir
    if (!there || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & 022))
      throw std::runtime_error(directory_ + " is not a directory that only this user can write");
    const std::string file = directory_ + "/stream.pf";
    guard_stage(directory_, facts.st_uid);
    lock_ = open_guarded(file, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (lock_ < 0 && errno == ENOENT) continue;  // collected since then, too
    if (lock_ < 0) give_up("cannot make " + file);
    if (flock(lock_, LOCK_SH | LOCK_NB) != 0 || !still_there(lock_, file)) continue;
    if (exists(collected)) {  // just before we made the file again
      unlink_guarded(file);
      rmdir(directory_.c_str());
      continue;
    }
    if (!write_note(run_, {name_, host_name(), directory_}))
      give_up("cannot write " + note_path(run_, name_));
    return;
  }
  throw std::runtime_error("all names for this node's directory are taken");
}

// Removes what join made, unless others use it.
void NodeFiles::give_up(const std::string& what) {
  const int reason = errno;
  const std::string file = directory_ + "/stream.pf";
  struct stat facts {};
  if (lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) == 0 && still_there(lock_, file) &&
      fstat(lock_, &facts) == 0 && facts.st_size == 0)
    unlink_guarded(file);
  rmdir(directory_.c_str());
  errno = reason;
  fail(what);
}

void NodeFiles::release() noexcept {
  if (lock_ >= 0) close(lock_);
  lock_ = -1;
}

std::string NodeFiles::end(Appender& stream_file) noexcept {
  if (!staged() || !stream_file.last_writer()) return "";
  try {
    move_all(run_, name_, StagedFiles(directory_, run_id_, name_));
    return "";
  } catch (const std::exception& error) {
    return not_collected(error.what(), run_, directory_);
  }
}

Collection collect_staged(const std::string& run) {
  Collection collection;
  const std::vector<StagingNote> notes = read_notes(run);
  if (notes.empty()) return collection;
  RunFacts facts;
  // Else its owner could have this user's files of another run moved to where others read them.
  const std::string whose = why_not_ours(run);
  if (!whose.empty() || !read_run_facts(run, &facts)) {
    collection.trouble.push_back(run + " " +
                                 (whose.empty() ? "holds no run.json of perfield" : whose) +
                                 "; collect files only into runs of your own");
    return collection;
  }
  for (const StagingNote& note : notes) collect_one(run, facts.run_id, note, &collection);
  return collection;
}

}  // namespace perfield
