// SPDX-License-Identifier: BSD-3-Clause
//
// cuda_driver.h - what test programs need of CUDA's driver: its functions, declared here as cuda.h
// has them and found in libcuda.so.1, and kernels as text (PTX) that the driver compiles for its
// device. So the tests need no toolkit. Without a device, the program says so and exits with 77.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct cuda_context* CUcontext;
typedef struct cuda_module* CUmodule;
typedef struct cuda_function* CUfunction;
typedef struct cuda_stream* CUstream;
typedef struct cuda_event* CUevent;
enum { CUDA_NON_BLOCKING = 1, CUDA_MANAGED_EVERYWHERE = 1, CUDA_MANAGED_BY_BOTH = 89 };

// Name, the symbol of the version that is declared here, and its parameters.
#define CUDA_FUNCTIONS(FUNCTION)                                                                \
  FUNCTION(cuInit, cuInit, (unsigned flags))                                                    \
  FUNCTION(cuGetErrorName, cuGetErrorName, (int answer, const char** name))                     \
  FUNCTION(cuDeviceGetCount, cuDeviceGetCount, (int* count))                                    \
  FUNCTION(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                          \
  FUNCTION(cuDeviceGetAttribute, cuDeviceGetAttribute, (int* value, int what, CUdevice device)) \
  FUNCTION(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                                  \
           (CUcontext * context, CUdevice device))                                              \
  FUNCTION(cuCtxCreate, cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device)) \
  FUNCTION(cuCtxSetCurrent, cuCtxSetCurrent, (CUcontext context))                               \
  FUNCTION(cuCtxSynchronize, cuCtxSynchronize, (void))                                          \
  FUNCTION(cuModuleLoadData, cuModuleLoadData, (CUmodule * module, const void* text))           \
  FUNCTION(cuModuleGetFunction, cuModuleGetFunction,                                            \
           (CUfunction * function, CUmodule module, const char* name))                          \
  FUNCTION(cuLaunchKernel, cuLaunchKernel,                                                      \
           (CUfunction function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,       \
            unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,        \
            CUstream stream, void** arguments, void** others))                                  \
  FUNCTION(cuStreamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                 \
  FUNCTION(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))                         \
  FUNCTION(cuEventCreate, cuEventCreate, (CUevent * event, unsigned flags))                     \
  FUNCTION(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))                      \
  FUNCTION(cuEventSynchronize, cuEventSynchronize, (CUevent event))                             \
  FUNCTION(cuEventElapsedTime, cuEventElapsedTime, (float* ms, CUevent begin, CUevent end))     \
  FUNCTION(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                     \
  FUNCTION(cuMemFree, cuMemFree_v2, (CUdeviceptr memory))                                       \
  FUNCTION(cuMemAllocHost, cuMemAllocHost_v2, (void** memory, size_t bytes))                    \
  FUNCTION(cuMemAllocManaged, cuMemAllocManaged,                                                \
           (CUdeviceptr * memory, size_t bytes, unsigned flags))                                \
  FUNCTION(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t bytes))     \
  FUNCTION(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes))           \
  FUNCTION(cuMemcpyDtoD, cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes))     \
  FUNCTION(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                             \
           (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))                   \
  FUNCTION(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                             \
           (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                         \
  FUNCTION(cuMemsetD8, cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t bytes))

#define DECLARE(name, symbol, parameters) static int(*name) parameters;
CUDA_FUNCTIONS(DECLARE)
#undef DECLARE

// Ends the program if CUDA has refused a call.
#define CUDA(call) check_cuda(call, #call)
static inline const char* cuda_words(int answer) {
  const char* name = NULL;
  return cuGetErrorName && cuGetErrorName(answer, &name) == 0 && name ? name : "unknown error";
}
static inline void check_cuda(int answer, const char* call) {
  if (answer == 0) return;
  fprintf(stderr, "%s: %s (%d)\n", call, cuda_words(answer), answer);
  exit(1);
}

static const char* const KERNELS =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    // Does nothing.
    ".visible .entry nothing() { ret; }\n"
    // Runs for some time, by the device's own clock.
    ".visible .entry spin(.param .u64 ns) {\n"
    "  .reg .u64 %now, %end;\n"
    "  .reg .pred %early;\n"
    "  ld.param.u64 %end, [ns];\n"
    "  mov.u64 %now, %globaltimer;\n"
    "  add.u64 %end, %end, %now;\n"
    "again:\n"
    "  mov.u64 %now, %globaltimer;\n"
    "  setp.lt.u64 %early, %now, %end;\n"
    "  @%early bra again;\n"
    "  ret;\n"
    "}\n"
    // Adds a number to each of the first values of an array.
    ".visible .entry add(.param .u64 values, .param .u32 count, .param .u32 what) {\n"
    "  .reg .u64 %at, %offset;\n"
    "  .reg .u32 %n, %count, %what, %value, %block, %threads, %thread;\n"
    "  .reg .pred %outside;\n"
    "  mov.u32 %block, %ctaid.x;\n"
    "  mov.u32 %threads, %ntid.x;\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mad.lo.u32 %n, %block, %threads, %thread;\n"
    "  ld.param.u32 %count, [count];\n"
    "  setp.ge.u32 %outside, %n, %count;\n"
    "  @%outside ret;\n"
    "  ld.param.u64 %at, [values];\n"
    "  cvta.to.global.u64 %at, %at;\n"
    "  mul.wide.u32 %offset, %n, 4;\n"
    "  add.u64 %at, %at, %offset;\n"
    "  ld.param.u32 %what, [what];\n"
    "  ld.global.u32 %value, [%at];\n"
    "  add.u32 %value, %value, %what;\n"
    "  st.global.u32 [%at], %value;\n"
    "  ret;\n"
    "}\n";
static CUdevice cuda_device;
static CUfunction nothing, spin, add;

static inline void no_device(const char* reason, const char* more) {
  printf("no NVIDIA device: %s%s\n", reason, more);
  exit(77);
}

static inline void load_driver(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) no_device(dlerror(), "");
#define FIND(name, symbol, parameters) \
  if (!(*(void**)& name = dlsym(driver, #symbol))) no_device("its driver lacks ", #symbol);
  CUDA_FUNCTIONS(FIND)
#undef FIND
}

static inline void launch_spin(double ms, CUstream stream) {
  unsigned long long ns = (unsigned long long)(ms * 1e6);
  void* arguments[] = {&ns};
  CUDA(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

static inline void launch_nothing(CUstream stream) {
  CUDA(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static inline void launch_add(CUdeviceptr values, unsigned count, unsigned what) {
  void* arguments[] = {&values, &count, &what};
  CUDA(cuLaunchKernel(add, count / 128 + 1, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL));
}

// Starts CUDA on the device with this number, counted round; the context is that of CUDA's runtime.
// Each kernel runs once, for next to no time, since CUDA loads it then.
static inline void start_device(int number) {
  load_driver();
  int count = 0, answer = cuInit(0);
  if (answer == 0) answer = cuDeviceGetCount(&count);
  if (answer != 0 || count == 0) no_device("cuInit: ", answer ? cuda_words(answer) : "none found");
  CUcontext context;
  CUDA(cuDeviceGet(&cuda_device, number % count));
  answer = cuDevicePrimaryCtxRetain(&context, cuda_device);
  if (answer != 0) no_device("it cannot be used: ", cuda_words(answer));
  CUDA(cuCtxSetCurrent(context));
  CUmodule module;
  CUDA(cuModuleLoadData(&module, KERNELS));
  CUDA(cuModuleGetFunction(&nothing, module, "nothing"));
  CUDA(cuModuleGetFunction(&spin, module, "spin"));
  CUDA(cuModuleGetFunction(&add, module, "add"));
  launch_nothing(NULL);
  launch_spin(0, NULL);
  launch_add(0, 0, 0);
  CUDA(cuCtxSynchronize());
}

static inline CUevent record_event(CUstream stream) {
  CUevent event;
  CUDA(cuEventCreate(&event, 0));
  CUDA(cuEventRecord(event, stream));
  return event;
}

// Waits for the second event. Returns the time between both by the device's clock.
static inline double seconds_between(CUevent begin, CUevent end) {
  float ms = 0;
  CUDA(cuEventSynchronize(end));
  CUDA(cuEventElapsedTime(&ms, begin, end));
  return ms * 1e-3;
}
