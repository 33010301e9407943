/* Shared by the parts of loom-plan, in the order in which they work: plan.c is the pass; values get
 * storages (plan_storage.c), storages offsets in the arena (plan_arena.c), dead parts of which are
 * given back between launches (plan_trim.c); then the loom.plan is made (plan_make.c,
 * plan_extent.c) and filled with instructions (plan_write.c). */
#ifndef LOOM_PLAN_H
#define LOOM_PLAN_H

#include "dialects/ir.h"
#include "passes/passes.h"

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

/* Whose memory a storage is: known before the run, allocated when its size is known, or the host's.
 */
typedef enum plan_late { PLAN_KNOWN, PLAN_ALLOCATED, PLAN_FROM_HOST } plan_late;

typedef struct plan_storage { /* bytes that one or several values (in-place, reshaped) live in */
  int64_t size, offset;
  int first, last; /* steps between which it is live */
  int output;      /* output number, or -1: arena */
  bool kept;       /* made once (loom-keep): not in the arena, for as long as the plan */
  plan_late late;
  MlirValue buffer; /* the last loom.buffer made of it */
} plan_storage;

typedef struct plan_state {
  MlirOperation module, function, plan;
  MlirContext ctx;
  MlirBlock block, body; /* of the function, of the plan */
  loom_map storage_of;   /* value -> storage; apply -> that of its slots */
  loom_map kept_of;      /* apply -> storage of what its kernel packs once */
  loom_map kernels;      /* interned symbol attribute -> kernel operation */
  plan_storage *storages;
  int storage_count;
  uint32_t storage_capacity;
  int64_t arena;
  intptr_t inputs;
  loom_late late;
  int steps;
  plan_trim *trims;
  int trim_count;
  int64_t peak; /* the highest memory use of a call, with inputs that the caller gives away and
                   results that it makes late; 0: there are no such inputs and results */
} plan_state;

/* ---- plan.c ---- */

/* Reports that there is no memory: false. */
bool plan_memory(plan_state *s);
/* The kernel that an apply runs, or null. */
MlirOperation plan_kernel(const plan_state *s, MlirOperation apply);

/* ---- plan_storage.c ---- */

/* The memref of a tensor type with these strides (NULL: C order). */
MlirType plan_memref(MlirContext ctx, MlirType tensor, const int64_t *strides);
bool plan_is_plain(MlirContext ctx, MlirType memref); /* in C order */
/* Bytes of a value, or -1 when they are not known. */
int64_t plan_bytes(MlirValue value);
/* Marks each host call that reports sizes (`loom.introduces`). */
bool plan_find_late(plan_state *s);
/* One step for each op: where each value lives, and from when to when. */
bool plan_find_storages(plan_state *s);
/* The storage of a value, or -1: an argument's buffer. */
int plan_storage_of(const plan_state *s, MlirValue value);
/* The value whose buffer a loop takes for one of its results (loop_inplace.c), or null. */
MlirValue plan_taken(MlirOperation op, intptr_t result);

/* ---- plan_arena.c ---- */

/* Gives each storage its offset, and the arena its size. */
bool plan_place(plan_state *s);
/* Counts the memory that the arena saves, and remarks on it. */
enum { PLAN_COUNT_BUFFERS, PLAN_COUNT_BYTES, PLAN_COUNT_SAVED };
void plan_explain(const plan_state *s);
/* Finds which parts of the arena are given back between launches. */
bool plan_find_trims(plan_state *s);

/* ---- plan_make.c ---- */

/* A returned value that is computed here lives in its output from the start. Outputs are never
 * overwritten in place (loom-outline), so that one storage is one output. */
void plan_bind_outputs(plan_state *s, MlirOperation terminator);
/* Makes the loom.plan, still without instructions. */
bool plan_make(plan_state *s, MlirOperation terminator);
/* Does a kernel write `value` in the very layout that output `i` has? */
bool plan_lies_as_asked(const plan_state *s, MlirValue value, intptr_t i);
/* Does what is under reshapes lie in C order? */
bool plan_root_is_plain(const plan_state *s, MlirValue root);

/* ---- plan_write.c ---- */

/* Writes the instructions. */
bool plan_write(plan_state *s, MlirOperation terminator);

/* ---- plan_trim.c ---- */

/* What to give back, in the order of steps, malloc'ed (none: *out is NULL); `peak`: bytes that are
 * there at the highest point then. False: out of memory. */
bool plan_choose_trims(const plan_life *life, plan_trim **out, int *count, int64_t *peak);

/* ---- plan_extent.c ---- */

/* Sets `loom.extents` of the plan of a function: for each argument and result two numbers, the
 * bytes from its first element to the lowest byte that it has, and its bytes in all. */
bool plan_set_extents(MlirOperation function, MlirBlock block, MlirOperation plan);

#endif
