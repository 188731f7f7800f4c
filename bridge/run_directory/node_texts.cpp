// SPDX-License-Identifier: BSD-3-Clause
//
// node_texts.cpp - see node_texts.hpp. The memory is taken in full before it is mapped, so that
// touching it cannot fail.
#include "run_directory/node_texts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>

namespace perfield {

struct NodeTexts::Slot {
  std::atomic<uint64_t> hash;  // 0: free
  std::atomic<uint32_t> claims, written;
};

struct NodeTexts::Table {
  static constexpr uint64_t kSlots = 4095;
  std::atomic<uint64_t> n_joined, n_here;
  Slot slots[kSlots];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

void NodeTexts::join(uint64_t run_id, const std::string& node, int local_size) noexcept {
  static_assert(sizeof(Table) == 65536);
  leave();
  if (local_size == 1) return;
  snprintf(name_, sizeof name_, "/dev/shm/perfield-%u-%016llx-%016llx", unsigned(geteuid()),
           static_cast<unsigned long long>(run_id),
           static_cast<unsigned long long>(std::hash<std::string>()(node)));
  const int fd = open(name_, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return;
  struct stat found;
  void* memory = MAP_FAILED;
  if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid()) {
    if (posix_fallocate(fd, 0, sizeof(Table)) == 0)
      memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) unlink(name_);  // else an empty file stays
  }
  close(fd);
  if (memory == MAP_FAILED) return;
  table_ = static_cast<Table*>(memory);  // new memory is zero, which is an empty table
  local_size_ = local_size;
  table_->n_here.fetch_add(1);
  if (int64_t(table_->n_joined.fetch_add(1)) + 1 == local_size) unlink(name_);
}

void NodeTexts::leave() noexcept {
  if (!table_) return;
  // Who joins after that writes its own texts again.
  const bool is_last = table_->n_here.fetch_sub(1) == 1;
  const bool have_all_joined = int64_t(table_->n_joined.load()) >= local_size_;
  if (local_size_ < 0 || (is_last && !have_all_joined)) unlink(name_);
  munmap(table_, sizeof(Table));
  table_ = nullptr;
}

NodeTexts::Slot* NodeTexts::slot_of(uint64_t hash) noexcept {
  if (!table_) return nullptr;
  for (uint64_t n = 0; n < 64; ++n) {
    Slot& slot = table_->slots[(hash + n) % Table::kSlots];
    uint64_t there = slot.hash.load(std::memory_order_acquire);
    if (there == 0 && slot.hash.compare_exchange_strong(there, hash)) return &slot;
    if (there == hash) return &slot;
  }
  return nullptr;
}

bool NodeTexts::claim(uint64_t hash) noexcept {
  Slot* const slot = slot_of(hash);
  return !slot || slot->claims.fetch_add(1) < kCopies;
}

void NodeTexts::note_written(uint64_t hash) noexcept {
  if (Slot* const slot = slot_of(hash)) slot->written.store(1, std::memory_order_release);
}

bool NodeTexts::is_written(uint64_t hash) noexcept {
  Slot* const slot = slot_of(hash);
  return slot && slot->written.load(std::memory_order_acquire);
}

}  // namespace perfield
