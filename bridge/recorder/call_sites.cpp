// SPDX-License-Identifier: BSD-3-Clause
//
// call_sites.cpp - see call_sites.hpp. Unwinds the stack before it locks the table: unwinding takes
// the dynamic loader's lock, and the thread that holds that one may be waiting for the table.
#include "recorder/call_sites.hpp"

#include <link.h>
#include <unwind.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "platform/hash.hpp"
#include "platform/pages.hpp"
#include "recorder/thread_profile.hpp"

namespace perfield {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr uint32_t kFollowedFor = 1 << 17;  // calls, until collective operations alone are followed
constexpr uint32_t kNoModule = ~uint32_t(0);  // code generated at run time

const char* base_name(const char* path) noexcept {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

uint64_t hash_of(const char* text) noexcept {
  uint64_t hash = 1469598103934665603u;
  for (; *text; ++text) hash = mix(hash, static_cast<unsigned char>(*text));
  return hash;
}

}  // namespace

// The callers of an MPI call, without the frames inside perfield.
struct CallSites::Backtrace {
  static constexpr int kOwnFrames = 8;  // at most, between the program and here
  uintptr_t address[kMostSiteFrames + kOwnFrames];
  uintptr_t place[kMostSiteFrames + kOwnFrames];  // its address on the stack; 0: not known
  const char* path[kMostSiteFrames + kOwnFrames];
  uint64_t offset[kMostSiteFrames + kOwnFrames];
  int first = 0, end = 0;
  uintptr_t frame_record = 0, stack = 0;  // of the frame that was noted last; aarch64
  const PythonStack& python;
  const char* script;  // its innermost frame, which stands for the interpreter's; nullptr: none
  bool is_of_interpreter = false;

  explicit Backtrace(const PythonStack& python) noexcept
      : python(python), script(python.innermost()) {}

  void take() noexcept {
    _Unwind_Backtrace(note_frame, this);
    dl_iterate_phdr(note_module, this);
    while (first < end && path[first] && !strncmp(base_name(path[first]), "libperfield", 11))
      ++first;
    if (end - first > kMostSiteFrames) end = first + kMostSiteFrames;
    for (int i = first; i < end && !is_of_interpreter; ++i) {
      const char* const name = path[i] ? base_name(path[i]) : "";
      is_of_interpreter = python.is_inside(address[i]) || !strncmp(name, "python", 6) ||
                          !strncmp(name, "libpython", 9);
      if (is_of_interpreter && script) end = i;
    }
    if (!is_of_interpreter) script = nullptr;
  }

  // Calls `take` with the lines of the script, innermost first.
  template <class Take>
  void each_line(Take take) const noexcept {
    const char* frame = script;
    for (int i = 0; frame && i < PythonStack::kMostFrames; ++i, frame = python.caller(frame)) {
      PythonLine line;
      if (python.read(frame, &line)) take(line);
    }
  }

  uint64_t identity(uint16_t call) const noexcept {
    uint64_t hash = mix(call, 1);
    for (int i = first; i < end; ++i)
      if (path[i]) hash = mix(mix(hash, hash_of(base_name(path[i]))), offset[i]);
    each_line([&hash](const PythonLine& line) { hash = mix(hash, line.identity); });
    return hash;
  }

  // Without the line or function that makes the call.
  uint64_t level(uint16_t call) const noexcept {
    uint64_t hash = mix(call, 2);
    bool is_inner = true;
    each_line([&](const PythonLine& line) {
      if (!is_inner) hash = mix(hash, line.identity);
      is_inner = false;
    });
    for (int i = first + 1; i < end && !script; ++i)
      if (path[i]) hash = mix(mix(hash, hash_of(base_name(path[i]))), offset[i]);
    return hash;
  }

 private:
  static _Unwind_Reason_Code note_frame(_Unwind_Context* context, void* data) noexcept {
    auto* self = static_cast<Backtrace*>(data);
    if (self->end == kMostSiteFrames + kOwnFrames) return _URC_END_OF_STACK;
    const uintptr_t address = _Unwind_GetIP(context);
#if defined(__aarch64__)
    // The called function saves it behind the frame pointer of its caller, in its own part of the
    // stack, unless it was compiled without frame pointers.
    constexpr int kFramePointer = 29;
    const uintptr_t saved = self->frame_record + sizeof(uintptr_t), stack = _Unwind_GetCFA(context);
    const bool is_inside = saved >= self->stack && saved < stack && saved % sizeof saved == 0;
    const uintptr_t place = is_inside ? saved : 0;
    self->frame_record = _Unwind_GetGR(context, kFramePointer);
    self->stack = stack;
#else
    // On most machines, a call leaves it right below the caller's stack.
    const uintptr_t place = _Unwind_GetCFA(context) - sizeof(uintptr_t);
#endif
    // The upper half may hold a signature, and is not compared later either.
    const bool lies_there =
        self->end > 0 && place &&
        uint32_t(*reinterpret_cast<const uintptr_t*>(place)) == uint32_t(address);
    self->address[self->end] = address;
    self->place[self->end] = lies_there ? place : 0;
    self->path[self->end++] = nullptr;
    return _URC_NO_REASON;
  }

  static int note_module(dl_phdr_info* object, size_t, void* data) noexcept {
    auto* self = static_cast<Backtrace*>(data);
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
      for (int f = 0; f < self->end; ++f) {
        if (self->address[f] - begin >= segment.p_memsz) continue;
        self->path[f] = object->dlpi_name;
        self->offset[f] = self->address[f] - object->dlpi_addr;
      }
    }
    return 0;
  }
};

CallSites::~CallSites() {
  if (tables_) munmap(static_cast<void*>(tables_), sizeof *tables_);
}

void CallSites::start(const StepCall& step, const StepSearch& search) noexcept {
  void* const memory = map_pages(sizeof(Tables));
  if (!memory) return;
  tables_ = static_cast<Tables*>(memory);
  new (&tables_->finder) StepFinder;
  new (&tables_->agreed) AgreedSite(search.proposes);
  new (&tables_->pace) StepPace;
  step_ = step;
  uint64_t start_or_poll = 0;
  for (const int call :
       {PERFIELD_CALL_isend, PERFIELD_CALL_ibsend, PERFIELD_CALL_issend, PERFIELD_CALL_irsend,
        PERFIELD_CALL_start, PERFIELD_CALL_irecv, PERFIELD_CALL_imrecv, PERFIELD_CALL_iprobe,
        PERFIELD_CALL_test, PERFIELD_CALL_testall, PERFIELD_CALL_testany, PERFIELD_CALL_testsome})
    if (call != step.call) start_or_poll |= kind(call);
  kinds_.store(~start_or_poll, relaxed);
  python_.find();
  finds_.store(search.finds, relaxed);
  agrees_.store(search.agrees, relaxed);
  activity_.calls.fetch_or(Activity::followed, std::memory_order_release);
}

bool CallSites::join(ThreadProfile& s, uint64_t now) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!s.sites.start()) {
    stop();
    return false;
  }
  if (n_threads_ == 0) first_hit_.store(now, relaxed);
  ++n_threads_;
  return true;
}

uint32_t CallSites::add(ThreadProfile& s, uint16_t call, const void* caller,
                        const void* frame) noexcept {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_full()) give_up_old(s);
    if (n_keys_ == kMostKeys) return no_room(call, caller, frame);
  }
  Backtrace found(python_);
  found.take();
  std::lock_guard<std::mutex> lock(mutex_);
  if (n_keys_ == kMostKeys) return no_room(call, caller, frame);
  const uint32_t site = site_of(found, call);
  add_key(found, site, call, caller, frame);
  return site == kNoRoom ? no_room(call, caller, frame) : site;
}

// The key is kept even without room for its site, so that the stack is not unwound again at each
// hit.
void CallSites::add_key(const Backtrace& found, uint32_t site, uint16_t call, const void* caller,
                        const void* frame) noexcept {
  Key& k = tables_->keys[n_keys_++];
  k = {site, call, 0, with_script(caller), frame, {}};
  int n = 0;
  for (int i = found.first; i < found.end && n < kCompared; ++i) {
    const uint64_t offset = found.place[i] - reinterpret_cast<uintptr_t>(frame);
    if (found.place[i] == 0 || offset > UINT32_MAX) continue;
    // The innermost one is `caller`, which is compared anyway.
    if (i == found.first && found.address[i] == reinterpret_cast<uintptr_t>(caller)) continue;
    k.returns[n++] = {uint32_t(offset), uint32_t(found.address[i])};
  }
  for (; n % 4 != 0; ++n) k.returns[n] = k.returns[n - 1];
  k.n_fours = uint16_t(n / 4);
  uint32_t slot = first_slot(call, k.caller, frame) % kSlots;
  while (tables_->slots[slot].load(relaxed) != 0) slot = (slot + 1) % kSlots;
  tables_->slots[slot].store(n_keys_, std::memory_order_release);
}

// Finds the site with these callers. It may have been reached before at another depth of the stack:
// on another thread, or below an array of variable length.
uint32_t CallSites::site_of(const Backtrace& found, uint16_t call) noexcept {
  const uint64_t identity = found.identity(call);
  if (const uint32_t known = number_of(identity); known != kNone) return known;
  const uint32_t n = size();
  if (n == kMostSites || n_frames_ + kMostSiteFrames > kMostFrames) return kNoRoom;
  CallSite& site = tables_->sites[n];
  site = {identity,  found.level(call),
          n_frames_, 0,
          call,      {StepFinder::kNone, StepFinder::kNone},
          0,         false,
          0,         0,
          0};
  for (int i = found.first; i < found.end; ++i) {
    const uint32_t module = found.path[i] ? module_number(found.path[i]) : kNoModule;
    if (module == kNoModule) continue;
    tables_->frames[n_frames_++] = {module, found.offset[i]};
    ++site.n_frames;
  }
  // Without a line, where lines are readable, the interpreter itself calls: it is ending, say.
  site.is_of_interpreter = found.is_of_interpreter && !python_.is_readable();
  found.each_line([this, &site](const PythonLine& line) {
    char module[kLongestPath];
    snprintf(module, sizeof module, "%s%s:%s", kScript, line.function, line.file);
    const uint32_t number = module_number(module);
    if (number == kNoModule || site.n_frames == kMostSiteFrames) return;
    tables_->frames[n_frames_++] = {number, uint64_t(line.line)};
    ++site.n_frames;
  });
  if (step_.is_of(call, identity)) step_site_.store(n, relaxed);
  size_.store(n + 1, std::memory_order_release);
  return n;
}

uint32_t CallSites::module_number(const char* path) noexcept {
  for (uint32_t i = 0; i < n_modules_; ++i)
    if (!strncmp(tables_->modules[i], path, kLongestPath - 1)) return i;
  if (n_modules_ == kMostModules) return kNoModule;
  snprintf(tables_->modules[n_modules_], kLongestPath, "%s", path);
  return n_modules_++;
}

bool CallSites::counts_for_step(ThreadProfile& s, uint32_t site) noexcept {
  const uint64_t hits = step_hits_.fetch_add(1, relaxed) + 1;
  if (hits == step_.every) {
    std::lock_guard<std::mutex> lock(mutex_);
    keep_only(s, [site](uint32_t i) { return i == site; });
  }
  return hits % step_.every == 0;
}

// --- steps that are found

// Threads may take turns in another order on each rank, so only a single one is followed.
uint64_t CallSites::met_by_all(ThreadProfile& s) noexcept {
  if (!finds_.load(relaxed)) return 0;
  const uint32_t number = s.sites.newest;
  if (number >= size() || n_threads_.load(relaxed) != 1 || tables_->sites[number].is_of_interpreter)
    return stop_finding() ? kRestartSteps : kNothing;
  CallSite& site = tables_->sites[number];
  StepFinder& finder = tables_->finder;
  ++n_of_all_;
  tables_->agreed.met_by_all();
  const uint32_t calls = s.sites.at(0, number).gap.get();
  const bool in_a_row = calls > 0 && calls == n_of_all_ - site.newest_of_all;
  site.newest_of_all = n_of_all_;
  uint8_t& in_finder = site.in_finder[in_a_row];
  in_finder = finder.number_of(site.identity, site.n_frames, in_a_row, in_finder);
  const bool is_check = is_agreed() && is_check_of_steps(&site);
  const StepFinder::Answer answer = finder.met(in_finder);
  if (is_check && in_finder == finder.chosen() && !finder.is_one_of_many(in_finder)) {
    n_checks_ = answer == StepFinder::Answer::closes ? n_checks_ + 1 : 1;
    looks_after_check_ = tables_->agreed.is_new() ? kLooksAfterCheck : 0;
    return looks_after_check_ ? kAskRanks : kNothing;
  }
  switch (answer) {
    case StepFinder::Answer::nothing:
      return 0;
    case StepFinder::Answer::restarts:
      tables_->pace.restart();
      return take_over() | kRestartSteps;
    case StepFinder::Answer::closes: {
      if (is_agreed() && is_of_shorter_loop()) return 0;
      const uint64_t before = take_over();
      // A loop as long is not setup, so the ranks look for no loop of messages behind it.
      if (is_agreeing() && finder.steps() >= StepFinder::kLongest) stop_agreeing();
      if (s.sites.n_calls > kFollowedFor) kinds_.store(~(kind(PERFIELD_CALL_barrier) - 1), relaxed);
      return before | paced(finder.steps());
    }
    case StepFinder::Answer::restarts_and_closes: {
      tables_->pace.restart();
      const uint64_t before = take_over();
      return before | kRestartSteps | paced(finder.steps());
    }
  }
  return 0;
}

// Collective operations end steps from now on.
uint64_t CallSites::take_over() noexcept {
  n_checks_ = 0;
  AgreedSite& agreed = tables_->agreed;
  const bool is_new = !found_.exchange(true, relaxed), was_agreed = is_agreed();
  if (was_agreed) tables_->pace.restart();
  if (!is_agreeing()) return 0;
  const bool refuses = is_new || agreed.has_agreed();
  agreed.refuse();
  agreed.wait_for_end();
  return (refuses ? kRefuseSteps : kNothing) | (was_agreed ? kRestartSteps : kNothing);
}

// To ranks that have not begun, each of these checks has closed a step.
uint32_t CallSites::closings_after_refusal() noexcept {
  const uint32_t n = std::exchange(n_checks_, 0);
  looks_after_check_ = 0;
  if (n > 0) take_over();
  return n > 0 && paced(tables_->finder.steps()) & kCloseStep ? n : 0;
}

bool CallSites::end_found() noexcept {
  const bool found = found_.exchange(false, relaxed);
  const StepFinder& finder = tables_->finder;
  if (found && finder.chosen() != StepFinder::kNone) ended_ = finder.identity(finder.chosen());
  return found;
}

// A loop of setup takes no steps back if it is met once more, behind a longer loop of messages.
bool CallSites::is_of_shorter_loop() const noexcept {
  const StepFinder& finder = tables_->finder;
  return finder.identity(finder.chosen()) == ended_ && finder.steps() < found_steps();
}

// Whether a collective operation comes after each tenth, 20th, ... step of a loop of messages: it
// looks whether that has converged.
bool CallSites::is_check_of_steps(CallSite* site) noexcept {
  const uint64_t step = found_steps(), gap = step - site->step;
  const bool is_alike = site->step && gap == site->gap;
  const bool is_second = site->step && !site->gap;
  site->gap = site->step ? gap : 0;
  site->step = step;
  return (is_alike || is_second) && gap >= 10 && StepFinder::is_round(gap);
}

uint64_t CallSites::paced(uint64_t hits) noexcept {
  const HitAnswer answer = tables_->pace.met(hits);
  return (answer & kHitAsks ? kAskRanks : kNothing) | (answer & kHitCloses ? kCloseStep : kNothing);
}

bool CallSites::stop_finding() noexcept {
  const bool any = has_found();
  finds_.store(false, relaxed);
  found_.store(false, relaxed);
  if (is_agreeing()) stop_agreeing();
  return any;
}

bool CallSites::found_is_right() noexcept {
  return is_agreed() ? tables_->agreed.is_right_at_end(found_steps())
                     : has_found() && tables_->finder.is_right_at_end();
}

uint64_t CallSites::found_site() const noexcept {
  if (is_agreed()) return tables_->sites[tables_->agreed.site()].identity;
  return tables_->finder.identity(tables_->finder.chosen());
}

uint64_t CallSites::found_name() const noexcept {
  return is_agreed() ? tables_->agreed.proposed() : tables_->finder.n_choices();
}

uint64_t CallSites::found_steps() const noexcept {
  const AgreedSite& agreed = tables_->agreed;
  return is_agreed() ? hits_of(agreed.site()) / agreed.every() : tables_->finder.steps();
}

uint64_t CallSites::found_first() const noexcept {
  return is_agreed() ? tables_->agreed.first_step() : tables_->finder.first_steps();
}

// --- steps on which the ranks agree

uint64_t CallSites::met_alone(ThreadProfile& s, uint32_t number, uint64_t hits) noexcept {
  CallSite& site = tables_->sites[number];
  if (n_threads_.load(relaxed) != 1 || site.is_of_interpreter)
    return stop_finding() ? kRestartSteps : kNothing;
  hits_ = &s.sites;
  if (counts_visits(site.call)) {
    if (hits > 1 && s.sites.at(0, number).gap.get() == 1) return 0;
    hits = ++site.visits;
  }
  const bool looks = looks_after_check_ > 1 && --looks_after_check_;
  const HitAnswer answer =
      tables_->agreed.met(number, site.identity, site.n_frames, hits, &site.in_finder[0], [&s] {
        return SeenSoFar{s.messages.by_partner(), s.sites.n_calls};
      });
  return (looks || answer & kHitAsks ? kAskRanks : kNothing) |
         (answer & kHitCloses ? paced(hits / tables_->agreed.every()) : kNothing);
}

uint32_t CallSites::number_of(uint64_t identity) const noexcept {
  const uint32_t n = size();
  for (uint32_t i = 0; i < n; ++i)
    if (tables_->sites[i].identity == identity) return i;
  return kNone;
}

uint64_t CallSites::hits_of(uint32_t site) const noexcept {
  if (site >= size()) return 0;
  const CallSite& s = tables_->sites[site];
  return counts_visits(s.call) ? s.visits : hits_->at(0, site).beats.get();
}

StepProposal CallSites::take_wish() noexcept {
  StepProposal wish = tables_->agreed.take_wish();
  if (const uint32_t site = number_of(wish.identity); wish.identity && site != kNone)
    wish.level = tables_->sites[site].level;
  return wish;
}

// Where this rank does not hit that very site as often, the last such call of the same function
// that it does: the last one of a loop closes steps best.
bool CallSites::agree(const StepProposal& proposal) noexcept {
  AgreedSite& agreed = tables_->agreed;
  const bool has_chosen = agreed.has_agreed() && agreed.is_about(proposal);
  uint32_t chosen = has_chosen ? agreed.site() : number_of(proposal.identity);
  if (!has_chosen && !AgreedSite::fits(proposal, hits_of(chosen)))
    for (uint32_t i = 0; i < size(); ++i) {
      const CallSite& site = tables_->sites[i];
      if (site.level == proposal.level && AgreedSite::fits(proposal, hits_of(i))) chosen = i;
    }
  return agreed.agree(proposal, chosen, hits_of(chosen));
}

// --- room
// -----------------------------------------------------------------------------------------

uint32_t CallSites::no_room(uint16_t call, const void* caller, const void* frame) noexcept {
  overflowed_.fetch_add(1, relaxed);
  const uint32_t bit = first_slot(call, caller, frame) % kPlaceBits;
  std::atomic<uint64_t>& word = tables_->places[bit / 64];
  const uint64_t mask = uint64_t(1) << (bit % 64);
  if (!(word.load(relaxed) & mask)) word.fetch_or(mask, relaxed);
  return kNoRoom;
}

uint64_t CallSites::places_without_room() const noexcept {
  uint64_t places = 0;
  if (overflowed())
    for (const auto& word : tables_->places) places += uint64_t(__builtin_popcountll(word.load()));
  return places;
}

uint64_t CallSites::bytes() const noexcept {
  if (size() == 0) return 0;
  return sizeof tables_->slots + n_keys_ * sizeof(Key) + size() * sizeof(CallSite) +
         n_frames_ * sizeof(SiteFrame) + n_modules_ * uint64_t(kLongestPath);
}

bool CallSites::is_full() const noexcept {
  return n_keys_ == kMostKeys || size() == kMostSites || n_frames_ + kMostSiteFrames > kMostFrames;
}

// Keeps the sites that were hit within the later half of the thread's calls, and the step's: the
// program's setup is over, or one of its phases.
void CallSites::give_up_old(ThreadProfile& s) noexcept {
  if (cleanings_ == kMostCleanings) return;
  ++cleanings_;
  const uint32_t now = s.sites.n_calls, step_site = step_site_.load(relaxed);
  keep_only(s, [&](uint32_t i) {
    return i == step_site || now - s.sites.at(0, i).last_call.get() <= now / 2;
  });
}

// Renumbers the sites that stay. Their keys are noted again at their next hits. Other threads may
// be looking at the tables, so nothing happens where there are any.
template <class Keep>
void CallSites::keep_only(ThreadProfile& s, Keep keep) noexcept {
  if (n_threads_ != 1) return;
  Tables& t = *tables_;
  const uint32_t n = size(), step_site = step_site_.load(relaxed);
  uint32_t kept = 0, frames = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (!keep(i)) continue;
    CallSite site = t.sites[i];
    memmove(t.frames + frames, t.frames + site.first_frame, site.n_frames * sizeof *t.frames);
    site.first_frame = frames;
    frames += site.n_frames;
    t.sites[kept] = site;
    if (i == step_site) step_site_.store(kept, relaxed);
    t.agreed.move(i, kept);
    if (kept != i) s.sites.move(i, kept);
    ++kept;
  }
  s.sites.forget(kept, n);
  given_up_.fetch_add(n - kept, relaxed);
  size_.store(kept, std::memory_order_release);
  n_frames_ = frames;
  n_keys_ = 0;
  for (auto& slot : t.slots) slot.store(0, relaxed);
}

}  // namespace perfield
