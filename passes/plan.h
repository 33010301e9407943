/* Shared by the parts of loom-plan: buffers and launches (plan.c), which parts of the arena are
 * given back between launches (plan_trim.c), and what kernels may access (plan_extent.c). */
#ifndef LOOM_PLAN_H
#define LOOM_PLAN_H

#include <mlir-c/IR.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct plan_span { /* bytes of the arena, in use from one step to another */
  int64_t offset, size;
  int first, last;
} plan_span;

typedef struct plan_trim { /* pages of the arena to be given back before a step */
  int step;
  int64_t offset, size;
} plan_trim;

typedef struct plan_life { /* the memory of a call, step by step */
  const plan_span *spans;
  int span_count, steps;
  const int64_t *others; /* bytes outside of the arena at each step */
  int64_t arena;
} plan_life;

/* What to give back, in the order of steps, malloc'ed (none: *out is NULL); `peak`: bytes that are
 * there at the highest point then. False: out of memory. */
bool loom_plan_find_trims(const plan_life *life, plan_trim **out, int *count, int64_t *peak);

/* Sets `loom.extents` of the plan of a function: for each argument and result two numbers, the
 * bytes from its first element to the lowest byte that it has, and its bytes in all. */
bool loom_plan_set_extents(MlirOperation function, MlirBlock block, MlirOperation plan);

#endif
