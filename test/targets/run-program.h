/* A graph as loom-compile makes it, in this process: one C function and its workspace. */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include "runtime/runtime.h"
#include "targets/target.h"

typedef struct run_program {
  loom_image image;
  const uint8_t *entry, *workspace; /* code; workspace: NULL where no sizes are asked for */
  const uint8_t *violation;         /* code; NULL where kernels are not checked */
  int64_t bytes;                    /* of the workspace then */
} run_program;

/* What compiled kernels compare with the bounds of their buffers. */
typedef struct run_program_check {
  bool wanted;
  int shrunk;  /* 2 * argument + (1: its last byte seems to be no part of it, 0: its first); -1 */
  bool bounds; /* set: `shrunk` is an argument, and has bytes */
} run_program_check;

bool run_program_make(const loom_graph *graph, const char *cpu, run_program_check *check,
                      run_program *out, loom_error *err);
/* The entry's status. With LOOM_STATUS_BOUNDS `err` says what was accessed. */
int run_program_call(const run_program *p, const int64_t *sizes, const void *const *inputs,
                     void *const *outputs, loom_error *err);
void run_program_fini(run_program *p);

#endif
