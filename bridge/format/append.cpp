// SPDX-License-Identifier: BSD-3-Clause
//
// append.cpp - see append.hpp. A short write leaves a torn entry, which readers skip. It cannot be
// completed, since another rank may have written in between.
#include "format/append.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "platform/guarded.hpp"
#include "platform/quietly.hpp"

namespace perfield {
namespace {

size_t padded(size_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

// Never uses descriptors 0 to 2, which a program takes for its standard streams.
int open_to_append(const std::string& path) noexcept {
  int file = open_guarded(path, O_WRONLY | O_APPEND | O_CREAT);
  if (file < 0 || file > STDERR_FILENO) return file;
  int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(file);
  return higher;
}

}  // namespace

bool Appender::open_file() noexcept {
  descriptor_ = open_to_append(path_);
  struct stat file;
  bool good = descriptor_ >= 0 && fstat(descriptor_, &file) == 0;
  if (good && shares_lock_) {
    errno = ESTALE;  // it is being collected, or was
    good = flock(descriptor_, LOCK_SH | LOCK_NB) == 0 && file.st_nlink > 0;
  }
  if (!good) {
    error_ = errno;
    return false;
  }
  device_ = file.st_dev;
  inode_ = file.st_ino;
  return true;
}

bool Appender::open(const std::string& path, uint64_t run_id, int32_t rank, size_t buffer_bytes,
                    const std::string& instead) noexcept {
  path_ = path;
  instead_ = instead;
  shares_lock_ = !instead.empty();
  if (!open_file() && !go_on_elsewhere()) return false;
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    size_limit_ = limit.rlim_cur;
  void* memory =
      mmap(nullptr, buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    error_ = ENOMEM;
    return false;
  }
  buffer_ = static_cast<unsigned char*>(memory);
  capacity_ = buffer_bytes;
  run_id_ = run_id;
  rank_ = rank;
  return true;
}

void Appender::close() noexcept {
  if (is_open() && flush()) ::close(descriptor_);
  if (buffer_) munmap(buffer_, capacity_);
  *this = Appender();
}

EntryHeader Appender::header(EntryType type, uint64_t index, uint32_t body_bytes,
                             uint32_t body_crc) noexcept {
  EntryHeader h;
  memcpy(h.marker, kMarker, sizeof kMarker);
  h.type = uint16_t(type);
  h.version = body_version(type);
  h.body_bytes = body_bytes;
  h.run_id = run_id_;
  h.rank = rank_;
  h.sequence = sequence_++;
  h.index = index;
  h.body_crc = body_crc;
  h.header_crc = crc32c(&h, offsetof(EntryHeader, header_crc));
  return h;
}

unsigned char* Appender::begin(EntryType type, uint64_t index, size_t bytes) noexcept {
  if (!buffer_ || failed()) return nullptr;
  size_t needed = sizeof(EntryHeader) + padded(bytes);
  if (used_ + needed > capacity_) flush();
  if (used_ + needed > capacity_ || failed()) return nullptr;
  open_type_ = type;
  open_index_ = index;
  return buffer_ + used_ + sizeof(EntryHeader);
}

void Appender::end(size_t bytes) noexcept {
  unsigned char* body = buffer_ + used_ + sizeof(EntryHeader);
  size_t whole = padded(bytes);
  memset(body + bytes, 0, whole - bytes);
  EntryHeader h = header(open_type_, open_index_, uint32_t(whole), crc32c(body, whole));
  memcpy(buffer_ + used_, &h, sizeof h);
  used_ += sizeof h + whole;
}

void Appender::json(EntryType type, uint64_t index, const std::string& text) noexcept {
  unsigned char* body = begin(type, index, text.size() + 8);
  if (!body) return;
  memset(body, ' ', padded(text.size()));
  memcpy(body, text.data(), text.size());
  end(padded(text.size()));
}

bool Appender::ready() noexcept {
  struct stat file;
  if (fstat(descriptor_, &file) == 0 && file.st_ino == inode_ && file.st_dev == device_)
    return true;
  return open_file();
}

bool Appender::go_on_elsewhere() noexcept {
  if (instead_.empty()) return false;
  moved_ = error_;
  error_ = 0;
  staged_ = descriptor_;
  staged_inode_ = inode_;
  path_.swap(instead_);
  instead_.clear();
  shares_lock_ = false;
  sequence_ = 0;
  return open_file();
}

void Appender::gather_anew(size_t written) noexcept {
  size_t first = 0;  // of the entries that must be written again
  for (size_t at = 0; at < used_;) {
    EntryHeader h;
    memcpy(&h, buffer_ + at, sizeof h);
    if (at + sizeof h + h.body_bytes <= written) {
      first = at += sizeof h + h.body_bytes;
      continue;
    }
    h.sequence = sequence_++;
    h.header_crc = crc32c(&h, offsetof(EntryHeader, header_crc));
    memcpy(buffer_ + at, &h, sizeof h);
    at += sizeof h + h.body_bytes;
  }
  used_ -= first;
  memmove(buffer_, buffer_ + first, used_);
}

bool Appender::last_writer() noexcept {
  struct stat facts;
  if (staged_ < 0 && (!shares_lock_ || failed() || !ready())) return false;
  if (staged_ >= 0 && (fstat(staged_, &facts) != 0 || facts.st_ino != staged_inode_)) return false;
  const int file = staged_ < 0 ? descriptor_ : staged_;
  shares_lock_ = false;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
  flock(file, LOCK_UN);
  return false;
}

size_t Appender::write_all(const iovec* parts, int n_parts, size_t bytes) noexcept {
  if (!ready()) return 0;
  std::optional<HeldBack> signal;
  if (size_limit_ != ~uint64_t(0)) signal.emplace(SIGXFSZ);
  ssize_t n;
  do {
    n = n_parts == 1 ? ::write(descriptor_, parts->iov_base, parts->iov_len)
                     : ::writev(descriptor_, parts, n_parts);
  } while (n < 0 && errno == EINTR);
  if (n != ssize_t(bytes)) error_ = n < 0 ? errno : file_bytes() >= size_limit_ ? EFBIG : ENOSPC;
  if (n <= 0) return 0;
  bytes_written_ += uint64_t(n);
  return size_t(n);
}

bool Appender::flush() noexcept {
  if (failed() || !used_) return !failed();
  iovec all = {buffer_, used_};
  const size_t written = write_all(&all, 1, used_);
  if (failed() && go_on_elsewhere()) {
    gather_anew(written);
    all.iov_len = used_;
    write_all(&all, 1, used_);
  }
  used_ = 0;
  return !failed();
}

bool Appender::write_parts(EntryType type, uint64_t index, const iovec* parts,
                           int n_parts) noexcept {
  constexpr int kMostParts = 64;
  if (!flush() || n_parts >= kMostParts) return false;
  size_t total = 0;
  uint32_t crc = 0;
  iovec all[kMostParts];
  for (int i = 0; i < n_parts; ++i) {
    crc = crc32c(parts[i].iov_base, parts[i].iov_len, crc);
    total += parts[i].iov_len;
    all[i + 1] = parts[i];
  }
  EntryHeader h = header(type, index, uint32_t(total), crc);
  all[0] = {&h, sizeof h};
  write_all(all, n_parts + 1, total + sizeof h);
  if (failed() && go_on_elsewhere()) {
    h = header(type, index, uint32_t(total), crc);
    write_all(all, n_parts + 1, total + sizeof h);
  }
  return !failed();
}

uint64_t Appender::file_bytes() const noexcept {
  struct stat s;
  return descriptor_ >= 0 && fstat(descriptor_, &s) == 0 ? uint64_t(s.st_size) : 0;
}

}  // namespace perfield
