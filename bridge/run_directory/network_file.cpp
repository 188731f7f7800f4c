// SPDX-License-Identifier: BSD-3-Clause
//
// network_file.cpp - see network_file.hpp.
#include "run_directory/network_file.hpp"

#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "platform/open_file.hpp"
#include "platform/regular_file.hpp"
#include "run_directory/launchers.hpp"

namespace perfield {
namespace {

constexpr int kSlurmPatienceMs = 2000;
constexpr uint64_t kMostBytes = 64'000'000;
constexpr size_t kPart = 1 << 20;

const char kRemedy[] =
    "; name a file with the switches in topology_file, or set network_topology = false";

// Copies to the end, or up to `most` bytes; -1 (errno) if that fails, else the number copied.
int64_t copy_bytes(int from, int to, uint64_t most) {
  std::vector<char> part(kPart);
  uint64_t copied = 0;
  while (copied < most) {
    const ssize_t got = read(from, part.data(), std::min<uint64_t>(kPart, most - copied));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? -1 : int64_t(copied);
    for (ssize_t at = 0; at < got;) {
      const ssize_t written = write(to, part.data() + at, size_t(got - at));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return -1;
      at += written;
    }
    copied += uint64_t(got);
  }
  return int64_t(copied);
}

bool names_a_switch(const char* line) {
  while (*line == ' ' || *line == '\t') ++line;
  for (const char* key : {"switchname", "blockname", "aggregatedblock"}) {
    if (strncasecmp(line, key, strlen(key)) != 0) continue;
    line += strlen(key);
    return line[strspn(line, " \t")] == '=';
  }
  for (const char* format :
       {"Switch %*u \"%*1[SHR]-%n", "Ca %*u \"%*1[SHR]-%n", "Rt %*u \"%*1[SHR]-%n",
        "SW %*u %*u 0x%n", "CA %*u %*u 0x%n", "<-> 0x%*x %*u FI%n", "<-> 0x%*x %*u SW%n"}) {
    int end = 0;
    if (sscanf(line, format, &end) == 0 && end > 0) return true;  // %* and %n count as none
  }
  return false;
}

// Whether a file looks like one of those that topology/network/read.py understands.
bool describes_switches(int file) {
  constexpr size_t kLongest = 200, kBeginning = 2000;  // of a line; of an XML document
  std::string beginning, line;
  std::vector<char> part(kPart);
  off_t at = 0;
  for (ssize_t got; (got = pread(file, part.data(), kPart, at)) > 0; at += got) {
    if (at == 0) beginning.assign(part.data(), std::min(size_t(got), kBeginning));
    for (ssize_t i = 0; i < got; ++i) {
      if (part[size_t(i)] != '\n') {
        if (line.size() < kLongest) line += part[size_t(i)];
        continue;
      }
      if (names_a_switch(line.c_str())) return true;
      line.clear();
    }
  }
  if (names_a_switch(line.c_str())) return true;
  const size_t first = beginning.find_first_not_of(" \t\r\n");
  return first != std::string::npos && beginning[first] == '<' &&
         (beginning.find("<Report") != std::string::npos ||
          beginning.find("<Snapshot") != std::string::npos);
}

}  // namespace

NetworkFile::NetworkFile(const std::string& run_directory, const Config& config,
                         bool may_run_scontrol) {
  const bool ask = may_run_scontrol && !variable("SLURM_JOB_ID").empty();
  if (!config.network_topology || (config.topology_file.empty() && !ask)) return;
  try {
    draft_ = std::make_unique<Draft>(run_directory + "/machine/network.txt");
    if (draft_->file() < 0) {
      trouble_ = draft_->refusal();
    } else if (!config.topology_file.empty()) {
      trouble_ = copy(config.topology_file);
    } else {
      const char* const command[] = {"scontrol", "show", "topology", nullptr};
      scontrol_ = std::make_unique<Child>(command, draft_->file(), kMostBytes + 1);
    }
  } catch (const std::exception& error) {
    trouble_ = std::string("cannot write machine/network.txt: ") + error.what();
  }
}

std::string NetworkFile::copy(const std::string& from) {
  const std::string of_setting = "topology_file is " + from;
  const std::string unused = ", so pictures will not have its switches; ";
  const OpenFile file(open_regular(from.c_str()));
  if (file.number() < 0 && (errno == EINVAL || errno == EISDIR))
    return of_setting + ", which is not a file" + unused + "name a file";
  struct stat facts {};
  int64_t size = -1;
  if (file.number() >= 0 && fstat(file.number(), &facts) == 0) {
    // A byte more than allowed shows that there are more, even in a file that grows.
    size = uint64_t(facts.st_size) > kMostBytes
               ? int64_t(facts.st_size)
               : copy_bytes(file.number(), draft_->file(), kMostBytes + 1);
  }
  if (size < 0)
    return of_setting + ", which cannot be read or copied (" + std::strerror(errno) + ")" + unused +
           "correct the setting, whose path starts from the working directory";
  if (uint64_t(size) > kMostBytes)
    return of_setting + ", which has " + std::to_string(size) + " bytes, more than the " +
           std::to_string(kMostBytes) + " expected of a description of switches" + unused +
           "leave out what this job does not use";
  if (!describes_switches(draft_->file()))
    return of_setting + ", which describes no switches" + unused +
           "name Slurm's topology.conf, or a file with what `scontrol show topology`, " +
           "`ibnetdiscover` or `opareport -o links` prints";
  // Who cannot read the source must not read the copy.
  struct stat copied {};
  if (fstat(draft_->file(), &copied) != 0 ||
      fchmod(draft_->file(), copied.st_mode & (S_IWUSR | S_IRUSR | readers(from, copied.st_gid))) !=
          0)
    return of_setting + ", whose copy cannot be kept from other users (" + std::strerror(errno) +
           ")" + unused + "set run_directory to another file system";
  return draft_->publish() ? "" : draft_->refusal();
}

std::string NetworkFile::take_answer(int status) {
  if (status == 127) return "";  // no scontrol on this node
  const std::string asked = "`scontrol show topology`, which lists the switches between nodes, ";
  if (status == Child::kKilled)
    return asked + "gave no answer within " + std::to_string(kSlurmPatienceMs / 1000) +
           " s and was stopped" + kRemedy;
  // "switch.switch.node": ranks know their addresses anyway.
  if (status != 0 && variable("SLURM_TOPOLOGY_ADDR_PATTERN").find('.') != std::string::npos)
    return "";
  if (status != 0) return asked + "failed (exit status " + std::to_string(status) + ")" + kRemedy;
  struct stat facts {};
  if (fstat(draft_->file(), &facts) == 0 && uint64_t(facts.st_size) > kMostBytes)
    return asked + "printed more than " + std::to_string(kMostBytes) + " bytes" + kRemedy;
  char beginning[4096] = "";
  if (pread(draft_->file(), beginning, sizeof beginning - 1, 0) < 0)
    return asked + "cannot be read back (" + std::strerror(errno) + ")";
  if (!std::strstr(beginning, "Name=")) return "";  // "No topology information available"
  return draft_->publish() ? "" : draft_->refusal();
}

std::string NetworkFile::finish() {
  try {
    if (scontrol_) trouble_ = take_answer(scontrol_->end(kSlurmPatienceMs));
  } catch (const std::exception& error) {
    trouble_ = std::string("cannot write machine/network.txt: ") + error.what();
  }
  scontrol_.reset();
  draft_.reset();
  return trouble_;
}

}  // namespace perfield
