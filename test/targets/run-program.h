/* A graph as loom-compile makes it, in this process: one C function and its workspace. */
#ifndef RUN_PROGRAM_H
#define RUN_PROGRAM_H

#include "runtime/runtime.h"
#include "targets/target.h"

typedef struct run_program {
  loom_image image;
  const uint8_t *entry, *workspace; /* code; workspace: NULL where no sizes are asked for */
  int64_t bytes;                    /* of the workspace then */
} run_program;

bool run_program_make(const loom_graph *graph, const char *cpu, run_program *out, loom_error *err);
/* The entry's status. */
int run_program_call(const run_program *p, const int64_t *sizes, const void *const *inputs,
                     void *const *outputs);
void run_program_fini(run_program *p);

#endif
