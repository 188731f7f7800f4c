// SPDX-License-Identifier: BSD-3-Clause
//
// plugin_info.h - what a substrate plugin hands to Score-P, as it lies in memory, for the
// stand-ins.
#include <stddef.h>
#include <stdint.h>

typedef void (*function)(void);
struct info {
  uint32_t version;
  int (*init)(void);
  void (*assign_id)(size_t);
  void (*init_mpp)(void);
  void (*finalize)(void);
  void (*create_location)(const void*, const void*);
  function activate, deactivate;
  void (*delete_location)(const void*);
  function pre_unify, write_data, task_create, task_complete;
  void (*new_definition)(uint32_t, int);
  uint32_t (*get_event_functions)(int, function**);
  void (*set_callbacks)(const function*, size_t);
  function requirement, manifest, reserved[99];
};
_Static_assert(sizeof(struct info) == 936, "as in Score-P");
