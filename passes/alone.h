/* Kernels around one op with a lowering of its own: a row of the table in alone.c each.
 *
 * `plan` decides from types and strides alone how the kernel is divided; loom-schedule writes that
 * down and loom-lower asks again, then has each stage lowered into the function it has begun.
 */
#ifndef LOOM_ALONE_H
#define LOOM_ALONE_H

#include "passes/lower.h"

#define ALONE_STAGES 16
#define ALONE_NUMBERS 16

typedef struct alone_plan {
  MlirOperation op;
  int64_t stages[ALONE_STAGES]; /* chunks of each */
  int stage_count;
  int64_t scratch, slots;         /* bytes */
  int64_t numbers[ALONE_NUMBERS]; /* what `plan` found out and `lower` needs */
} alone_plan;

typedef struct alone_kind {
  loom_opcode code;
  bool (*plan)(const lower_kernel *kernel, alone_plan *out);
  void (*lower)(lower *l, const alone_plan *plan, int stage);
  bool symbolic; /* takes symbolic sizes and strides */
  /* The same for a GPU. */
  bool (*gpu_plan)(const lower_kernel *kernel, alone_plan *out);
  void (*gpu_lower)(lower *l, const alone_plan *plan, int stage);
  bool gpu_symbolic;
} alone_kind;

/* ---- alone.c --------------------------------------------------------------------------------- */

/* The kernel's op and its row, or NULL. */
const alone_kind *alone_find(const lower_kernel *kernel, MlirOperation *op);
/* False after a diagnostic. */
bool alone_plan_make(const alone_kind *kind, const lower_kernel *kernel, MlirOperation op,
                     alone_plan *out);
/* Writes stages, scratch, slots and schedule to the kernel. False after a diagnostic. */
bool alone_schedule(const alone_kind *kind, const lower_kernel *kernel, MlirOperation op);
/* Emits "cannot lower 'op': text" and returns false. */
bool alone_refuse(MlirOperation op, const char *text);

/* Splits variable `var` into `count` dimensions of these sizes (numbers), the last one innermost.
 */
void alone_split(lower *l, int var, const int64_t *sizes, int count, lower_index *out);
/* Lanes over `var`: as many as fit a vector and its extent. */
lower_lanes alone_lanes(const lower *l, int var, int64_t extent, loom_dtype dtype);

/* ---- small arithmetic at the current scope, on i64 ---- */

loom_builder alone_here(const lower *l);
MlirValue alone_const(lower *l, int64_t value);
MlirValue alone_op2(lower *l, const char *name, MlirValue x, MlirValue y);
MlirValue alone_op(lower *l, const char *name, MlirValue x, int64_t y);
/* x + y * scale */
MlirValue alone_add_scaled(lower *l, MlirValue x, MlirValue y, int64_t scale);
MlirValue alone_address(lower *l, MlirValue ptr, MlirValue offset, loom_dtype dtype);
#define ALONE_LINE_BYTES 64
/* Fetches the line of memory at an address, which lies in an array, to be read soon. */
void alone_prefetch(lower *l, MlirValue ptr);
/* [low, high) of block number `block`: `size` each, at most `limit`. */
void alone_block(lower *l, MlirValue block, int64_t size, int64_t limit, MlirValue *low,
                 MlirValue *high);
/* x * y + sum on registers of this element type. */
MlirValue alone_multiply_add(loom_builder *b, loom_dtype dtype, MlirValue x, MlirValue y,
                             MlirValue sum);
/* Gives a variable its value in the current scope. */
void alone_set(lower *l, int var, MlirValue iv);
/* Adds a variable to an index, unless it is always 0. */
void alone_coef(const lower *l, lower_index *index, int var, int64_t coef);

/* ---- lower_update.c ---- */

/* The next update of the kernel, or null. */
MlirOperation update_next(MlirOperation op);
/* Does each update what the one before has made, and is the last one the kernel's result? False
 * after a diagnostic. */
bool update_check(const lower_kernel *kernel, MlirOperation first);

/* ---- lower_sort.c ---- */

/* What is sorted, and where it goes. */
typedef struct sort_array {
  const lower_buffer *in, *out;
  loom_dtype dtype;
  int axis, bits; /* of an element */
  int64_t n, lines;
  bool numbers; /* the permutation instead of the elements */
} sort_array;

/* False after a diagnostic. */
bool sort_array_read(const lower_kernel *kernel, MlirOperation op, sort_array *a);

/* ---- one function a row ---- */

bool scatter_plan(const lower_kernel *kernel, alone_plan *out);
void scatter_lower(lower *l, const alone_plan *plan, int stage);
bool update_plan(const lower_kernel *kernel, alone_plan *out);
void update_lower(lower *l, const alone_plan *plan, int stage);
bool convolution_plan(const lower_kernel *kernel, alone_plan *out);
void convolution_lower(lower *l, const alone_plan *plan, int stage);
bool conv_gradient_plan(const lower_kernel *kernel, alone_plan *out);
void conv_gradient_lower(lower *l, const alone_plan *plan, int stage);
bool gpu_convolution_plan(const lower_kernel *kernel, alone_plan *out); /* the gradient's too */
void gpu_convolution_lower(lower *l, const alone_plan *plan, int stage);
bool gpu_scatter_plan(const lower_kernel *kernel, alone_plan *out);
void gpu_scatter_lower(lower *l, const alone_plan *plan, int stage);
bool gpu_update_plan(const lower_kernel *kernel, alone_plan *out);
void gpu_update_lower(lower *l, const alone_plan *plan, int stage);
bool gpu_sort_plan(const lower_kernel *kernel, alone_plan *out);
void gpu_sort_lower(lower *l, const alone_plan *plan, int stage);
bool attention_plan_alone(const lower_kernel *kernel, alone_plan *out);
void attention_lower(lower *l, const alone_plan *plan, int stage);
void attention_gradient_lower(lower *l, const alone_plan *plan, int stage);
bool gpu_attention_plan(const lower_kernel *kernel, alone_plan *out);
void gpu_attention_lower(lower *l, const alone_plan *plan, int stage);
bool gpu_attention_gradient_plan(const lower_kernel *kernel, alone_plan *out);
void gpu_attention_gradient_lower(lower *l, const alone_plan *plan, int stage);
bool sort_plan(const lower_kernel *kernel, alone_plan *out);
void sort_lower(lower *l, const alone_plan *plan, int stage);

#endif
