// SPDX-License-Identifier: BSD-3-Clause
//
// crc32c.cpp - CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), the checksum of every entry.
// Uses the instruction of SSE4.2 or aarch64 where the CPU has it, else eight tables. Any thread;
// never fails. crc32c(b, m, crc32c(a, n)) is the checksum of a followed by b.
#include <array>
#include <cstring>

#include "format/entry.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace perfield {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    tables[0][byte] = crc;
  }
  for (size_t slice = 1; slice < 8; ++slice)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t by_table(const unsigned char* at, size_t bytes, uint32_t crc) noexcept {
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (size_t n = 0; n < 8; ++n) crc ^= kTables[7 - n][(word >> (8 * n)) & 0xFF];
  }
  for (; bytes; ++at, --bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
#ifdef __clang__
#define PERFIELD_CRC32 "sse4.2,crc32"  // apart for Clang; older GCCs do not know the second
#else
#define PERFIELD_CRC32 "sse4.2"
#endif
__attribute__((target(PERFIELD_CRC32))) uint32_t by_instruction(const unsigned char* at,
                                                                size_t bytes,
                                                                uint32_t crc) noexcept {
  uint64_t wide = crc;
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; bytes; ++at, --bytes) crc = _mm_crc32_u8(crc, *at);
  return crc;
}

bool has_instruction() noexcept { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__aarch64__)
__attribute__((target("+crc"))) uint32_t by_instruction(const unsigned char* at, size_t bytes,
                                                        uint32_t crc) noexcept {
  for (; bytes >= 8; at += 8, bytes -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    crc = __crc32cd(crc, word);
  }
  for (; bytes; ++at, --bytes) crc = __crc32cb(crc, *at);
  return crc;
}

bool has_instruction() noexcept {
  constexpr unsigned long kCrc32 = 1 << 7;  // HWCAP_CRC32
  static const bool has = getauxval(AT_HWCAP) & kCrc32;
  return has;
}
#endif

}  // namespace

uint32_t crc32c(const void* data, size_t bytes, uint32_t seed) noexcept {
  const auto* at = static_cast<const unsigned char*>(data);
#if defined(__x86_64__) || defined(__aarch64__)
  if (has_instruction()) return ~by_instruction(at, bytes, ~seed);
#endif
  return ~by_table(at, bytes, ~seed);
}

}  // namespace perfield
