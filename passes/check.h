/* Shared by the parts of loom-check: check.c is the pass, which goes through functions, their ops
 * and their calls; check_access.c knows where a pointer comes from, and compares one access with
 * its bounds. */
#ifndef LOOM_CHECK_PASS_H
#define LOOM_CHECK_PASS_H

#include <stddef.h>

#include "graph/check.h"
#include "passes/lanes.h"
#include "passes/passes.h"

#define CHECK_LIMITS 12
#define CHECK_FRAME_WORD(FIELD) ((int64_t)(offsetof(loom_check_frame, FIELD) / sizeof(uint64_t)))

/* A pointer that others come from, and the bounds that hold for all of them. */
typedef struct check_base {
  MlirValue root;
  MlirOperation anchor;  /* `root` is known before it, and so is what follows of it */
  int64_t number;        /* of the buffer, or LOOM_CHECK_* */
  int64_t known;         /* bytes of what is on the stack, or of a table in the code */
  MlirValue start, size; /* i64; null until one asks */
  int64_t bytes[CHECK_LIMITS];
  MlirValue limits[CHECK_LIMITS]; /* an access of so many bytes begins before this offset */
  int limit_count;
} check_base;

typedef struct check_list {
  MlirOperation *ops;
  intptr_t count;
  uint32_t capacity;
} check_list;

typedef struct check_module {
  MlirOperation op;
  MlirContext ctx;
  MlirAttribute *texts;
  int64_t *numbers, *bytes;
  intptr_t count, capacity;
  check_list done; /* functions that have been seen */
  bool simulated;  /* the simulator of a GPU is told of each access */
} check_module;

typedef struct check_function {
  check_module *m;
  MlirOperation op;
  MlirStringRef kernel; /* the entry's name */
  MlirValue frame, spare;
  MlirValue table;    /* the array of buffers, of an entry */
  check_base **bases; /* one for each table, say, that an op of a long chain reads */
  int base_count;
  uint32_t base_capacity;
  MlirOperation first;        /* what the frame says is read before it */
  check_list accesses, calls; /* collected before any is changed */
} check_function;

static inline MlirBlock check_body(MlirOperation op, intptr_t region) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

/* ---- check_access.c ---- */

typedef struct check_kind {
  const char *name, *what;
  int pointer, mask, value; /* operands; value -1: the result, -2: a byte; mask -1: none */
  bool writes;
  int bytes; /* of a primitive (passes/gpu.def); else the value's */
} check_kind;

/* What the op does to memory; NULL: nothing. A primitive that copies does two things: this is the
 * first, and `after` the one that came before. */
const check_kind *check_kind_of(MlirOperation op, const check_kind *after);
bool check_is_pointer(MlirValue value);
/* Bytes in memory; 0 for a type that no kernel loads. */
int64_t check_bytes(MlirType type);
bool check_constant(MlirValue value, int64_t *out);
/* A pointer that others come from; NULL: no memory. */
check_base *check_add_base(check_function *f, MlirValue root, MlirOperation anchor, int64_t number,
                           int64_t known);
/* The base whose pointer this is; NULL: of none. */
check_base *check_root(check_function *f, MlirValue value);
/* The base that the pointer comes from; NULL: that cannot be determined. */
check_base *check_trace(check_function *f, MlirValue value);
/* Does it load a pointer out of the array of buffers? Which one. */
bool check_is_entry(check_function *f, MlirOperation load, int64_t *number);
MlirValue check_int(check_function *f, loom_builder *b, int64_t value);
/* Compares an access with its bounds. */
bool check_access(check_function *f, MlirOperation op);

#endif
