// SPDX-License-Identifier: BSD-3-Clause
//
// cupti_host.c - a stand-in for libcupti in tests: hands over records that the test makes, in
// CUPTI's own types, when its buffers are full or flushed. With FAILING in the environment nothing
// can be enabled; once the test sets `is_gone`, nothing can be flushed.
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint8_t* buffer;
static size_t room, used;
int flushes, watchers, is_gone;

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  ++watchers;
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  (void)kind;
  return getenv("FAILING") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                        : "CUPTI_ERROR_UNKNOWN";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (is_gone) return CUPTI_ERROR_UNKNOWN;
  if (!(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)) ++flushes;
  if (buffer) complete(NULL, 0, buffer, room, used);
  buffer = NULL;
  return CUPTI_SUCCESS;
}

static size_t bytes_of(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    default:
      return sizeof(CUpti_ActivityDevice5);
  }
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* from, size_t valid, CUpti_Activity** record) {
  uint8_t* next = *record ? (uint8_t*)*record + bytes_of(*record) : from;
  if (next >= from + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity*)next;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t* dropped) {
  (void)context, (void)stream;
  *dropped = getenv("DROPPING") ? 7 : 0;
  return CUPTI_SUCCESS;
}

// --- what the device of the test does -----------------------------------------------------------
static void* record_of(CUpti_ActivityKind kind) {
  CUpti_Activity blank;
  blank.kind = kind;
  const size_t bytes = bytes_of(&blank);
  if (buffer && used + bytes > room) {
    complete(NULL, 0, buffer, room, used);
    buffer = NULL;
  }
  if (!buffer) {
    size_t most = 0;
    used = 0;
    request(&buffer, &room, &most);
  }
  if (!buffer) abort();
  CUpti_Activity* record = (CUpti_Activity*)(buffer + used);
  memset(record, 0xEE, bytes);  // what is not set below is not a number to add up
  record->kind = kind;
  used += bytes;
  return record;
}

void device_kernel(uint64_t start, uint64_t end) {
  CUpti_ActivityKernel9* kernel = record_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  kernel->start = start;
  kernel->end = end;
}

void device_copy(int kind, uint64_t bytes, uint64_t start, uint64_t end) {
  CUpti_ActivityMemcpy6* copy = record_of(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy->copyKind = (uint8_t)kind;
  copy->bytes = bytes;
  copy->start = start;
  copy->end = end;
}

void device_copy_to_other(uint64_t bytes, uint64_t start, uint64_t end) {
  CUpti_ActivityMemcpyPtoP4* copy = record_of(CUPTI_ACTIVITY_KIND_MEMCPY2);
  copy->bytes = bytes;
  copy->start = start;
  copy->end = end;
}

void device_set(uint64_t bytes, uint64_t start, uint64_t end) {
  CUpti_ActivityMemset4* set = record_of(CUPTI_ACTIVITY_KIND_MEMSET);
  set->bytes = bytes;
  set->start = start;
  set->end = end;
}

void device_something_else(void) { record_of(CUPTI_ACTIVITY_KIND_DEVICE); }
