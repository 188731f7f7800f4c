/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plugin.c - an MPI ring as a plug-in (compiled with -DPLUGIN -shared), and a host without MPI that
 * loads it locally (RTLD_LOCAL). */
#ifdef PLUGIN
#include "ring.h"

int run(int argc, char** argv) {
  int out[8] = {0}, in[8];
  begin(argc, argv);
  MPI_Sendrecv(out, 3, MPI_INT, right, 1, in, 8, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
  end();
  return 0;
}
#else
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return fprintf(stderr, "%s\n", dlerror()), 1;
  int (*run)(int, char**) = (int (*)(int, char**))dlsym(plugin, "run");
  return run(argc - 1, argv + 1);
}
#endif
