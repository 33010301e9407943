/* What the files of the lowering of reductions share (lower_reduce.c, reduce_parts.c). */
#ifndef LOOM_REDUCE_H
#define LOOM_REDUCE_H

#include "passes/lower.h"

/* One reduction, or several over the same rows, while its code is made. */
typedef struct reduce_run {
  const lower_group *group;
  const lower_at *operand_at;
  bool row; /* lanes run along the reduced variable */
  int width, count;
  int rows;                             /* columns: rows taken at once */
  loom_dtype dtypes[2 * LOWER_MEMBERS]; /* of the carried values */
  bool online; /* they are a largest element and a sum of exponentials beneath it */
} reduce_run;

/* ---- lower_reduce.c: carried values and loops ---- */

/* Does the reduction find an index (argmin, argmax)? Then it carries a value and an index. */
bool reduce_is_arg(MlirOperation op);
/* Sets the count and the dtypes of the carried values. */
void reduce_layout(reduce_run *run);
/* What carried values are before the first element. */
void reduce_identities(lower *l, const reduce_run *run, int width, MlirValue *out);
/* Two sets of carried values become one. Of equal values the one with the lower index is kept. */
void reduce_merge(loom_builder *b, const reduce_run *run, const MlirValue *x, const MlirValue *y,
                  MlirValue *out);
/* Takes one element, or one vector, into the carried values. */
void reduce_step(lower *l, void *user, const MlirValue *carried, MlirValue *next);
/* The loops from number `loop` to the innermost one, around reduce_step(). */
void reduce_loops(lower *l, const reduce_run *run, int loop, const MlirValue *inits,
                  MlirValue *out);
/* The lanes of each carried value to lane 0. */
void reduce_tree(lower *l, const reduce_run *run, MlirValue *accs);
/* The index of the operand: of the result, with the reduced variables put in. */
const lower_at *reduce_operand_at(lower *l, const lower_group *g, const lower_at *at);

/* ---- reduce_parts.c ---- */

/* Combines the slots of all parts, in their order. Sums of f32 are added in f64. */
void reduce_combine(lower *l, const reduce_run *run, bool lanes, MlirValue *out);

#endif
