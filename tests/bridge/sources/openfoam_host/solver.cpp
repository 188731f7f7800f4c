// SPDX-License-Identifier: BSD-3-Clause
//
// solver.cpp - a solver of the fake OpenFOAM. Its argument chooses what it does.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "openfoam.hpp"

using namespace Foam;

int main(int, char** arguments) {
  const auto is = [&](const char* name) { return !std::strcmp(arguments[1], name); };
  Time time;
  if (is("loop")) {  // 5 ms in each step
    while (time.run()) {
      ++time;
      work(5);
    }
  } else if (is("meshes")) {  // two regions; one is refined in step 2, a third lives in step 3
    primitiveMesh fluid, solid(8, 0, 6, 1);
    fluid.reset(1000, 2000, 3000, 700);
    std::unique_ptr<primitiveMesh> third;
    time.last = 4;
    while (time.run()) {
      ++time;
      if (time.index == 2) fluid.reset(2000, 4000, 6000, 1400);
      if (time.index == 3) third = std::make_unique<primitiveMesh>(10, 0, 10, 30);
      if (time.index == 4) third.reset();
    }
  } else if (is("scopes")) {  // in step 3, a scope throws
    const std::unique_ptr<GAMGSolver> linear = std::make_unique<GAMGSolver>();
    interfaceProperties interface;
    Field<double> x;
    time.last = 6;
    while (time.run()) {
      ++time;
      interface.throws = time.index == 3;
      try {
        interface.correct();
      } catch (int) {
        std::puts("caught");
      }
      const solverPerformance solved = linear->solve(x, x, 4);
      if (solved.iterations != 7 || solved.residual[0] != 1 || solved.residual[3] != 4) return 1;
    }
  } else if (is("plugin")) {  // opened in step 1, and called in each step
    void (*correct)() = nullptr;
    time.last = 3;
    while (time.run()) {
      ++time;
      void* const library = correct ? nullptr : dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL);
      if (library) correct = reinterpret_cast<void (*)()>(dlsym(library, "plugin_correct"));
      if (!correct) return 1;
      correct();
    }
  } else if (is("reopened")) {  // closes a library after each two steps; the next one lies
                                // elsewhere
    void* library = nullptr;
    time.last = 6;
    while (time.run()) {
      if (time.index % 2 == 0 && library) {
        Dl_info before;
        dladdr(dlsym(library, "plugin_own"), &before);
        dlclose(library);
        if (mmap(before.dli_fbase, 4096, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
          return 1;  // still there
        library = nullptr;
      }
      ++time;
      if (!library) library = dlopen("libplugin.so", RTLD_NOW | RTLD_LOCAL);
      reinterpret_cast<void (*)()>(dlsym(library, "plugin_own"))();
    }
  } else if (is("own_loop")) {  // as no solver of OpenFOAM has it
    for (; time.index < 20; ++time) work(1);
  } else if (is("mesher")) {  // advances the time a few times, as snappyHexMesh does
    for (; time.index < 3; ++time) work(1);
  }
}
