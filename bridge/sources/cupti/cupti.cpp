// SPDX-License-Identifier: BSD-3-Clause
//
// cupti.cpp - libperfield_cupti.so: measures kernels and copies of NVIDIA devices through CUPTI.
// CUDA's driver loads it for CUDA_INJECTION64_PATH, only in programs that use a device. A device
// works asynchronously, so perfield asks for finished work when a step closes.
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "recorder/source.h"
#include "sources/cupti/activity.hpp"
#include "sources/find_symbol.hpp"
#include "sources/now.hpp"

namespace {

using perfield::find_symbol;
using perfield::now_ns;

constexpr const char* kSource = "cupti";

perfield::cupti::Activity activity;

// --- libcupti, opened and not linked: it need not be there ---------------------------------------
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&cuptiGetResultString) result_string;
};
Cupti cupti;

bool open_cupti() noexcept {
  char versioned[24];  // CUDA_VERSION is 12090 for 12.9
  snprintf(versioned, sizeof versioned, "libcupti.so.%d", CUDA_VERSION / 1000);
  for (const char* name : {static_cast<const char*>(versioned), "libcupti.so",
                           static_cast<const char*>(PERFIELD_CUPTI_LIBRARY)}) {
    void* library = *name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library &&
        find_symbol(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) &&
        find_symbol(library, "cuptiActivityEnable", &cupti.enable) &&
        find_symbol(library, "cuptiActivityFlushAll", &cupti.flush_all) &&
        find_symbol(library, "cuptiActivityGetNextRecord", &cupti.next_record) &&
        find_symbol(library, "cuptiActivityGetNumDroppedRecords", &cupti.dropped_records) &&
        find_symbol(library, "cuptiGetResultString", &cupti.result_string))
      return true;
  }
  return false;
}

// --- buffers of records -------------------------------------------------------------------------
constexpr size_t kBufferBytes = 512 * 1024;  // thousands of records
constexpr int kSpares = 4;
std::atomic<uint8_t*> spares[kSpares];
std::atomic<uint64_t> dropped{0};

void CUPTIAPI hand_out_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = nullptr;
  for (auto& spare : spares)
    if (!*buffer) *buffer = spare.exchange(nullptr, std::memory_order_acquire);
  if (!*buffer) *buffer = static_cast<uint8_t*>(malloc(kBufferBytes));
  *bytes = *buffer ? kBufferBytes : 0;  // 0: CUPTI drops records and counts them
  *most_records = 0;                    // as many as fit
}

void CUPTIAPI take_back_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t,
                               size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  while (buffer && cupti.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
    activity.add(record);
  size_t lost = 0;
  if (cupti.dropped_records(context, stream, &lost) == CUPTI_SUCCESS && lost)
    dropped.fetch_add(lost, std::memory_order_relaxed);
  for (auto& spare : spares) {
    uint8_t* none = nullptr;
    if (!buffer || spare.compare_exchange_strong(none, buffer, std::memory_order_release)) return;
  }
  free(buffer);
}

// --- handing in ---------------------------------------------------------------------------------
constexpr uint64_t kFlushEvery_ns = 10'000'000;  // asking costs time, too
uint64_t flushed_ns = 0;                         // written only by the thread that closes a step
std::atomic<bool> over{false};
// What CUPTI has answered last, before the last step: an error stays if the device is gone.
std::atomic<CUptiResult> last_answer{CUPTI_SUCCESS};

CUptiResult flush(uint32_t flag) noexcept {
  perfield_own_begin();
  const CUptiResult answer = cupti.flush_all(flag);
  perfield_own_end();
  return answer;
}

// The last step gets all remaining work, finished or not.
void take_all() noexcept {
  if (!over.exchange(true)) flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void before_close() {
  const uint64_t now = now_ns();
  if (perfield_source_is_ending()) {
    take_all();
  } else if (!over.load(std::memory_order_acquire) && now - flushed_ns >= kFlushEvery_ns) {
    last_answer.store(flush(0), std::memory_order_relaxed);
    flushed_ns = now;
  }
  activity.hand_in();
}

const char* words_of(CUptiResult answer) noexcept {
  const char* words = nullptr;
  cupti.result_string(answer, &words);
  return words ? words : "unknown error";
}

// Runs at the program's end, before CUPTI's own: later it has nothing to give.
void finish() {
  take_all();
  char sentence[200];
  const CUptiResult answer = last_answer.load(std::memory_order_relaxed);
  if (answer != CUPTI_SUCCESS) {
    snprintf(sentence, sizeof sentence,
             "CUPTI gave no records of the last kernels and copies (%s); the device_ fields of "
             "this run miss them",
             words_of(answer));
    perfield_warn_once_per_node("cupti-ended", sentence);
  }
  const uint64_t lost = dropped.load();
  if (!lost) return;
  snprintf(sentence, sizeof sentence,
           "CUPTI dropped %llu records of kernels and copies for lack of memory; the device_ "
           "fields of this run miss them",
           static_cast<unsigned long long>(lost));
  perfield_warn_once_per_node("cupti-dropped", sentence);
}

// --- starting -----------------------------------------------------------------------------------
void leave_out(const char* what, const char* reason) noexcept {
  char sentence[400];
  snprintf(sentence, sizeof sentence,
           "kernels and copies of the device are not measured: %s (%s); the program runs on", what,
           reason);
  perfield_warn_once_per_node("cupti", sentence);
}

bool start() noexcept {
  const auto worked = [](const char* what, CUptiResult result) {
    if (result == CUPTI_SUCCESS) return true;
    leave_out(what, words_of(result));
    return false;
  };
  return worked("CUPTI takes no buffers",
                cupti.register_callbacks(hand_out_buffer, take_back_buffer)) &&
         worked("CUPTI reports no kernels", cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) &&
         worked("CUPTI reports no copies", cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY)) &&
         worked("CUPTI reports no copies between devices",
                cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY2)) &&
         worked("CUPTI reports no setting of memory", cupti.enable(CUPTI_ACTIVITY_KIND_MEMSET));
}

// A rank's child process inherits the variable, but must not be measured.
bool is_switched_off() noexcept {
  const char* enabled = getenv("PERFIELD_ENABLED");
  return !perfield_source_is_started() && enabled && strcmp(enabled, "false") == 0;
}

}  // namespace

// Always returns 1, so that CUDA goes on.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::atomic<bool> called{false};
  if (called.exchange(true) || is_switched_off()) return 1;
  if (!open_cupti()) {
    const char* reason = dlerror();
    leave_out("libcupti, which belongs to CUDA, cannot be opened", reason ? reason : "too old");
  } else if (start()) {
    perfield_source_present(kSource);
    activity.define();
    atexit(finish);
    perfield_source_before_close(before_close);
  }
  return 1;
}
