// SPDX-License-Identifier: BSD-3-Clause
//
// kokkos_cuda.cpp - three steps of one kernel of Kokkos on CUDA, the wait for it, and a copy of its
// 8 MiB to the host. Prints the kernel's time in each step, by CUDA's own events, in seconds.
#include <perfield.h>

#include <Kokkos_Core.hpp>
#include <cstdio>

using Values = Kokkos::View<double*, Kokkos::CudaSpace>;

void compute(const char* label, const Kokkos::Cuda& device, const Values& values, int rounds) {
  Kokkos::parallel_for(
      label, Kokkos::RangePolicy<Kokkos::Cuda>(device, 0, values.extent_int(0)),
      KOKKOS_LAMBDA(int i) {
        double value = i;
        for (int k = 0; k < rounds; ++k) value = 0.5 * value + k;
        values(i) = value;
      });
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard started(argc, argv);
  constexpr int n = 1 << 20;  // of 8 bytes
  const Values values(Kokkos::view_alloc("values", Kokkos::WithoutInitializing), n);
  const auto on_host = Kokkos::create_mirror_view(values);
  const Kokkos::Cuda device;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  compute("warm-up", device, values, 1);  // CUDA loads the kernel
  Kokkos::fence();
  perfield_initialize();
  for (int step = 0; step < 3; ++step) {
    cudaEventRecord(begin, device.cuda_stream());
    compute("flux", device, values, 200000);
    cudaEventRecord(end, device.cuda_stream());
    device.fence();
    Kokkos::deep_copy(on_host, values);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    std::printf("%.9g\n", ms * 1e-3);
    perfield_step(step, step);
  }
  return 0;
}
