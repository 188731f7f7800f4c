// SPDX-License-Identifier: BSD-3-Clause
//
// pack.cpp - see pack.hpp. A body counts as words of 8 bytes. Columns that follow from another one
// of their row are first stated as their distance from it, which seldom changes. Then each word's
// difference to the same word of the reference is written, without those that are zero.
#include "format/pack.hpp"

#include <algorithm>
#include <cstring>

#include "format/zigzag.hpp"

namespace perfield {
namespace {

constexpr int kMostTables = 8;
constexpr size_t kFixedWords = sizeof(StepBody) / 8;
constexpr size_t kRegionWords = sizeof(RegionRow) / 8;
constexpr size_t kMessageWords = sizeof(MessageRow) / 8;
constexpr size_t kCollectiveWords = sizeof(CollectiveRow) / 8;
constexpr size_t kSynchronisationWords = sizeof(SynchronisationRow) / 8;
constexpr size_t kMessageStamps = offsetof(MessageRow, begun_sum) / 8;
constexpr size_t kCollectiveStamps = offsetof(CollectiveRow, begun_sum) / 8;
constexpr size_t kSynchronisationStamps = offsetof(SynchronisationRow, begun_sum) / 8;
constexpr size_t kMostPlain = size_t{64} << 20;
constexpr size_t kReach = 64;  // rows of the reference that a row may pass over
// Of 64 words: which bytes of the mask are not zero, the mask, the lengths, the differences.
constexpr size_t kMostOfBlock = 1 + 8 + 32 + 64 * 8;
static_assert(kPackingRoom >= sizeof(PackedStart) + kMostOfBlock + 8 + 8);  // a store, padding

enum Layout : unsigned char { kSameRows = 0, kOtherRows = 1 };

uint64_t load(const unsigned char* at) noexcept {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

void store(unsigned char* at, uint64_t word) noexcept { memcpy(at, &word, sizeof word); }

// --- tables --------------------------------------------------------------------------------------

struct Area {
  const unsigned char* rows = nullptr;
  size_t n = 0, words = 0;  // of a row
  uint16_t number = 0;

  const unsigned char* row(size_t n_row) const noexcept { return rows + n_row * words * 8; }
  // What stays the same in the rows that belong together: of the first word these bits.
  uint64_t key_bits() const noexcept {
    return number == uint16_t(StepTable::regions) ? 0xFFFFFFFF : ~uint64_t{0};
  }
  uint64_t key(size_t n_row) const noexcept { return load(row(n_row)) & key_bits(); }
  bool is_of(const Area& other) const noexcept {
    return number == other.number && words == other.words;
  }
  // How many words of its rows are replaced by distances, from the first one on; 0: none.
  size_t replaced() const noexcept {
    const size_t words_of_row = [this] {
      switch (StepTable(number)) {
        case StepTable::regions:
          return kRegionWords;
        case StepTable::messages:
          return kMessageWords;
        case StepTable::collectives:
          return kCollectiveWords;
        case StepTable::synchronisations:
          return kSynchronisationWords;
        default:
          return size_t{0};
      }
    }();
    return words >= words_of_row ? words_of_row : 0;
  }
  // Where its sums of stamps begin: three words.
  size_t stamps() const noexcept {
    switch (StepTable(number)) {
      case StepTable::messages:
        return kMessageStamps;
      case StepTable::collectives:
        return kCollectiveStamps;
      default:
        return kSynchronisationStamps;
    }
  }
};

struct Areas {
  Area of[kMostTables];
  int n = 0;

  const Area* begin() const noexcept { return of; }
  const Area* end() const noexcept { return of + n; }
  // False if this is not a plain body that can be packed.
  bool find(PlainBody body) noexcept {
    StepBody fixed;
    if (body.bytes < sizeof fixed || body.bytes % 8 || body.bytes > kMostPlain) return false;
    memcpy(&fixed, body.at, sizeof fixed);
    if (fixed.n_tables > kMostTables) return false;
    size_t at = sizeof fixed;
    for (n = 0; n < int(fixed.n_tables); ++n) {
      TableHeader header;
      if (body.bytes - at < sizeof header) return false;
      memcpy(&header, body.at + at, sizeof header);
      at += sizeof header;
      const uint64_t length = uint64_t{header.rows} * header.row_bytes;
      if (!header.row_bytes || header.row_bytes % 8 || header.row_bytes / 8 > 255 ||
          header.table > 255 || length > body.bytes - at)
        return false;
      of[n] = {body.at + at, header.rows, size_t(header.row_bytes / 8), header.table};
      at += size_t(length);
    }
    return at == body.bytes;
  }
  // The table of the same number and columns, or one without rows.
  Area like(const Area& other) const noexcept {
    for (const Area& area : *this)
      if (area.is_of(other)) return area;
    return {nullptr, 0, other.words, other.number};
  }
};

// Of two tables with as many rows.
bool same_keys(const Area& a, const Area& b) noexcept {
  const uint64_t bits = a.key_bits();
  const size_t row_bytes = 8 * a.words;
  for (size_t at = 0, end = a.n * row_bytes; at < end; at += row_bytes)
    if ((load(a.rows + at) ^ load(b.rows + at)) & bits) return false;
  return true;
}

bool same_rows(const Areas& a, const Areas& b) noexcept {
  if (a.n != b.n) return false;
  for (int t = 0; t < a.n; ++t) {
    if (!a.of[t].is_of(b.of[t]) || a.of[t].n != b.of[t].n) return false;
    if (!same_keys(a.of[t], b.of[t])) return false;
  }
  return true;
}

// --- distances -----------------------------------------------------------------------------------

// begin .. measured of the fixed part, and times of a region: of one thread, the smallest and the
// largest are the sum; in a region without inner ones, its own time is all of it.
enum FixedWord { kBegin = 3, kEnd, kRealtime, kMeasured, kTables = 18 };
enum RegionWord { kInclusive = 2, kInclusiveMin, kInclusiveMax, kSelf, kSelfMin, kSelfMax };
static_assert(offsetof(StepBody, begin_ns) == 8 * kBegin);
static_assert(offsetof(StepBody, measured_ns) == 8 * kMeasured);
static_assert(offsetof(StepBody, n_tables) == 8 * kTables + 4);
static_assert(offsetof(RegionRow, inclusive_sum_ns) == 8 * kInclusive);
static_assert(offsetof(RegionRow, self_max_ns) == 8 * kSelfMax);

struct FixedWords {
  uint64_t word[kFixedWords];
  explicit FixedWords(const unsigned char* at) noexcept { memcpy(word, at, sizeof word); }
  const unsigned char* bytes() const noexcept {
    return reinterpret_cast<const unsigned char*>(word);
  }
  // The tables are stated elsewhere.
  void take_n_tables(const FixedWords& other) noexcept {
    word[kTables] = uint32_t(word[kTables]) | (other.word[kTables] >> 32 << 32);
  }
  void to_distances() noexcept {
    word[kRealtime] -= word[kEnd];
    word[kEnd] -= word[kBegin];
    word[kMeasured] = word[kEnd] - word[kMeasured];
  }
  void from_distances() noexcept {
    word[kMeasured] = word[kEnd] - word[kMeasured];
    word[kEnd] += word[kBegin];
    word[kRealtime] += word[kEnd];
  }
};

struct RegionWords {
  uint64_t word[kRegionWords];
  explicit RegionWords(const unsigned char* at) noexcept { memcpy(word, at, sizeof word); }
  const unsigned char* bytes() const noexcept {
    return reinterpret_cast<const unsigned char*>(word);
  }
  void to_distances() noexcept {
    word[kSelfMin] = word[kSelf] - word[kSelfMin];
    word[kSelfMax] = word[kSelf] - word[kSelfMax];
    word[kInclusiveMin] = word[kInclusive] - word[kInclusiveMin];
    word[kInclusiveMax] = word[kInclusive] - word[kInclusiveMax];
    word[kSelf] = word[kInclusive] - word[kSelf];
  }
  void from_distances() noexcept {
    word[kSelf] = word[kInclusive] - word[kSelf];
    word[kInclusiveMin] = word[kInclusive] - word[kInclusiveMin];
    word[kInclusiveMax] = word[kInclusive] - word[kInclusiveMax];
    word[kSelfMin] = word[kSelf] - word[kSelfMin];
    word[kSelfMax] = word[kSelf] - word[kSelfMax];
  }
};

// Of three sums of stamps, each is stated as its distance from another number: the first from count
// times the begin of the step, the others from the one before. 0 stays 0, as it means unknown.
uint64_t to_distance(uint64_t sum, uint64_t from) noexcept {
  if (!sum) return 0;
  return sum == from ? 0 - from : sum - from;
}
uint64_t from_distance(uint64_t distance, uint64_t from) noexcept {
  if (!distance) return 0;
  return distance == 0 - from ? from : distance + from;
}

static_assert(offsetof(MessageRow, count) == 8 && offsetof(CollectiveRow, count) == 8 &&
              offsetof(SynchronisationRow, count) == 8);
// Of a row whose sums begin at word `first`.
void stamps_to_distances(unsigned char* row, size_t first, uint64_t begin) noexcept {
  const uint64_t sums[3] = {load(row + 8 * first), load(row + 8 * first + 8),
                            load(row + 8 * first + 16)};
  store(row + 8 * first, to_distance(sums[0], load(row + 8) * begin));
  store(row + 8 * first + 8, to_distance(sums[1], sums[0]));
  store(row + 8 * first + 16, to_distance(sums[2], sums[1]));
}
void stamps_from_distances(unsigned char* row, size_t first, uint64_t begin) noexcept {
  uint64_t from = load(row + 8) * begin;
  for (size_t word = first; word < first + 3; ++word) {
    from = from_distance(load(row + 8 * word), from);
    store(row + 8 * word, from);
  }
}

// --- writing -------------------------------------------------------------------------------------

// Writes bytes within a room that has kMostOfBlock bytes behind it.
class Output {
 public:
  Output(unsigned char* at, size_t room) noexcept : at_(at), end_(at + room) {}
  bool is_full() const noexcept { return at_ > end_; }
  unsigned char* at() const noexcept { return at_; }
  void byte(size_t value) noexcept {
    if (!is_full()) *at_++ = static_cast<unsigned char>(value);
  }
  void number(uint64_t value) noexcept {  // LEB128
    for (; value > 0x7F; value >>= 7) byte(0x80 | (value & 0x7F));
    byte(size_t(value));
  }
  // Up to 64 words: `values` are the differences of those whose bit is set.
  void block(uint64_t mask, const uint64_t* values, size_t n) noexcept {
    if (is_full()) return;
    unsigned char* at = at_;
    const unsigned which = bytes_in_use(mask);
    *at++ = static_cast<unsigned char>(which);
    for (int part = 0; part < 8; ++part) {
      *at = static_cast<unsigned char>(mask >> 8 * part);
      at += which >> part & 1;
    }
    unsigned char* lengths = at;
    at += (n + 1) / 2;
    const auto put = [&at](uint64_t difference) {
      const uint64_t code = zigzag(difference);
      const unsigned bytes = ((unsigned(__builtin_clzll(code)) ^ 63) + 8) / 8;
      store(at, code);
      at += bytes;
      return bytes;
    };
    for (; n > 1; n -= 2, values += 2) {
      const unsigned low = put(values[0]), high = put(values[1]);
      *lengths++ = static_cast<unsigned char>(low | high << 4);
    }
    if (n) *lengths = static_cast<unsigned char>(put(values[0]));
    at_ = at;
  }

 private:
  // Which of its eight bytes are not 0, as bits.
  static unsigned bytes_in_use(uint64_t word) noexcept {
    constexpr uint64_t kLow = 0x7F7F7F7F7F7F7F7F;
    const uint64_t highest = (((word & kLow) + kLow) | word) & ~kLow;  // of each byte
    return unsigned((highest >> 7) * 0x0102040810204080 >> 56);
  }

  unsigned char *at_, *end_;
};

// Up to 64 words that follow one another: which of them differ, and their differences.
class Found {
 public:
  explicit Found(uint64_t* values) noexcept : end_(values) {}
  uint64_t mask() const noexcept { return mask_; }
  uint64_t* end() const noexcept { return end_; }  // of the differences
  // The difference of word i; those of the words before have come before.
  [[gnu::always_inline]] void add(size_t i, uint64_t difference) noexcept {
    *end_ = difference;
    end_ += difference != 0;
    mask_ |= uint64_t{difference != 0} << i;
  }
  // The words from i on, n of them.
  template <size_t i, size_t n>
  [[gnu::always_inline]] void add(const unsigned char* now, const unsigned char* before) noexcept {
    uint64_t any = 0;  // most words are the same
    for (size_t k = 8 * i; k < 8 * (i + n); k += 8) any |= load(now + k) ^ load(before + k);
    if (any)
      for (size_t k = i; k < i + n; ++k) add(k, load(now + 8 * k) - load(before + 8 * k));
  }

 private:
  uint64_t* end_;
  uint64_t mask_ = 0;
};

// Takes words in their order, and writes their differences in blocks of 64.
class Differences {
 public:
  explicit Differences(Output* out) noexcept : out_(out) {}
  // The next n words, at most 64, of which nothing is known yet.
  Found next() noexcept { return Found(end_); }
  // What was found of them.
  void take(const Found& found, size_t n) noexcept {
    end_ = found.end();
    mask_ |= found.mask() << at_;
    at_ += n;
    if (__builtin_expect(at_ >= 64, 0)) end_block(found.mask(), n);
  }
  // n words that are the same.
  void skip(size_t n) noexcept { take(next(), n); }
  // The next n words.
  void add(const unsigned char* now, const unsigned char* before, size_t n) noexcept {
    constexpr size_t kTogether = 8;
    for (; n; now += 8 * kTogether, before += 8 * kTogether) {
      Found found = next();
      const size_t part = std::min(n, kTogether);
      if (part == kTogether)
        found.add<0, kTogether>(now, before);
      else
        for (size_t i = 0; i < part; ++i) found.add(i, load(now + 8 * i) - load(before + 8 * i));
      take(found, part);
      n -= part;
    }
  }
  void finish() noexcept {
    if (at_) write_block(end_);
  }

 private:
  [[gnu::noinline]] void end_block(uint64_t mask, size_t n) noexcept {
    at_ -= 64;
    const uint64_t rest = at_ ? mask >> (n - at_) : 0;  // of the next block
    uint64_t* end = end_;                               // of the block's values
    for (uint64_t left = rest; left; left &= left - 1) --end;
    write_block(end);
    mask_ = rest;
    end_ = std::copy(end, end_, values_);
  }
  void write_block(const uint64_t* end) noexcept {
    if (mask_)
      out_->block(mask_, values_, size_t(end - values_));
    else
      out_->byte(0);
  }

  Output* out_;
  size_t at_ = 0;  // in the block
  uint64_t mask_ = 0;
  uint64_t values_[2 * 64];
  uint64_t* end_ = values_;
};

// Where each row of a table lies in the reference, as runs: rows that follow one another there,
// rows that are new, and rows of the reference that are passed over.
class Alignment {
 public:
  Alignment(const Area& area, const Area& reference) noexcept : area_(area), from_(reference) {}

  struct Run {
    size_t kept, added, passed;
  };
  // The next run; false if no row is left.
  bool next(Run* run) noexcept {
    if (row_ == area_.n) return false;
    *run = {};
    while (row_ < area_.n && at_ < from_.n && area_.key(row_) == from_.key(at_))
      ++run->kept, ++row_, ++at_;
    while (row_ < area_.n && !find(&run->passed)) ++run->added, ++row_;
    at_ += run->passed;
    return true;
  }

 private:
  bool find(size_t* passed) const noexcept {
    const size_t end = std::min(from_.n, at_ + kReach);
    const uint64_t key = area_.key(row_);
    for (size_t at = at_; at < end; ++at)
      if (from_.key(at) == key) {
        *passed = at - at_;
        return true;
      }
    return false;
  }
  const Area &area_, &from_;
  size_t row_ = 0, at_ = 0;
};

// The begin of the step and of the reference.
struct Begins {
  uint64_t now, then;
};

void add_region(const unsigned char* now, const unsigned char* then,
                Differences* differences) noexcept {
  RegionWords a(now), b(then);
  a.to_distances();
  b.to_distances();
  Found found = differences->next();
  found.add<0, kRegionWords>(a.bytes(), b.bytes());
  differences->take(found, kRegionWords);
}

// A row of n words with three sums of stamps from word `first` on.
template <size_t first, size_t n>
void add_stamped(const unsigned char* now, const unsigned char* then, Begins begins,
                 Differences* differences) noexcept {
  constexpr size_t next = first + 3;
  Found found = differences->next();
  found.add<0, first>(now, then);
  uint64_t from = load(now + 8) * begins.now, from_then = load(then + 8) * begins.then;
  for (size_t i = first; i < next; ++i) {
    const uint64_t sum = load(now + 8 * i), sum_then = load(then + 8 * i);
    found.add(i, to_distance(sum, from) - to_distance(sum_then, from_then));
    from = sum;
    from_then = sum_then;
  }
  found.add(next, load(now + 8 * next) - load(then + 8 * next));  // the last message's number
  found.add<next + 1, n - next - 1>(now, then);
  differences->take(found, n);
}

// n rows that follow one another. before: nullptr for zeros.
void add_rows(const Area& area, const unsigned char* now, const unsigned char* before, size_t n,
              Begins begins, Differences* differences) noexcept {
  static constexpr unsigned char kZeros[255 * 8] = {};
  const size_t replaced = area.replaced(), row_bytes = 8 * area.words;
  if (before && !replaced) return differences->add(now, before, n * area.words);
  const unsigned char* then = before ? before : kZeros;
  const size_t next = before ? row_bytes : 0;
  const size_t more = area.words - replaced;  // words at the end
  // add(): the words of the row at now and then that are replaced.
  const auto add_all = [&](auto add) {
    for (; n; --n, now += row_bytes, then += next) {
      add();
      if (more) differences->add(now + 8 * replaced, then + 8 * replaced, more);
    }
  };
  if (!replaced)
    add_all([] {});
  else if (area.number == uint16_t(StepTable::regions))
    add_all([&] { add_region(now, then, differences); });
  else if (area.number == uint16_t(StepTable::messages))
    add_all([&] { add_stamped<kMessageStamps, kMessageWords>(now, then, begins, differences); });
  else if (area.number == uint16_t(StepTable::collectives))
    add_all(
        [&] { add_stamped<kCollectiveStamps, kCollectiveWords>(now, then, begins, differences); });
  else
    add_all([&] {
      add_stamped<kSynchronisationStamps, kSynchronisationWords>(now, then, begins, differences);
    });
}

void write_layout(const Areas& areas, const Areas& before, Output* out, Packed* packed) noexcept {
  out->byte(size_t(areas.n));
  for (const Area& area : areas) {
    const Area from = before.like(area);
    out->byte(area.number);
    out->byte(area.words);
    out->number(area.n);
    Alignment alignment(area, from);
    Alignment::Run run;
    for (size_t rows = 0; alignment.next(&run);) {
      out->number(run.kept);
      if ((rows += run.kept) == area.n) break;
      out->number(run.added);
      packed->new_rows += uint32_t(run.added);
      if ((rows += run.added) == area.n) break;
      out->number(run.passed);
    }
  }
}

}  // namespace

Packed pack_step(PlainBody plain, PlainBody reference, PackedStart start, unsigned char* out,
                 size_t room, size_t most) noexcept {
  Packed packed;
  Areas areas, before;
  if (room < kPackingRoom || !areas.find(plain) || !before.find(reference)) return packed;
  Output to(out + sizeof start, std::min(most, room - kPackingRoom));
  memcpy(out, &start, sizeof start);
  for (const Area& area : areas) packed.rows += uint32_t(area.n);

  const bool same = same_rows(areas, before);
  to.byte(same ? kSameRows : kOtherRows);
  if (!same) write_layout(areas, before, &to, &packed);

  Differences differences(&to);
  FixedWords now(plain.at), then(reference.at);
  const Begins begins = {now.word[kBegin], then.word[kBegin]};
  now.to_distances();
  then.to_distances();
  then.take_n_tables(now);
  differences.add(now.bytes(), then.bytes(), kFixedWords);
  for (const Area& area : areas) {
    const Area from = before.like(area);
    differences.skip(1);  // the table's header
    if (same) {
      add_rows(area, area.rows, from.rows, area.n, begins, &differences);
      continue;
    }
    Alignment alignment(area, from);
    Alignment::Run run;
    for (size_t row = 0, at = 0; alignment.next(&run); at += run.kept + run.passed) {
      add_rows(area, area.row(row), from.row(at), run.kept, begins, &differences);
      add_rows(area, area.row(row + run.kept), nullptr, run.added, begins, &differences);
      row += run.kept + run.added;
    }
  }
  differences.finish();
  unsigned char* end = to.at();
  while ((end - out) % 8) *end++ = 0;
  if (!to.is_full() && size_t(end - out) <= most) packed.bytes = size_t(end - out);
  return packed;
}

// --- reading -------------------------------------------------------------------------------------

namespace {

class Input {
 public:
  Input(const unsigned char* at, size_t bytes) noexcept : at_(at), end_(at + bytes) {}
  size_t left() const noexcept { return size_t(end_ - at_); }
  bool byte(size_t* value) noexcept {
    if (at_ == end_) return false;
    *value = *at_++;
    return true;
  }
  bool number(uint64_t* value) noexcept {
    *value = 0;
    size_t part;
    for (int shift = 0; shift < 64 && byte(&part); shift += 7) {
      *value |= uint64_t(part & 0x7F) << shift;
      if (!(part & 0x80)) return true;
    }
    return false;
  }
  // Adds the next up to 64 differences to the words at `to`.
  bool add_block(unsigned char* to, size_t n_words) noexcept {
    size_t parts;
    if (!byte(&parts)) return false;
    if (!parts) return true;
    uint64_t mask = 0;
    for (int part = 0; part < 8; ++part) {
      size_t bits;
      if (!(parts >> part & 1)) continue;
      if (!byte(&bits) || !bits) return false;
      mask |= uint64_t(bits) << 8 * part;
    }
    if (n_words < 64 && mask >> n_words) return false;
    const auto n = size_t(__builtin_popcountll(mask));
    if (left() < (n + 1) / 2) return false;
    const unsigned char* const lengths = at_;
    at_ += (n + 1) / 2;
    for (size_t i = 0; i < n; ++i, mask &= mask - 1) {
      const size_t bytes = lengths[i / 2] >> 4 * (i % 2) & 0xF;
      uint64_t code = 0;
      if (bytes - 1 > 7 || left() < bytes) return false;
      if (left() >= 8)
        code = load(at_) & (~uint64_t{0} >> (64 - 8 * bytes));
      else
        memcpy(&code, at_, bytes);
      at_ += bytes;
      unsigned char* const word = to + 8 * size_t(__builtin_ctzll(mask));
      store(word, load(word) + unzigzag(code));
    }
    return true;
  }
  bool only_padding_left() const noexcept {
    return left() < 8 && std::all_of(at_, end_, [](unsigned char byte) { return !byte; });
  }

 private:
  const unsigned char *at_, *end_;
};

// Lays the reference's rows out as those of the body to be unpacked.
class Rows {
 public:
  explicit Rows(std::vector<unsigned char>* plain) noexcept : plain_(plain) {}

  bool read(Input* input, const Areas& before) {
    size_t n;
    if (!input->byte(&n) || n > kMostTables) return false;
    const auto n_tables = uint32_t(n);
    memcpy(plain_->data() + offsetof(StepBody, n_tables), &n_tables, sizeof n_tables);
    for (; n; --n)
      if (!read_table(input, before)) return false;
    return true;
  }

 private:
  bool read_table(Input* input, const Areas& before) {
    size_t number, words;
    uint64_t rows, kept, added = 0, passed = 0;
    if (!input->byte(&number) || !input->byte(&words) || !words || !input->number(&rows))
      return false;
    const Area from = before.like({nullptr, 0, words, uint16_t(number)});
    const size_t row_bytes = 8 * words;
    // 64 words take at least one byte.
    if (rows > kMostPlain / row_bytes ||
        plain_->size() + rows * row_bytes > std::min(kMostPlain, 512 * (input->left() + 1)))
      return false;
    const TableHeader header = {uint16_t(number), uint16_t(row_bytes), uint32_t(rows)};
    append(reinterpret_cast<const unsigned char*>(&header), sizeof header);
    for (uint64_t at = 0; rows;) {
      if (!input->number(&kept) || kept > rows || kept > from.n - at) return false;
      append(from.row(at), kept * row_bytes);
      at += kept;
      if (!(rows -= kept)) break;
      if (!input->number(&added) || added > rows) return false;
      plain_->resize(plain_->size() + added * row_bytes);
      if (!(rows -= added)) break;
      if (!input->number(&passed) || passed > from.n - at) return false;
      at += passed;
    }
    return true;
  }
  void append(const unsigned char* bytes, size_t n) {
    plain_->insert(plain_->end(), bytes, bytes + n);
  }

  std::vector<unsigned char>* plain_;
};

template <class Words>
void change(unsigned char* at, void (Words::*how)() noexcept) noexcept {
  Words words(at);
  (words.*how)();
  memcpy(at, words.word, sizeof words.word);
}

}  // namespace

bool packed_start(const unsigned char* packed, size_t bytes, PackedStart* start) noexcept {
  if (bytes < sizeof *start) return false;
  memcpy(start, packed, sizeof *start);
  return true;
}

bool unpack_step(const unsigned char* packed, size_t bytes, PlainBody reference,
                 std::vector<unsigned char>* plain) {
  Areas before, areas;
  size_t layout;
  if (bytes < sizeof(PackedStart) || !before.find(reference)) return false;
  Input input(packed + sizeof(PackedStart), bytes - sizeof(PackedStart));
  if (!input.byte(&layout) || layout > kOtherRows) return false;
  if (layout == kSameRows) {
    plain->assign(reference.at, reference.at + reference.bytes);
  } else {
    plain->assign(reference.at, reference.at + sizeof(StepBody));
    if (!Rows(plain).read(&input, before)) return false;
  }
  if (!areas.find({plain->data(), plain->size()})) return false;

  const auto change_all = [&](auto fixed, auto of_region, auto of_stamps) {
    change(plain->data(), fixed);
    const uint64_t begin = FixedWords(plain->data()).word[kBegin];
    for (const Area& area : areas) {
      if (!area.replaced()) continue;
      auto* const rows = const_cast<unsigned char*>(area.rows);
      for (size_t row = 0; row < area.n; ++row) {
        unsigned char* const at = rows + row * area.words * 8;
        if (area.number == uint16_t(StepTable::regions))
          change(at, of_region);
        else
          of_stamps(at, area.stamps(), begin);
      }
    }
  };
  change_all(&FixedWords::to_distances, &RegionWords::to_distances, stamps_to_distances);
  const size_t n_words = plain->size() / 8;
  for (size_t word = 0; word < n_words; word += 64)
    if (!input.add_block(plain->data() + 8 * word, std::min<size_t>(64, n_words - word)))
      return false;
  change_all(&FixedWords::from_distances, &RegionWords::from_distances, stamps_from_distances);
  return input.only_padding_left();
}

}  // namespace perfield
