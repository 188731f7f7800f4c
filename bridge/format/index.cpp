// SPDX-License-Identifier: BSD-3-Clause
//
// index.cpp - builds, extends, saves and loads the index of one stream file. The file on disk fits
// only this machine's byte order and this version; any other is rebuilt.
#include "format/index.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "platform/kernel_calls.hpp"
#include "platform/open_file.hpp"
#include "platform/regular_file.hpp"

namespace perfield {
namespace {

struct IndexHeader {
  char magic[8];
  uint64_t run_id, decided, n_places, n_holes, n_strangers, other_regions, several_threads;
  uint8_t message_calls[128];
  uint32_t data_crc;    // of the tables that follow
  uint32_t header_crc;  // of the fields before it
};
struct Pair {
  uint64_t first, second;
};
constexpr char kMagic[8] = {'p', 'f', 'i', 'n', 'd', 'e', 'x', '6'};

template <class Row>
void append_rows(std::string* data, const std::vector<Row>& rows) {
  data->append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row));
}

template <class Row>
std::vector<Row> take_rows(const unsigned char** at, uint64_t number) {
  std::vector<Row> rows(number);
  if (number) std::memcpy(rows.data(), *at, number * sizeof(Row));
  *at += number * sizeof(Row);
  return rows;
}

// The folder of an index, open while this lives. A link, or a folder of another user, who can put
// anything in it, is none.
class OwnFolder {
 public:
  explicit OwnFolder(const std::string& index_path)
      : folder_(
            open(folder_of(index_path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
    struct stat facts {};
    is_own_ = fstat(folder_.number(), &facts) == 0 && facts.st_uid == geteuid();
  }

  bool is_own() const { return is_own_; }
  // The file has its name when it is complete, and replaces an earlier one. mode: the umask leaves
  // out more.
  bool write(const std::string& name, const std::string& data, mode_t mode) {
    uint64_t random = 0;
    if (!is_own_ || !try_random(&random, sizeof random)) return false;
    const std::string part = ".perfield-new-" + std::to_string(random);
    const int made = openat(folder_.number(), part.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    FILE* const file = made < 0 ? nullptr : fdopen(made, "wb");
    bool good = file && std::fwrite(data.data(), 1, data.size(), file) == data.size();
    if (file)
      good = std::fclose(file) == 0 && good;
    else if (made >= 0)
      close(made);
    good = good && renameat(folder_.number(), part.c_str(), folder_.number(), name.c_str()) == 0;
    if (made >= 0 && !good) unlinkat(folder_.number(), part.c_str(), 0);
    return good;
  }

 private:
  const OpenFile folder_;
  bool is_own_ = false;
};

}  // namespace

StreamIndex::StreamIndex(std::string stream_path, std::string index_path, uint64_t run_id,
                         uint64_t save_after)
    : stream_path_(std::move(stream_path)),
      index_path_(std::move(index_path)),
      run_id_(run_id),
      save_after_(save_after) {}

void StreamIndex::forget() {
  places_.clear();
  damage_.clear();
  waiting_.clear();
  bodies_.forget();
  strangers_.clear();
  message_calls_.fill(0);
  other_regions_ = several_threads_ = false;
  decided_ = saved_ = 0;
}

bool StreamIndex::refresh() {
  StreamFile file(stream_path_);  // opened anew, so that an NFS client asks the server
  if (!file.opened()) return false;
  if (file.size() < decided_) forget();
  if (!tried_to_load_ && !load(file)) forget();
  tried_to_load_ = true;

  const size_t places_before = places_.size();
  std::vector<Damage> holes = std::move(damage_);
  for (WaitingStep& step : waiting_) holes.push_back(std::move(step.place));
  damage_.clear();
  waiting_.clear();
  full_.clear();
  for (const Damage& hole : holes) read(file, hole.offset, hole.offset + hole.bytes, false);
  const bool healed = places_.size() > places_before;
  read(file, decided_, file.size(), true);
  if (healed)
    std::sort(places_.begin(), places_.end(),
              [](const EntryPlace& a, const EntryPlace& b) { return a.offset < b.offset; });
  bodies_.close();
  if (decided_ - saved_ >= save_after_ && !index_path_.empty()) save();
  return true;
}

bool StreamIndex::is_lost(const WaitingStep& step) const {
  uint32_t newest;
  return bodies_.newest(step.rank, &newest) && newest > step.reference;
}

std::vector<Damage> StreamIndex::damage() const {
  std::vector<Damage> all = damage_;
  for (const WaitingStep& step : waiting_)
    if (is_lost(step)) all.push_back(step.place);
  std::sort(all.begin(), all.end(),
            [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
  return all;
}

std::vector<Damage> StreamIndex::waiting() const {
  std::vector<Damage> all;
  for (const WaitingStep& step : waiting_)
    if (!is_lost(step)) all.push_back(step.place);
  return all;
}

// Only entries that were read out of order come here.
bool StreamIndex::find_full(int32_t rank, uint32_t sequence, uint64_t* offset) {
  if (full_.empty())
    for (const EntryPlace& place : places_)
      if (is_full_step(place)) full_[{place.rank, place.sequence}] = place.offset;
  const auto found = full_.find({rank, sequence});
  if (found == full_.end()) return false;
  *offset = found->second;
  return true;
}

void StreamIndex::note_step(const StepView& step, EntryPlace* place) {
  place->kind = step.fixed.kind;
  place->flags = step.fixed.flags;
  place->mesh_version = step.fixed.mesh_version;
  place->span = step.fixed.span;
  place->reference = step.reference;
  place->reference_offset = step.reference_offset;
  for (const MessageRow row : step.messages)
    if (row.call < message_calls_.size()) message_calls_[row.call] = 1;
  for (const RegionRow row : step.regions) {
    if (row.id == 0) other_regions_ = true;
    if (row.threads > 1) several_threads_ = true;
  }
}

void StreamIndex::read(StreamFile& file, uint64_t begin, uint64_t end, bool tail) {
  const auto note = [this](const EntryHeader& header, uint64_t offset, const unsigned char*,
                           const StepView* step) {
    EntryPlace place{};
    place.offset = offset;
    place.index = header.index;
    place.body_bytes = header.body_bytes;
    place.rank = header.rank;
    place.sequence = header.sequence;
    place.type = header.type;
    place.version = header.version;
    if (step) note_step(*step, &place);
    places_.push_back(place);
  };
  ScanResult found = scan_entries(file, begin, end, run_id_, note, &bodies_);
  for (Damage& damage : found.damage) damage_.push_back(std::move(damage));
  for (WaitingStep& step : found.waiting) waiting_.push_back(std::move(step));
  for (const auto& [id, number] : found.strangers) strangers_[id] += number;
  if (tail) {
    decided_ = found.decided;
    pending_ = {decided_, file.size() - decided_, found.pending};
  } else if (found.decided < end) {
    damage_.push_back({found.decided, end - found.decided, found.pending});
  }
}

void StreamIndex::save() {
  std::vector<Pair> holes, strangers;
  for (const Damage& damage : damage_) holes.push_back({damage.offset, damage.bytes});
  for (const WaitingStep& step : waiting_) holes.push_back({step.place.offset, step.place.bytes});
  for (const auto& [id, number] : strangers_) strangers.push_back({id, number});
  std::string data;
  append_rows(&data, places_);
  append_rows(&data, holes);
  append_rows(&data, strangers);

  IndexHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.run_id = run_id_;
  header.decided = decided_;
  header.n_places = places_.size();
  header.n_holes = holes.size();
  header.n_strangers = strangers.size();
  header.other_regions = other_regions_;
  header.several_threads = several_threads_;
  std::copy(message_calls_.begin(), message_calls_.end(), header.message_calls);
  header.data_crc = crc32c(data.data(), data.size());
  header.header_crc = crc32c(&header, offsetof(IndexHeader, header_crc));
  data.insert(0, reinterpret_cast<const char*>(&header), sizeof(header));

  // Fails if it exists; if it cannot be made, so does the next.
  mkdir(folder_of(index_path_).c_str(), 0777);
  // Who cannot read the stream must not read the index; a group counts only where all others do.
  const mode_t mode = S_IRUSR | S_IWUSR | readers(stream_path_, gid_t(-1));
  if (OwnFolder(index_path_).write(index_path_.substr(index_path_.rfind('/') + 1), data, mode))
    saved_ = decided_;
  else
    index_path_.clear();  // does not try an unwritable place again
}

bool StreamIndex::load(StreamFile& file) {
  if (index_path_.empty() || !OwnFolder(index_path_).is_own()) return false;
  StreamFile stored(index_path_);
  if (!stored.opened() || stored.size() < sizeof(IndexHeader)) return false;
  IndexHeader header;
  const unsigned char* const opening = stored.window(0, sizeof header);
  if (!opening) return false;
  std::memcpy(&header, opening, sizeof header);
  // Each row is of bytes in the stream, so a stream bounds what its index takes.
  const uint64_t data_bytes = stored.size() - sizeof(header);
  const uint64_t entries = file.size() / sizeof(EntryHeader), holes = file.size();
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
      crc32c(&header, offsetof(IndexHeader, header_crc)) != header.header_crc ||
      header.run_id != run_id_ || header.decided > file.size() || header.n_places > entries ||
      header.n_holes > holes || header.n_strangers > entries ||
      header.n_places * sizeof(EntryPlace) + (header.n_holes + header.n_strangers) * sizeof(Pair) !=
          data_bytes)
    return false;
  std::vector<unsigned char> bytes(stored.size());
  for (uint64_t at = 0; at < bytes.size(); at += StreamFile::kAhead) {
    const size_t part = std::min<size_t>(StreamFile::kAhead, bytes.size() - at);
    const unsigned char* window = stored.window(at, part);
    if (!window) return false;
    std::memcpy(bytes.data() + at, window, part);
  }
  const unsigned char* data = bytes.data() + sizeof(header);
  if (crc32c(data, data_bytes) != header.data_crc) return false;

  places_ = take_rows<EntryPlace>(&data, header.n_places);
  for (const EntryPlace& place : places_)
    if (place.offset >= header.decided || !is_index_possible(place.type, place.index)) return false;
  for (const Pair& hole : take_rows<Pair>(&data, header.n_holes))
    damage_.push_back({hole.first, hole.second, ""});
  for (const Pair& stranger : take_rows<Pair>(&data, header.n_strangers))
    strangers_[stranger.first] = stranger.second;
  std::copy(std::begin(header.message_calls), std::end(header.message_calls),
            message_calls_.begin());
  other_regions_ = header.other_regions;
  several_threads_ = header.several_threads;
  decided_ = saved_ = header.decided;
  for (const EntryPlace& place : places_)
    if (is_full_step(place)) bodies_.note(place, place.offset);

  if (places_.empty()) return true;
  EntryHeader last;  // checks that it is the same stream
  return read_header(file, places_.back().offset, &last) && last.rank == places_.back().rank &&
         last.sequence == places_.back().sequence && last.index == places_.back().index;
}

}  // namespace perfield
