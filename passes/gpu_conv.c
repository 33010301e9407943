/* Convolutions and their gradients on a GPU, as products whose operands are made on the way.
 *
 * Three numbers name what there is to one group: O an output channel, P a pixel of the result (of
 * all images), T a tap (an input channel and a place of the window). An image has an element for
 * each P and T, which may lie in the padding, weights have one for O and T, a result for O and P.
 *
 *   convolution            result[O, P]  = sum over T of weights[O, T] * image[P, T]
 *   gradient of weights    weights[O, T] = sum over P of result[O, P] * image[P, T]
 *
 * These are products in tiles (gpu_dot.c), with a batch for each group: no image of all windows is
 * made. Where channels lie next to each other in memory they are the innermost part of T, and the
 * columns of a convolution are its channels. With few output channels a group (depthwise) a tile
 * would be empty for the most part: each thread then sums an element of the result.
 */
#include "loom_ops_reductions.h"
#include "passes/alone.h"
#include "passes/dot.h"
#include "passes/gpu.h"

#include <string.h>

#define CONV_SPATIAL 3
#define CONV_FEW 8 /* output channels of a group: fewer have no tiles */

/* Variables behind those of a product. */
enum { CONV_N = DOT_VARS, CONV_Y, CONV_C = CONV_Y + CONV_SPATIAL, CONV_K, CONV_VARS = CONV_K + 3 };

typedef enum conv_array { CONV_IMAGE, CONV_WEIGHTS, CONV_RESULT } conv_array;

typedef struct gpu_conv {
  dot_plan dot; /* first: what the product's code hands on is this */
  loom_type image, weights, result;
  int spatial;
  int64_t strides[CONV_SPATIAL], low[CONV_SPATIAL], dilation[CONV_SPATIAL];
  int64_t groups, outputs, channels; /* of one group: output and input channels */
  int of_output, of_pixel, of_tap;   /* the product's variable that each number is */
  bool channels_last;
  bool gradient;
  bool direct;          /* a thread has an element of the result */
  conv_array arrays[2]; /* that are lhs and rhs */
} gpu_conv;

/* ---- the plan ---- */

static bool conv_types(const lower_kernel *kernel, MlirOperation op, gpu_conv *c) {
  loom_type *const types[2][3] = {{&c->image, &c->weights, &c->result},
                                  {&c->image, &c->result, &c->weights}};
  const MlirValue values[] = {loom_operand(op, 0), loom_operand(op, 1), loom_result(op, 0)};
  for (int i = 0; i < 3; i++)
    if (!loom_type_from_mlir(mlirValueGetType(values[i]), types[c->gradient][i]))
      return alone_refuse(op, "an operand of an unknown type");
  loom_type made = *types[c->gradient][2];
  if (made.rank - 2 > CONV_SPATIAL) return alone_refuse(op, "more than three spatial dimensions");
  if (loom_dtype_is_complex(made.dtype) || loom_dtype_is_half(made.dtype))
    return alone_refuse(op, "no arithmetic for this element type");
  for (int i = 0; i < kernel->result_count; i++) {
    loom_type type = kernel->results[i].type;
    type.dtype = made.dtype;
    if (!loom_type_equal(&type, &made))
      return alone_refuse(op, "the kernel's results have another shape");
  }
  return true;
}

static void conv_sizes(MlirOperation op, gpu_conv *c) {
  int64_t padding[2 * CONV_SPATIAL] = {0};
  c->spatial = c->result.rank - 2;
  loom_get_i64s(op, "strides", c->strides, CONV_SPATIAL);
  loom_get_i64s(op, "padding", padding, 2 * CONV_SPATIAL);
  loom_get_i64s(op, "dilation", c->dilation, CONV_SPATIAL);
  for (int i = 0; i < c->spatial; i++)
    c->low[i] = padding[2 * i];
  c->groups = loom_get_i64(op, "groups", 1);
  c->outputs = loom_num_div(loom_num_dim(c->weights.dims[0]), c->groups);
  c->channels = loom_num_dim(c->weights.dims[1]);
}

/* Do the channels of the kernel's largest buffers lie next to each other, and not their pixels? */
static bool conv_is_last(const lower_kernel *kernel, const gpu_conv *c) {
  const lower_buffer *found = NULL;
  for (int i = 0; i < kernel->operand_count + kernel->result_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i]; /* results follow operands */
    int64_t elements = loom_num_elements(&buffer->type);
    bool image =
        elements == loom_num_elements(&c->image) || elements == loom_num_elements(&c->result);
    if (buffer->slot >= 0 && buffer->type.rank == c->image.rank && image && !found) found = buffer;
  }
  return found && c->spatial && found->strides[1] == 1 && found->strides[found->type.rank - 1] != 1;
}

static void conv_roles(gpu_conv *c) {
  dot_plan *p = &c->dot;
  int64_t pixels = loom_num_dim(c->result.dims[0]), taps = c->channels;
  for (int i = 0; i < c->spatial; i++) {
    pixels = loom_num_mul(pixels, loom_num_dim(c->result.dims[i + 2]));
    taps = loom_num_mul(taps, loom_num_dim(c->weights.dims[i + 2]));
  }
  c->of_output = DOT_ROW;
  c->of_pixel = c->gradient ? DOT_DEPTH : DOT_COLUMN;
  c->of_tap = c->gradient ? DOT_COLUMN : DOT_DEPTH;
  c->arrays[0] = c->gradient ? CONV_RESULT : CONV_WEIGHTS;
  c->arrays[1] = CONV_IMAGE;
  if (c->channels_last && !c->gradient) {
    c->of_output = DOT_COLUMN;
    c->of_pixel = DOT_ROW;
    c->arrays[0] = CONV_IMAGE;
    c->arrays[1] = CONV_WEIGHTS;
  }
  p->extents[DOT_BATCH] = c->groups;
  p->extents[c->of_output] = c->outputs;
  p->extents[c->of_pixel] = pixels;
  p->extents[c->of_tap] = taps;
}

/* Threads that load an operand go along its rows or columns where these lie next to each other:
 * pixels of an image, or channels. */
static void conv_operands(gpu_conv *c) {
  dot_operand *const sides[] = {&c->dot.lhs, &c->dot.rhs};
  for (int s = 0; s < 2; s++) {
    dot_operand *o = sides[s];
    o->lane_group = s ? DOT_COLUMN : DOT_ROW;
    bool pixels = o->lane_group == c->of_pixel;
    bool channels = c->gradient && c->channels_last;
    o->strides[o->lane_group] = (pixels && !c->channels_last) || channels;
    o->type.dtype = c->dot.dtype;
  }
}

static MlirValue conv_element(lower *l, const dot_plan *p, const dot_operand *o);
static void conv_finish(lower *l, const dot_plan *p, MlirValue sum);

static bool conv_plan_make(const lower_kernel *kernel, MlirOperation op, gpu_conv *c) {
  dot_plan *p = &c->dot;
  memset(c, 0, sizeof *c);
  if (loom_get_i64s(op, "sizes", c->strides, CONV_SPATIAL) > 0)
    return alone_refuse(op, "an op of the CPU's kernels");
  c->gradient = loom_op_of(op) == LOOM_OP_CONVOLUTION_GRADIENT;
  if (!conv_types(kernel, op, c)) return false;
  conv_sizes(op, c);
  c->channels_last = conv_is_last(kernel, c);
  conv_roles(c);
  p->op = op;
  p->result = loom_result(op, 0);
  p->type = c->gradient ? c->weights : c->result;
  p->dtype = p->work = p->type.dtype;
  p->lhs.value = loom_operand(op, c->arrays[0] != CONV_IMAGE);
  p->rhs.value = loom_operand(op, c->arrays[1] != CONV_IMAGE);
  p->element = conv_element;
  p->finish = conv_finish;
  p->stage_count = 1;
  p->stages[0] = 1;
  if (loom_type_elements(&p->type) == 0) return true;
  conv_operands(c);
  c->direct = !c->gradient && c->groups > 1 && loom_num_hint(c->outputs) < CONV_FEW;
  if (!c->direct) return gpu_dot_plan(kernel, p);
  p->stages[0] = gpu_blocks(loom_num_elements(&p->type));
  return !loom_num_take_failure() || alone_refuse(op, "a size that cannot be expressed");
}

bool gpu_convolution_plan(const lower_kernel *kernel, alone_plan *out) {
  gpu_conv c;
  if (!conv_plan_make(kernel, out->op, &c)) return false;
  out->stage_count = c.dot.stage_count;
  memcpy(out->stages, c.dot.stages, sizeof c.dot.stages);
  out->slots = c.dot.slots;
  return true;
}

/* ---- indices ---- */

/* Divides the number that a variable has among others, the last one innermost. */
static void conv_divide(lower *l, int var, const int *vars, int count) {
  if (l->vars[var].extent == 1) return; /* so have all others */
  loom_builder b = alone_here(l);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  bool narrow = loom_num_high(l->vars[var].extent) < INT32_MAX;
  MlirValue left = l->vars[var].iv;
  if (narrow) left = loom_build1(&b, "arith.trunci", left, i32);
  for (int i = count - 1; i >= 0; i--) {
    if (l->vars[vars[i]].extent == 1) continue;
    MlirValue size = lower_divisor(l, l->vars[vars[i]].extent).v;
    if (narrow) size = loom_build1(&b, "arith.trunci", size, i32);
    MlirValue at = i ? lane_op2(&b, "arith.remui", left, size) : left;
    if (i) left = lane_op2(&b, "arith.divui", left, size);
    alone_set(l, vars[i], narrow ? loom_build1(&b, "arith.extui", at, i64) : at);
  }
}

static void conv_pixel(lower *l, const gpu_conv *c) {
  int vars[1 + CONV_SPATIAL] = {CONV_N};
  for (int i = 0; i < c->spatial; i++)
    vars[i + 1] = CONV_Y + i;
  conv_divide(l, c->of_pixel, vars, c->spatial + 1);
}

static void conv_tap(lower *l, const gpu_conv *c) {
  int vars[1 + CONV_SPATIAL];
  vars[c->channels_last ? c->spatial : 0] = CONV_C;
  for (int i = 0; i < c->spatial; i++)
    vars[i + !c->channels_last] = CONV_K + i;
  conv_divide(l, c->of_tap, vars, c->spatial + 1);
}

/* The index of an array's element, whose numbers the variables say. */
static const lower_at *conv_at(lower *l, const gpu_conv *c, conv_array array) {
  lower_at *at = lower_at_new(l, c->spatial + 2);
  if (!at) return NULL;
  int channel = array != CONV_WEIGHTS;
  if (array != CONV_IMAGE) alone_coef(l, &at->dims[channel], c->of_output, 1);
  if (array != CONV_WEIGHTS) alone_coef(l, &at->dims[0], CONV_N, 1);
  if (array != CONV_RESULT) alone_coef(l, &at->dims[1], CONV_C, 1);
  alone_coef(l, &at->dims[channel], DOT_BATCH, array == CONV_IMAGE ? c->channels : c->outputs);
  for (int i = 0; i < c->spatial; i++) {
    lower_index *index = &at->dims[i + 2];
    if (array == CONV_WEIGHTS) alone_coef(l, index, CONV_K + i, 1);
    if (array == CONV_RESULT) alone_coef(l, index, CONV_Y + i, 1);
    if (array != CONV_IMAGE) continue;
    alone_coef(l, index, CONV_Y + i, c->strides[i]);
    alone_coef(l, index, CONV_K + i, c->dilation[i]);
    index->constant = -c->low[i];
  }
  return lower_at_intern(l, at);
}

static MlirValue conv_element(lower *l, const dot_plan *p, const dot_operand *o) {
  const gpu_conv *c = (const gpu_conv *)p;
  conv_array array = c->arrays[o == &p->rhs];
  if (array != CONV_WEIGHTS) conv_pixel(l, c);
  if (array != CONV_RESULT) conv_tap(l, c);
  const lower_at *at = conv_at(l, c, array);
  if (!at || l->failed) return (MlirValue){NULL};
  lower_value value =
      array == CONV_IMAGE ? lower_emit_or_zero(l, o->value, at) : lower_emit(l, o->value, at);
  return l->failed ? (MlirValue){NULL} : value.v;
}

static void conv_finish(lower *l, const dot_plan *p, MlirValue sum) {
  const gpu_conv *c = (const gpu_conv *)p;
  if (c->gradient)
    conv_tap(l, c);
  else
    conv_pixel(l, c);
  const lower_at *at = conv_at(l, c, c->gradient ? CONV_WEIGHTS : CONV_RESULT);
  if (!at || l->failed) return;
  lower_finish(l, p->result, at, (lower_value){sum, l->depth, false, p->dtype});
}

/* ---- an element for each thread ---- */

static void conv_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_plan *p = user;
  MlirValue x = conv_element(l, p, &p->lhs), y = conv_element(l, p, &p->rhs);
  if (l->failed) return;
  loom_builder b = alone_here(l);
  next[0] = dot_multiply_add(&b, p->dtype, x, y, carried[0]);
}

typedef struct conv_one {
  const gpu_conv *c;
  MlirValue at; /* number of the element: threads next to each other have elements that are */
} conv_one;

static void conv_one_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const conv_one *one = user;
  const gpu_conv *c = one->c;
  const dot_plan *p = &c->dot;
  MlirType type = lane_type(l->kernel->ctx, p->dtype, 1);
  const int plain[] = {DOT_BATCH, DOT_ROW, DOT_COLUMN}, last[] = {DOT_ROW, DOT_BATCH, DOT_COLUMN};
  loom_builder b = alone_here(l);
  MlirValue sum =
      loom_dtype_is_float(p->dtype) ? lane_const_float(&b, type, 0) : lane_const_int(&b, type, 0);
  l->vars[DOT_CHUNK].iv = one->at;
  conv_divide(l, DOT_CHUNK, c->channels_last ? last : plain, 3);
  lower_for(l, alone_const(l, 0), alone_const(l, p->extents[DOT_DEPTH]), alone_const(l, 1),
            DOT_DEPTH, 1, &sum, conv_step, (void *)p, &sum);
  if (!l->failed) conv_finish(l, p, sum);
}

static void conv_direct(lower *l, const gpu_conv *c) {
  int64_t total = loom_num_elements(&c->dot.type);
  conv_one one = {.c = c};
  l->vars[DOT_CHUNK].extent = total;
  gpu_each(l, total, &one.at, conv_one_element, &one);
}

static void conv_extents(lower *l, const gpu_conv *c) {
  l->var_count = CONV_VARS;
  for (int v = 0; v < CONV_VARS; v++)
    l->vars[v].extent = v < DOT_GROUPS ? c->dot.extents[v] : 1;
  l->vars[CONV_N].extent = loom_num_dim(c->result.dims[0]);
  l->vars[CONV_C].extent = c->channels;
  for (int i = 0; i < c->spatial; i++) {
    l->vars[CONV_Y + i].extent = loom_num_dim(c->result.dims[i + 2]);
    l->vars[CONV_K + i].extent = loom_num_dim(c->weights.dims[i + 2]);
  }
}

void gpu_convolution_lower(lower *l, const alone_plan *plan, int stage) {
  gpu_conv c;
  if (!conv_plan_make(l->kernel, plan->op, &c)) {
    l->failed = true;
    return;
  }
  if (loom_type_elements(&c.dot.type) == 0) return;
  conv_extents(l, &c);
  if (c.direct)
    conv_direct(l, &c);
  else
    gpu_dot_lower(l, &c.dot, stage);
}
