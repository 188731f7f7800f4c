// SPDX-License-Identifier: BSD-3-Clause
//
// append.cpp - see append.hpp. A short write leaves a torn entry, which readers skip. It cannot be
// completed, since another rank may have written in between; so it is written again, whole.
#include "format/append.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "platform/clock.hpp"
#include "platform/guarded.hpp"
#include "platform/quietly.hpp"

namespace perfield {
namespace {

// After a failure the next flush tries again at once, then after 10 ms, 20 ms, ... and at last once
// a minute: a full disk costs no more than that.
constexpr uint64_t kFirstWait_ns = 10'000'000, kLongestWait_ns = 60'000'000'000;
constexpr int kMostInterrupts = 100;  // of one write, by signals

uint64_t wait_ns(int failures) noexcept {
  if (failures < 2) return 0;
  return std::min(kFirstWait_ns << std::min(failures - 2, 16), kLongestWait_ns);
}

size_t padded(size_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

void* map(size_t size) noexcept {
  return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

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
  // Another name of it may lead to a file of the user's; of one that is known already, to a backup.
  if (good && file.st_nlink > 1 && (file.st_dev != device_ || file.st_ino != inode_)) {
    errno = EMLINK;
    good = false;
  }
  if (!good) {
    error_ = errno;
    return false;
  }
  device_ = file.st_dev;
  inode_ = file.st_ino;
  return true;
}

bool Appender::open(const std::string& path, uint64_t run_id, int32_t rank, Room room,
                    const std::string& instead, int most_failures) noexcept {
  path_ = path;
  instead_ = instead;
  shares_lock_ = !instead.empty();
  most_failures_ = most_failures;
  if (!open_file() && !go_on_elsewhere()) {
    failed_ = true;
    return false;
  }
  failures_ = error_ = 0;
  // An entry begins where at most room.gathered bytes wait, or room.largest more if they cannot be
  // written.
  room.largest = padded(room.largest);
  const size_t bytes = 2 * (room.largest + sizeof(EntryHeader)) + padded(room.gathered);
  const size_t of_bodies = StepPacker::kBodies * room.largest;
  void* const memory = map(bytes);
  void* const bodies = memory == MAP_FAILED ? MAP_FAILED : map(of_bodies);
  if (bodies == MAP_FAILED) {
    if (memory != MAP_FAILED) munmap(memory, bytes);
    error_ = ENOMEM;
    failed_ = true;
    return false;
  }
  buffer_ = static_cast<unsigned char*>(memory);
  capacity_ = bytes;
  packer_.open(static_cast<unsigned char*>(bodies), room.largest);
  room_ = room;
  run_id_ = run_id;
  rank_ = rank;
  return true;
}

// Entries grow with what the program does, so there is room for half as much again, if there is
// memory for that.
bool Appender::make_room(size_t largest) noexcept {
  for (const size_t wanted : {padded(largest + largest / 2), largest}) {
    const size_t capacity = capacity_ + 2 * (wanted - room_.largest);
    void* const memory = mremap(buffer_, capacity_, capacity, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED) continue;
    buffer_ = static_cast<unsigned char*>(memory);
    capacity_ = capacity;
    room_.largest = wanted;
    return true;
  }
  return false;
}

bool Appender::make_room_for_steps(size_t largest) noexcept {
  for (const size_t wanted : {room_.largest, largest}) {
    void* const memory = map(StepPacker::kBodies * wanted);
    if (memory == MAP_FAILED) continue;
    const size_t before = StepPacker::kBodies * packer_.largest();
    munmap(packer_.move_to(static_cast<unsigned char*>(memory), wanted), before);
    return true;
  }
  return false;
}

bool Appender::gather_up_to(size_t bytes) noexcept {
  if (!buffer_ || bytes <= room_.gathered) return buffer_ != nullptr;
  const size_t capacity = capacity_ + bytes - room_.gathered;
  void* memory = mremap(buffer_, capacity_, capacity, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) return false;
  buffer_ = static_cast<unsigned char*>(memory);
  capacity_ = capacity;
  room_.gathered = bytes;
  return true;
}

int Appender::close() noexcept {
  int trouble = 0;
  if (is_open()) {
    flush_or_miss();
    // A program that closes all descriptors may have a file of its own under this number.
    if (is_ours() && ::close(descriptor_) != 0 && errno != EINTR) trouble = errno;
  }
  if (buffer_) {
    munmap(buffer_, capacity_);
    munmap(packer_.room(), StepPacker::kBodies * packer_.largest());
  }
  *this = Appender();
  return trouble;
}

int Appender::sync() noexcept {
  if (!is_open()) return 0;
  if (!ready()) return error_;
  if (fdatasync(descriptor_) == 0) return 0;
  return errno == EINVAL || errno == ENOSYS ? ENOTSUP : errno;
}

EntryHeader Appender::header(EntryType type, uint16_t version, uint64_t index, uint32_t body_bytes,
                             uint32_t body_crc) noexcept {
  EntryHeader h;
  memcpy(h.marker, kMarker, sizeof kMarker);
  h.type = uint16_t(type);
  h.version = version;
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
  // Once a write has failed, only flush() tries again: between an entry and what it defines for the
  // next, nothing may change.
  if (used_ > room_.gathered && !fails()) flush();
  const size_t body = padded(bytes);
  if (body > room_.largest && !make_room(body)) return nullptr;
  if (type == EntryType::step && body > packer_.largest() && !make_room_for_steps(body))
    return nullptr;
  if (used_ + sizeof(EntryHeader) + body > capacity_ || failed()) return nullptr;
  open_type_ = type;
  open_index_ = index;
  return type == EntryType::step ? packer_.begin() : buffer_ + used_ + sizeof(EntryHeader);
}

bool Appender::end(size_t bytes) noexcept {
  const bool is_step = open_type_ == EntryType::step;
  unsigned char* const body = buffer_ + used_ + sizeof(EntryHeader);
  unsigned char* const made = is_step ? packer_.begin() : body;
  size_t whole = padded(bytes);
  memset(made + bytes, 0, whole - bytes);
  const size_t packed =
      is_step ? packer_.pack(whole, body, capacity_ - used_ - sizeof(EntryHeader)) : 0;
  if (packed)
    whole = packed;
  else if (is_step)
    memcpy(body, made, whole);
  const size_t used = used_ + sizeof(EntryHeader) + whole;
  misses_ = misses_ || (fails() && used > room_.gathered + room_.largest);
  if (misses_) {
    miss();
    return false;
  }
  const uint16_t version = packed ? kPackedStep : body_version(open_type_);
  const EntryHeader h =
      header(open_type_, version, open_index_, uint32_t(whole), crc32c(body, whole));
  memcpy(buffer_ + used_, &h, sizeof h);
  used_ = used;
  if (is_step && !packed)
    packer_.wrote_full(whole, h.sequence, h.body_crc, gathered_at(0).sequence);
  return true;
}

bool Appender::json(EntryType type, uint64_t index, const std::string& text) noexcept {
  unsigned char* body = begin(type, index, text.size() + 8);
  if (!body) return false;
  memset(body, ' ', padded(text.size()));
  memcpy(body, text.data(), text.size());
  return end(padded(text.size()));
}

void Appender::miss() noexcept {
  ++sequence_;
  ++missing_;
}

bool Appender::is_ours() const noexcept {
  struct stat file;
  return fstat(descriptor_, &file) == 0 && file.st_ino == inode_ && file.st_dev == device_;
}

bool Appender::ready() noexcept {
  if (is_ours()) return true;
  packer_.forget();  // who knows what became of the file
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
  number_anew();
  if (open_file()) return true;
  note_failure();
  return false;
}

void Appender::note_failure() noexcept {
  failed_ = ++failures_ >= most_failures_;
  next_try_ns_ = monotonic_ns() + wait_ns(failures_);
}

EntryHeader Appender::gathered_at(size_t at) const noexcept {
  EntryHeader h;
  memcpy(&h, buffer_ + at, sizeof h);
  return h;
}

void Appender::seal(size_t at, EntryHeader h) noexcept {
  h.header_crc = crc32c(&h, offsetof(EntryHeader, header_crc));
  memcpy(buffer_ + at, &h, sizeof h);
}

void Appender::keep_after(size_t written) noexcept {
  size_t first = 0, full = used_;  // of the entries that must be written again; before them
  while (first < used_) {
    const EntryHeader h = gathered_at(first);
    if (first + sizeof h + h.body_bytes > written) break;
    if (h.type == uint16_t(EntryType::step) && h.version != kPackedStep) full = first;
    first += sizeof h + h.body_bytes;
  }
  if (first == used_)
    packer_.nothing_waits();
  else if (full < first)
    packer_.keep_outside(buffer_ + full + sizeof(EntryHeader), gathered_at(full).body_bytes);
  used_ -= first;
  memmove(buffer_, buffer_ + first, used_);
}

void Appender::bring_named() noexcept {
  size_t at = 0;
  for (; at < used_; at += sizeof(EntryHeader) + gathered_at(at).body_bytes) {
    const EntryHeader h = gathered_at(at);
    if (h.type == uint16_t(EntryType::step) && h.version != kPackedStep) return;
    if (h.type == uint16_t(EntryType::step)) break;
  }
  const PlainBody named = packer_.named_outside();
  const size_t bytes = sizeof(EntryHeader) + named.bytes;
  if (at >= used_ || !named.at || used_ + bytes > capacity_) return;
  memmove(buffer_ + bytes, buffer_, used_);
  memcpy(buffer_ + sizeof(EntryHeader), named.at, named.bytes);
  const EntryHeader h = header(EntryType::reference, body_version(EntryType::reference), 0,
                               uint32_t(named.bytes), crc32c(named.at, named.bytes));
  memcpy(buffer_, &h, sizeof h);
  used_ += bytes;
}

void Appender::number_anew() noexcept {
  bring_named();
  sequence_ = 0;
  uint32_t full = 0;  // the last one's number
  for (size_t at = 0; at < used_;) {
    EntryHeader h = gathered_at(at);
    unsigned char* const body = buffer_ + at + sizeof h;
    h.sequence = sequence_++;
    if (h.version == kPackedStep) {
      memcpy(body + offsetof(PackedStart, reference), &full, sizeof full);
      h.body_crc = crc32c(body, h.body_bytes);
    } else if (h.type == uint16_t(EntryType::step) || h.type == uint16_t(EntryType::reference)) {
      full = h.sequence;
    }
    seal(at, h);
    at += sizeof h + h.body_bytes;
  }
  packer_.left_the_file();
}

uint64_t Appender::n_gathered() const noexcept {
  uint64_t n = 0;
  for (size_t at = 0; at < used_; ++n) at += sizeof(EntryHeader) + gathered_at(at).body_bytes;
  return n;
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

size_t Appender::write_once(const iovec* parts, int n_parts, size_t bytes) noexcept {
  if (!ready()) return 0;
  // Beyond RLIMIT_FSIZE, which a program may set at any time, a write raises a signal that ends it.
  rlimit limit;
  const bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  std::optional<HeldBack> signal;
  if (limited) signal.emplace(SIGXFSZ);
  ssize_t n;
  int interrupts = 0;
  do {
    n = n_parts == 1 ? ::write(descriptor_, parts->iov_base, parts->iov_len)
                     : ::writev(descriptor_, parts, n_parts);
  } while (n < 0 && errno == EINTR && ++interrupts < kMostInterrupts);
  if (n != ssize_t(bytes))
    error_ = n < 0 ? errno : limited && file_bytes() >= limit.rlim_cur ? EFBIG : ENOSPC;
  if (n <= 0) return 0;
  bytes_written_ += uint64_t(n);
  return size_t(n);
}

void Appender::give_back(size_t torn) noexcept {
  if (!torn) return;
  const off_t bytes = off_t(torn), end = lseek(descriptor_, 0, SEEK_CUR);
  if (end >= bytes)
    (void)fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, end - bytes, bytes);
}

size_t Appender::write_all(const iovec* parts, int n_parts, size_t bytes) noexcept {
  const size_t written = write_once(parts, n_parts, bytes);
  if (written == bytes) {
    failures_ = 0;
    return written;
  }
  packer_.forget();
  if (instead_.empty()) note_failure();
  return written;
}

bool Appender::is_due() const noexcept { return !fails() || monotonic_ns() >= next_try_ns_; }

bool Appender::flush_now() noexcept {
  if (!used_) return true;
  for (;;) {
    const iovec all = {buffer_, used_};
    keep_after(write_all(&all, 1, used_));
    if (!used_) misses_ = false;
    if (!used_ || !go_on_elsewhere()) return !used_;
  }
}

bool Appender::flush() noexcept { return !failed() && (!used_ || (is_due() && flush_now())); }

void Appender::flush_or_miss() noexcept {
  if (!buffer_ || (!failed() && flush_now())) return;
  missing_ += n_gathered();
  used_ = 0;
  misses_ = false;
  packer_.forget();
  packer_.nothing_waits();
}

bool Appender::write_parts(EntryType type, uint64_t index, const iovec* parts,
                           int n_parts) noexcept {
  constexpr int kMostParts = 64;
  if (failed() || n_parts >= kMostParts || !is_due() || !flush()) return false;
  size_t total = 0;
  uint32_t crc = 0;
  iovec all[kMostParts];
  for (int i = 0; i < n_parts; ++i) {
    crc = crc32c(parts[i].iov_base, parts[i].iov_len, crc);
    total += parts[i].iov_len;
    all[i + 1] = parts[i];
  }
  do {
    EntryHeader h = header(type, body_version(type), index, uint32_t(total), crc);
    all[0] = {&h, sizeof h};
    const size_t written = write_all(all, n_parts + 1, total + sizeof h);
    if (written == total + sizeof h) return true;
    give_back(written);
    --sequence_;
  } while (go_on_elsewhere());
  return false;
}

uint64_t Appender::file_bytes() const noexcept {
  struct stat s;
  return descriptor_ >= 0 && fstat(descriptor_, &s) == 0 ? uint64_t(s.st_size) : 0;
}

}  // namespace perfield
