// SPDX-License-Identifier: BSD-3-Clause
//
// cuda_host.c - a stand-in for libcuda in tests: two devices that compute at once, in the host's
// memory, with a clock for each stream. It loads tools as CUDA's driver does. If the stand-ins of
// libcupti and libnvidia-ml are there, they hear what the devices do. With CUDA_IS_BUSY in the
// environment another process has the devices for itself.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  GOOD,
  INVALID_VALUE = 1,
  NOT_INITIALIZED = 3,
  UNAVAILABLE = 46,
  NO_DEVICE = 100,
  INVALID_CONTEXT = 201
};
enum { HTOD = 1, DTOH = 2, DTOD = 8 };
enum { N_DEVICES = 2 };

struct cuda_stream {
  uint64_t now;  // ns
};
struct cuda_event {
  uint64_t at;
};
static struct cuda_stream first_stream;
static int is_started, is_active[N_DEVICES];
static _Thread_local int current = -1;  // device of this thread's context

// --- who hears of it ----------------------------------------------------------------------------
static void (*tell_kernel)(uint64_t, uint64_t);
static void (*tell_copy)(int, uint64_t, uint64_t, uint64_t);
static void (*tell_set)(uint64_t, uint64_t, uint64_t);
static void (*tell_memory)(int, long long);
static void (*tell_busy)(int, unsigned);

static void find_listeners(void) {
  const char* tool = getenv("CUDA_INJECTION64_PATH");
  void* library = tool ? dlopen(tool, RTLD_NOW) : NULL;
  int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
  if (initialize) initialize();
  void* cupti = dlopen("libcupti.so", RTLD_NOW);
  void* nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (cupti) {
    *(void**)&tell_kernel = dlsym(cupti, "device_kernel");
    *(void**)&tell_copy = dlsym(cupti, "device_copy");
    *(void**)&tell_set = dlsym(cupti, "device_set");
  }
  if (nvml) {
    *(void**)&tell_memory = dlsym(nvml, "device_memory_changes");
    *(void**)&tell_busy = dlsym(nvml, "device_is_busy");
  }
}

// --- devices and contexts -----------------------------------------------------------------------
int cuInit(unsigned flags) {
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  if (flags) return INVALID_VALUE;
  if (visible && !*visible) return NO_DEVICE;
  if (!is_started) find_listeners();
  is_started = 1;
  return GOOD;
}

int cuGetErrorName(int answer, const char** name) {
  *name = answer == NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
          : answer == UNAVAILABLE ? "CUDA_ERROR_DEVICE_UNAVAILABLE"
                                  : "CUDA_ERROR_UNKNOWN";
  return GOOD;
}

int cuDeviceGetCount(int* count) {
  *count = N_DEVICES;
  return is_started ? GOOD : NOT_INITIALIZED;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < N_DEVICES ? GOOD : INVALID_VALUE;
}

int cuDeviceGetAttribute(int* value, int what, int device) {
  (void)what, (void)device;
  *value = 1;
  return GOOD;
}

int cuDeviceGetPCIBusId(char* text, int room, int device) {
  snprintf(text, (size_t)room, "0000:%02X:00.0", 0x3b + device);
  return GOOD;
}

int cuDeviceGetUuid_v2(unsigned char bytes[16], int device) {
  for (int n = 0; n < 16; ++n) bytes[n] = (unsigned char)(16 * device + n);
  return GOOD;
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  *flags = 0;
  *active = is_active[device];
  return GOOD;
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (getenv("CUDA_IS_BUSY")) return UNAVAILABLE;
  *context = &is_active[device];
  is_active[device] = 1;
  return GOOD;
}

int cuCtxSetCurrent(void* context) {
  current = context ? (int)((int*)context - is_active) : -1;
  return GOOD;
}

int cuCtxCreate_v2(void** context, unsigned flags, int device) {
  (void)flags;
  *context = &is_active[device];
  return cuCtxSetCurrent(*context);
}

int cuCtxGetDevice(int* device) {
  *device = current;
  return current < 0 ? INVALID_CONTEXT : GOOD;
}

int cuCtxSynchronize(void) { return current < 0 ? INVALID_CONTEXT : GOOD; }

// --- kernels ------------------------------------------------------------------------------------
static char spin, nothing, add;

int cuModuleLoadData(void** module, const void* text) {
  *module = &first_stream;
  return strstr(text, ".entry spin") ? GOOD : INVALID_VALUE;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  *function = strcmp(name, "spin") == 0 ? &spin : strcmp(name, "add") == 0 ? &add : &nothing;
  return GOOD;
}

static uint64_t pass(struct cuda_stream* stream, uint64_t ns) {
  stream = stream ? stream : &first_stream;
  const uint64_t begun = stream->now;
  stream->now += ns + 100;  // until the next one
  return begun;
}

static int launch(void* function, unsigned threads, struct cuda_stream* stream, void** arguments) {
  uint64_t ns = 1500;
  if (function == &spin) ns = *(uint64_t*)arguments[0];
  if (function == &add) {
    int* values = *(int**)arguments[0];
    const unsigned count = *(unsigned*)arguments[1];
    for (unsigned n = 0; n < count && n < threads; ++n) values[n] += *(int*)arguments[2];
  }
  const uint64_t begun = pass(stream, ns);
  if (tell_kernel) tell_kernel(begun, begun + ns);
  if (tell_busy) tell_busy(current, ns >= 100000000 ? 100 : 0);
  return GOOD;
}

int cuLaunchKernel(void* function, unsigned blocks, unsigned y, unsigned z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared,
                   struct cuda_stream* stream, void** arguments, void** others) {
  (void)y, (void)z, (void)threads_y, (void)threads_z, (void)shared, (void)others;
  return current < 0 ? INVALID_CONTEXT : launch(function, blocks * threads, stream, arguments);
}

// --- streams and events -------------------------------------------------------------------------
int cuStreamCreate(struct cuda_stream** stream, unsigned flags) {
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  (*stream)->now = first_stream.now;
  return GOOD;
}

int cuStreamSynchronize(struct cuda_stream* stream) {
  (void)stream;
  return GOOD;
}

int cuEventCreate(struct cuda_event** event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof **event);
  return GOOD;
}

int cuEventRecord(struct cuda_event* event, struct cuda_stream* stream) {
  event->at = (stream ? stream : &first_stream)->now;
  return GOOD;
}

// Takes the time that the device would take.
int cuEventSynchronize(struct cuda_event* event) {
  static uint64_t waited;
  if (event->at > waited) usleep((unsigned)((event->at - waited) / 1000));
  if (event->at > waited) waited = event->at;
  return GOOD;
}

int cuEventElapsedTime(float* ms, struct cuda_event* begin, struct cuda_event* end) {
  *ms = (float)((double)(end->at - begin->at) * 1e-6);
  return GOOD;
}

// --- memory -------------------------------------------------------------------------------------
int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  size_t* block = malloc(sizeof(size_t) * 2 + bytes);
  if (!block) return 2;  // out of memory
  *block = bytes;
  *memory = (uint64_t)(block + 2);
  if (tell_memory) tell_memory(current, (long long)bytes);
  return GOOD;
}

int cuMemFree_v2(uint64_t memory) {
  size_t* block = (size_t*)memory - 2;
  if (tell_memory) tell_memory(current, -(long long)*block);
  free(block);
  return GOOD;
}

int cuMemAllocManaged(uint64_t* memory, size_t bytes, unsigned flags) {
  (void)flags;
  return cuMemAlloc_v2(memory, bytes);
}

int cuMemAllocHost_v2(void** memory, size_t bytes) {
  *memory = malloc(bytes);
  return *memory ? GOOD : 2;
}

static int copy(int way, void* to, const void* from, size_t bytes, struct cuda_stream* stream) {
  const uint64_t ns = bytes / 10 + 1;  // 10 GB/s
  memcpy(to, from, bytes);
  const uint64_t begun = pass(stream, ns);
  if (tell_copy) tell_copy(way, bytes, begun, begun + ns);
  return GOOD;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, struct cuda_stream* stream) {
  return copy(HTOD, (void*)to, from, bytes, stream);
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, struct cuda_stream* stream) {
  return copy(DTOH, to, (const void*)from, bytes, stream);
}

int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return cuMemcpyHtoDAsync_v2(to, from, bytes, NULL);
}

int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return cuMemcpyDtoHAsync_v2(to, from, bytes, NULL);
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
  return copy(DTOD, (void*)to, (const void*)from, bytes, NULL);
}

int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) {
  memset((void*)to, value, bytes);
  const uint64_t begun = pass(NULL, bytes / 10 + 1);
  if (tell_set) tell_set(bytes, begun, begun + bytes / 10 + 1);
  return GOOD;
}
