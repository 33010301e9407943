/* The reference interpreter's reductions, scans, sorting, contractions and random numbers. */
#include "graph/interp.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reductions ----
 *
 * Floats are added up in double, float64 pairwise as NumPy does, so that the error stays below that
 * of any order a kernel may choose; all else is combined in C order, as NumPy's reduction loop
 * does. */

static bool reduce_is_sum(const char *kind) { return strcmp(kind, "sum") == 0; }

/* The op that combines two elements and the value it starts from. */
static loom_opcode reduce_op(const char *kind, loom_dtype dtype, loom_cell *start) {
  static const struct {
    const char *kind;
    loom_opcode op;
    int start;
  } rows[] = {{"sum", LOOM_OP_ADD, 0}, {"prod", LOOM_OP_MUL, 1}, {"min", LOOM_OP_MIN, 0},
              {"max", LOOM_OP_MAX, 0}, {"and", LOOM_OP_AND, -1}, {"or", LOOM_OP_OR, 0}};
  size_t i = 0;
  while (i + 1 < sizeof rows / sizeof rows[0] && strcmp(rows[i].kind, kind) != 0)
    i++;
  *start = loom_cell_round(dtype, (loom_cell){.i = rows[i].start, .re = rows[i].start});
  return rows[i].op;
}

/* The elements of one result: an index over the reduced dimensions alone. */
typedef struct reduce_walk {
  const loom_buffer *from;
  loom_type space; /* the operand's type with the kept dimensions set to 1 */
  int64_t base[LOOM_MAX_RANK];
} reduce_walk;

static loom_cell reduce_get(const reduce_walk *w, const int64_t *offset) {
  int64_t at[LOOM_MAX_RANK];
  for (int i = 0; i < w->from->type.rank; i++)
    at[i] = w->base[i] + offset[i];
  return interp_load(w->from, at);
}

static double reduce_pairwise(const double *values, int64_t count) {
  if (count <= 8) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
      sum += values[i];
    return sum;
  }
  int64_t half = count / 2;
  return reduce_pairwise(values, half) + reduce_pairwise(values + half, count - half);
}

static bool reduce_sum_floats(const reduce_walk *w, loom_cell *out) {
  int64_t count = loom_type_elements(&w->space), n = 0, offset[LOOM_MAX_RANK] = {0};
  double *real = calloc((size_t)count * 2 + 1, sizeof *real), *imag = real + count;
  if (!real) return false;
  if (count) do {
      loom_cell cell = reduce_get(w, offset);
      real[n] = cell.re;
      imag[n++] = cell.im;
    } while (interp_next(&w->space, offset));
  *out = (loom_cell){.re = reduce_pairwise(real, count), .im = reduce_pairwise(imag, count)};
  free(real);
  return true;
}

/* The extreme of no elements: what any element replaces. */
static loom_cell reduce_farthest(loom_dtype dtype, bool greatest) {
  int64_t bits = 8 * (int64_t)loom_dtype_size(dtype);
  if (dtype == LOOM_BOOL) return (loom_cell){.i = greatest};
  if (!loom_dtype_is_integer(dtype)) return (loom_cell){.re = greatest ? INFINITY : -INFINITY};
  if (!loom_dtype_is_signed(dtype))
    return (loom_cell){.i = greatest ? (int64_t)(UINT64_MAX >> (64 - bits)) : 0};
  return (loom_cell){.i = greatest ? INT64_MAX >> (64 - bits) : INT64_MIN >> (64 - bits)};
}

static bool reduce_fold(const reduce_walk *w, const char *kind, loom_cell *out) {
  loom_dtype dtype = w->from->type.dtype;
  int64_t offset[LOOM_MAX_RANK] = {0};
  loom_opcode op = reduce_op(kind, dtype, out);
  bool extreme = op == LOOM_OP_MIN || op == LOOM_OP_MAX, empty = interp_empty(&w->space);
  if (extreme) *out = empty ? reduce_farthest(dtype, op == LOOM_OP_MIN) : reduce_get(w, offset);
  if (empty) return true;
  do {
    loom_cell both[] = {*out, reduce_get(w, offset)};
    if (!loom_cell_apply(op, dtype, both, out)) return false;
  } while (interp_next(&w->space, offset));
  return true;
}

/* The first of equal elements, or the first NaN. */
static void reduce_position(const reduce_walk *w, bool least, loom_cell *out) {
  loom_dtype dtype = w->from->type.dtype;
  int64_t offset[LOOM_MAX_RANK] = {0}, n = 0, found = 0;
  loom_cell best = reduce_get(w, offset);
  do {
    loom_cell cell = reduce_get(w, offset);
    int order = loom_cell_order(dtype, cell, best);
    bool nan = loom_cell_order(dtype, cell, cell) == LOOM_CELL_UNORDERED;
    bool done = loom_cell_order(dtype, best, best) == LOOM_CELL_UNORDERED;
    if (!done && (nan || order == (least ? -1 : 1))) {
      best = cell;
      found = n;
    }
    n++;
  } while (interp_next(&w->space, offset));
  *out = (loom_cell){.i = found};
}

static bool reduce_one(const reduce_walk *w, const char *kind, loom_cell *out) {
  loom_dtype dtype = w->from->type.dtype;
  if (strncmp(kind, "arg", 3) == 0) return reduce_position(w, kind[4] == 'i', out), true;
  bool floats = loom_dtype_is_inexact(dtype);
  return reduce_is_sum(kind) && floats ? reduce_sum_floats(w, out) : reduce_fold(w, kind, out);
}

bool interp_reduce(const interp_call *c) {
  const loom_buffer *from = &c->operands[0], *to = &c->results[0];
  const loom_attr *axes = &c->view->attrs[1];
  reduce_walk walk = {.from = from, .space = from->type};
  bool reduced[LOOM_MAX_RANK] = {false};
  for (int i = 0; i < axes->count; i++)
    reduced[axes->ints[i]] = true;
  for (int i = 0; i < from->type.rank; i++)
    if (!reduced[i]) walk.space.dims[i] = 1;
  int64_t index[LOOM_MAX_RANK] = {0};
  if (interp_empty(&to->type)) return true;
  do {
    loom_cell cell;
    for (int i = 0, j = 0; i < from->type.rank; i++)
      walk.base[i] = reduced[i] ? 0 : index[j++];
    if (!reduce_one(&walk, c->view->attrs[0].str, &cell))
      return loom_fail(c->err, "'reduce' %s of %s failed", c->view->attrs[0].str,
                       loom_dtype_name(from->type.dtype));
    interp_store(to, index, cell);
  } while (interp_next(&to->type, index));
  return true;
}

/* In order, each step rounded to the dtype, as NumPy's accumulate. */
bool interp_scan(const interp_call *c) {
  const loom_buffer *from = &c->operands[0], *to = &c->results[0];
  int64_t axis = c->view->attrs[1].i, index[LOOM_MAX_RANK] = {0};
  loom_type lines = to->type;
  loom_cell start, sum;
  loom_opcode op = reduce_op(c->view->attrs[0].str, to->type.dtype, &start);
  if (interp_empty(&to->type)) return true;
  lines.dims[axis] = 1;
  do {
    int64_t at[LOOM_MAX_RANK];
    memcpy(at, index, sizeof at);
    for (at[axis] = 0; at[axis] < to->type.dims[axis]; at[axis]++) {
      loom_cell next = interp_load(from, at);
      if (at[axis] == 0)
        sum = next;
      else if (!loom_cell_apply(op, to->type.dtype, (loom_cell[]){sum, next}, &sum))
        return loom_fail(c->err, "'scan' of %s failed", loom_dtype_name(to->type.dtype));
      interp_store(to, at, sum);
    }
  } while (interp_next(&lines, index));
  return true;
}

/* ---- sorting ---- */

typedef struct sort_item {
  loom_cell cell;
  int64_t position;
} sort_item;

/* NaN comes last; equal elements keep their order. */
static bool sort_before(loom_dtype dtype, const sort_item *a, const sort_item *b) {
  bool a_nan = loom_cell_order(dtype, a->cell, a->cell) == LOOM_CELL_UNORDERED;
  bool b_nan = loom_cell_order(dtype, b->cell, b->cell) == LOOM_CELL_UNORDERED;
  if (a_nan || b_nan) return !a_nan && b_nan;
  return loom_cell_order(dtype, a->cell, b->cell) < 0;
}

static void sort_merge(loom_dtype dtype, sort_item *items, sort_item *spare, int64_t count) {
  if (count < 2) return;
  int64_t half = count / 2, i = 0, j = half;
  sort_merge(dtype, items, spare, half);
  sort_merge(dtype, items + half, spare, count - half);
  for (int64_t n = 0; n < count; n++) {
    bool right = i == half || (j < count && sort_before(dtype, &items[j], &items[i]));
    spare[n] = right ? items[j++] : items[i++];
  }
  memcpy(items, spare, sizeof *items * (size_t)count);
}

bool interp_sort(const interp_call *c) {
  const loom_buffer *from = &c->operands[0], *to = &c->results[0];
  int64_t axis = c->view->attrs[0].i, count = from->type.dims[axis], index[LOOM_MAX_RANK] = {0};
  loom_type lines = from->type;
  if (interp_empty(&from->type)) return true;
  sort_item *items = calloc((size_t)count * 2, sizeof *items);
  if (!items) return loom_fail(c->err, "out of memory");
  lines.dims[axis] = 1;
  do {
    int64_t at[LOOM_MAX_RANK];
    memcpy(at, index, sizeof at);
    for (at[axis] = 0; at[axis] < count; at[axis]++)
      items[at[axis]] = (sort_item){interp_load(from, at), at[axis]};
    sort_merge(from->type.dtype, items, items + count, count);
    for (at[axis] = 0; at[axis] < count; at[axis]++)
      interp_store(to, at,
                   c->view->attrs[1].i ? (loom_cell){.i = items[at[axis]].position}
                                       : items[at[axis]].cell);
  } while (interp_next(&lines, index));
  free(items);
  return true;
}

/* ---- contractions ---- */

/* sum += a * b, floats in double, integers wrapping, bool as or of ands. */
static void dot_step(loom_dtype dtype, loom_cell *sum, loom_cell a, loom_cell b) {
  if (dtype == LOOM_BOOL) {
    sum->i |= a.i & b.i;
  } else if (loom_dtype_is_integer(dtype)) {
    sum->i = (int64_t)((uint64_t)sum->i + (uint64_t)a.i * (uint64_t)b.i);
  } else {
    sum->re += a.re * b.re - a.im * b.im;
    sum->im += a.re * b.im + a.im * b.re;
  }
}

static void dot_set(const loom_attr *axes, const int64_t *index, int64_t *at) {
  for (int i = 0; i < axes->count; i++)
    at[axes->ints[i]] = index[i];
}

/* Fills the free dimensions of one side from the result's index; returns how many there are. */
static int dot_free(const loom_type *type, const loom_attr *batch, const loom_attr *contract,
                    const int64_t *index, int64_t *at) {
  bool taken[LOOM_MAX_RANK] = {false};
  int used = 0;
  for (int i = 0; i < batch->count; i++)
    taken[batch->ints[i]] = true;
  for (int i = 0; i < contract->count; i++)
    taken[contract->ints[i]] = true;
  for (int i = 0; i < type->rank; i++)
    if (!taken[i]) at[i] = index[used++];
  return used;
}

/* An operand, whose elements are read once each: cells in the order of its indices. */
typedef struct dot_side {
  loom_cell *cells;
  int64_t strides[LOOM_MAX_RANK];
} dot_side;

static bool dot_read(dot_side *side, const loom_buffer *from) {
  int64_t index[LOOM_MAX_RANK] = {0}, count = 1;
  for (int d = from->type.rank - 1; d >= 0; d--) {
    side->strides[d] = count;
    count *= from->type.dims[d];
  }
  side->cells = malloc(sizeof *side->cells * (size_t)(count ? count : 1));
  if (!side->cells) return false;
  loom_cell *at = side->cells;
  if (count) do
      *at++ = interp_load(from, index);
    while (interp_next(&from->type, index));
  return true;
}

static const loom_cell *dot_at(const dot_side *side, const loom_type *type, const int64_t *index) {
  int64_t offset = 0;
  for (int d = 0; d < type->rank; d++)
    offset += index[d] * side->strides[d];
  return side->cells + offset;
}

/* The sum of products along the innermost of the contracted dimensions. */
static void dot_line(loom_dtype dtype, loom_cell *sum, const loom_cell *a, int64_t a_step,
                     const loom_cell *b, int64_t b_step, int64_t count) {
  bool real = loom_dtype_is_float(dtype);
  for (int64_t i = 0; i < count; i++, a += a_step, b += b_step)
    if (real)
      sum->re += a->re * b->re;
    else
      dot_step(dtype, sum, *a, *b);
}

bool interp_dot_general(const interp_call *c) {
  const loom_buffer *lhs = &c->operands[0], *rhs = &c->operands[1], *to = &c->results[0];
  const loom_attr *a = c->view->attrs;
  int64_t index[LOOM_MAX_RANK] = {0}, l[LOOM_MAX_RANK] = {0}, r[LOOM_MAX_RANK] = {0};
  int64_t depth = 1, steps[2] = {0, 0};
  dot_side left = {.cells = NULL}, right = {.cells = NULL};
  loom_type space = {.dtype = lhs->type.dtype, .rank = a[2].count};
  for (int i = 0; i < a[2].count; i++)
    space.dims[i] = lhs->type.dims[a[2].ints[i]];
  if (interp_empty(&to->type)) return true;
  bool good = dot_read(&left, lhs) && dot_read(&right, rhs);
  if (good && space.rank) {
    int last = space.rank - 1;
    depth = space.dims[last];
    space.dims[last] = depth ? 1 : 0;
    steps[0] = left.strides[a[2].ints[last]];
    steps[1] = right.strides[a[3].ints[last]];
  }
  if (good) do {
      dot_set(&a[0], index, l);
      dot_set(&a[1], index, r);
      int used = a[0].count;
      used += dot_free(&lhs->type, &a[0], &a[2], index + used, l);
      dot_free(&rhs->type, &a[1], &a[3], index + used, r);
      loom_cell sum = {0};
      int64_t k[LOOM_MAX_RANK] = {0};
      if (!interp_empty(&space)) do {
          dot_set(&a[2], k, l);
          dot_set(&a[3], k, r);
          dot_line(space.dtype, &sum, dot_at(&left, &lhs->type, l), steps[0],
                   dot_at(&right, &rhs->type, r), steps[1], depth);
        } while (interp_next(&space, k));
      interp_store(to, index, sum);
    } while (interp_next(&to->type, index));
  free(left.cells);
  free(right.cells);
  return good || loom_fail(c->err, "out of memory");
}

/* One result element: the window over the group's input channels and the spatial dimensions. */
static loom_cell convolution_element(const interp_call *c, const int64_t *index) {
  const loom_buffer *lhs = &c->operands[0], *rhs = &c->operands[1];
  const loom_attr *a = c->view->attrs;
  loom_type window = rhs->type;
  int64_t group = index[1] / (rhs->type.dims[0] / a[3].i), k[LOOM_MAX_RANK] = {0};
  loom_cell sum = {0};
  window.dims[0] = 1;
  if (interp_empty(&window)) return sum;
  do {
    int64_t l[LOOM_MAX_RANK] = {index[0], group * rhs->type.dims[1] + k[1]}, r[LOOM_MAX_RANK];
    bool inside = true;
    memcpy(r, k, sizeof r);
    r[0] = index[1];
    for (int i = 0; i < lhs->type.rank - 2; i++) {
      l[i + 2] = index[i + 2] * a[0].ints[i] + k[i + 2] * a[2].ints[i] - a[1].ints[2 * i];
      inside &= l[i + 2] >= 0 && l[i + 2] < lhs->type.dims[i + 2];
    }
    loom_cell element = inside ? interp_load(lhs, l) : (loom_cell){0};
    dot_step(lhs->type.dtype, &sum, element, interp_load(rhs, r));
  } while (interp_next(&window, k));
  return sum;
}

/* Each element of the result by itself. */
static bool convolution_each(const interp_call *c,
                             loom_cell (*element)(const interp_call *, const int64_t *)) {
  int64_t index[LOOM_MAX_RANK] = {0};
  if (interp_empty(&c->results[0].type)) return true;
  do
    interp_store(&c->results[0], index, element(c, index));
  while (interp_next(&c->results[0].type, index));
  return true;
}

bool interp_convolution(const interp_call *c) { return convolution_each(c, convolution_element); }

/* One weight: the sum over the batch and the pixels of the convolution's result. */
static loom_cell convolution_gradient_element(const interp_call *c, const int64_t *index) {
  const loom_buffer *lhs = &c->operands[0], *rhs = &c->operands[1];
  const loom_attr *a = c->view->attrs;
  loom_type space = rhs->type;
  int64_t group = index[0] / (rhs->type.dims[1] / a[4].i), r[LOOM_MAX_RANK] = {0};
  loom_cell sum = {0};
  space.dims[1] = 1;
  if (interp_empty(&space)) return sum;
  do {
    int64_t l[LOOM_MAX_RANK] = {r[0], group * c->results[0].type.dims[1] + index[1]};
    int64_t at[LOOM_MAX_RANK];
    bool inside = true;
    memcpy(at, r, sizeof at);
    at[1] = index[0];
    for (int i = 0; i < lhs->type.rank - 2; i++) {
      l[i + 2] = r[i + 2] * a[0].ints[i] + index[i + 2] * a[2].ints[i] - a[1].ints[2 * i];
      inside &= l[i + 2] >= 0 && l[i + 2] < lhs->type.dims[i + 2];
    }
    loom_cell element = inside ? interp_load(lhs, l) : (loom_cell){0};
    dot_step(c->results[0].type.dtype, &sum, element, interp_load(rhs, at));
  } while (interp_next(&space, r));
  return sum;
}

bool interp_convolution_gradient(const interp_call *c) {
  return convolution_each(c, convolution_gradient_element);
}

/* One element of a depthwise convolution's input: the pixels whose windows read it. */
static loom_cell convolution_input_element(const interp_call *c, const int64_t *index) {
  const loom_buffer *lhs = &c->operands[0], *rhs = &c->operands[1];
  const loom_attr *a = c->view->attrs;
  loom_type window = rhs->type;
  int64_t k[LOOM_MAX_RANK] = {0};
  loom_cell sum = {0};
  window.dims[0] = 1;
  do {
    int64_t l[LOOM_MAX_RANK] = {index[0], index[1]}, r[LOOM_MAX_RANK];
    bool read = true;
    memcpy(r, k, sizeof r);
    r[0] = index[1];
    for (int i = 0; i < lhs->type.rank - 2; i++) {
      int64_t stride = a[0].ints[i], at = index[i + 2] + a[1].ints[2 * i] - k[i + 2] * a[2].ints[i];
      l[i + 2] = at / stride;
      read &= at >= 0 && at % stride == 0 && l[i + 2] < lhs->type.dims[i + 2];
    }
    if (read) dot_step(lhs->type.dtype, &sum, interp_load(lhs, l), interp_load(rhs, r));
  } while (interp_next(&window, k));
  return sum;
}

bool interp_convolution_input(const interp_call *c) {
  return convolution_each(c, convolution_input_element);
}

/* ---- random numbers ----
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011).
 * Element e of the result takes its words from block counter + e / p, where p elements share a
 * block: "bits" and "uniform" fill 32-bit elements with one word and 64-bit ones with two, low word
 * first; "normal" takes a whole block. */

static void random_philox(uint32_t counter[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = UINT64_C(0xD2511F53) * counter[0], p1 = UINT64_C(0xCD9E8D57) * counter[2];
    uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ counter[1] ^ key0, (uint32_t)p1,
                        (uint32_t)(p0 >> 32) ^ counter[3] ^ key1, (uint32_t)p0};
    memcpy(counter, next, sizeof next);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
}

static void random_block(const interp_call *c, uint64_t block, uint32_t words[4]) {
  int64_t first = 0, second = 1;
  uint64_t key = (uint64_t)interp_load(&c->operands[0], &first).i;
  uint64_t low = (uint64_t)interp_load(&c->operands[1], &first).i;
  uint64_t high = (uint64_t)interp_load(&c->operands[1], &second).i;
  high += low + block < low;
  low += block;
  words[0] = (uint32_t)low;
  words[1] = (uint32_t)(low >> 32);
  words[2] = (uint32_t)high;
  words[3] = (uint32_t)(high >> 32);
  random_philox(words, (uint32_t)key, (uint32_t)(key >> 32));
}

static loom_cell random_element(const interp_call *c, uint64_t e) {
  const char *kind = c->view->attrs[0].str;
  bool wide = loom_dtype_size(c->results[0].type.dtype) == 8;
  uint32_t words[4];
  if (kind[0] == 'n') { /* Box-Muller: the first uniform is in (0, 1] */
    random_block(c, e, words);
    double u = ((((uint64_t)words[1] << 32 | words[0]) >> 11) + 1) * 0x1p-53;
    double v = (((uint64_t)words[3] << 32 | words[2]) >> 11) * 0x1p-53;
    return (loom_cell){.re = sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v)};
  }
  int shared = wide ? 2 : 4, place = (int)(e % (uint64_t)shared);
  random_block(c, e / (uint64_t)shared, words);
  uint64_t bits = wide ? (uint64_t)words[2 * place + 1] << 32 | words[2 * place] : words[place];
  if (kind[0] == 'b') return (loom_cell){.i = (int64_t)bits};
  return (loom_cell){.re = wide ? (bits >> 11) * 0x1p-53 : (bits >> 8) * 0x1p-24};
}

bool interp_random(const interp_call *c) {
  int64_t index[LOOM_MAX_RANK] = {0};
  uint64_t e = 0;
  if (interp_empty(&c->results[0].type)) return true;
  do
    interp_store(&c->results[0], index, random_element(c, e++));
  while (interp_next(&c->results[0].type, index));
  return true;
}
