/* Symbolic sizes of arrays: reading those of live arrays, arithmetic on strides, arguments that are
 * sizes; and the gate, by which handlers without a row in sizes.def get constant sizes only.
 *
 * Sizes are codes of the graph (loom_dim), strides and offsets are numbers of the graph in bytes. A
 * symbolic size is at least 2 (size.c), so that comparing a code with 0 or 1 is right; any other
 * comparison goes through size_same, size_equal or size_less. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

/* ---- arithmetic ----------------------------------------------------------------------------- */

int64_t np_times(tracer *t, int64_t a, int64_t b) {
  int64_t out;
  return size_op(t, LOOM_EXPR_MUL, a, b, &out) ? out : 1;
}

int64_t np_plus(tracer *t, int64_t a, int64_t b) {
  int64_t out;
  return size_op(t, LOOM_EXPR_ADD, a, b, &out) ? out : 1;
}

int64_t np_dim(loom_dim dim) { return loom_stride_of_dim(dim); }

loom_value np_number_node(tracer *t, int64_t number) {
  const loom_type type = {.dtype = LOOM_I64};
  return LOOM_STRIDE_IS_SYM(number) ? size_node(t, number)
                                    : emit_constant(t, &type, (uint64_t)number);
}

int64_t np_count(tracer *t, const loom_type *type) {
  int64_t n = 1;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  for (int i = 0; i < type->rank; i++)
    n = np_times(t, n, np_dim(type->dims[i]));
  return n;
}

loom_dim np_count_dim(tracer *t, const loom_type *type) {
  loom_dim dim;
  return size_admit(t, np_count(t, type), &dim) ? dim : 1;
}

int64_t np_in_elements(tracer *t, int64_t bytes, loom_dtype dtype) {
  int64_t out, size = (int64_t)loom_dtype_size(dtype);
  if (!LOOM_STRIDE_IS_SYM(bytes)) return bytes / size;
  return size_op(t, LOOM_EXPR_FLOORDIV, bytes, size, &out) ? out : 1;
}

bool np_same_sizes(tracer *t, const loom_type *a, const loom_type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (size_same(t, a->dims[i], b->dims[i]) <= 0) return false;
  return true;
}

bool np_is_symbolic(const np_array *a) {
  for (int i = 0; i < a->type.rank; i++)
    if (LOOM_DIM_IS_SYM(a->type.dims[i]) || LOOM_STRIDE_IS_SYM(a->strides[i])) return true;
  return LOOM_STRIDE_IS_SYM(a->offset);
}

/* ---- live arrays ---------------------------------------------------------------------------- */

/* Bits of symbolic sizes. */
static bool sizes_read_dims(tracer *t, const source *s, const numpy_array_payload *p,
                            loom_type *type) {
  for (int i = 0; i < p->nd; i++) {
    int64_t number;
    if (!size_read(t, s, SIZE_OF_DIM, i, p->dims[i], &number) ||
        !loom_dim_of_stride(number, &type->dims[i]))
      return false;
  }
  return true;
}

/* A stride that does not follow from the sizes: a constant, or a symbol of its own. */
static bool sizes_read_stride(tracer *t, const source *s, const numpy_array_payload *p, int axis,
                              int64_t *out) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype), number;
  if (!size_read(t, s, SIZE_OF_STRIDE, axis, p->strides[axis] / size, &number)) return false;
  *out = LOOM_STRIDE_IS_SYM(number) ? np_times(t, number, size) : p->strides[axis];
  return !trace_pending(t);
}

/* Axes of more than one element by growing stride. */
static int sizes_sort(const numpy_array_payload *p, int *order) {
  int count = 0;
  for (int i = 0; i < p->nd; i++) {
    int at = count;
    if (p->dims[i] <= 1 || p->strides[i] == 0) continue;
    for (; at > 0 && llabs(p->strides[order[at - 1]]) > llabs(p->strides[i]); at--)
      order[at] = order[at - 1];
    order[at] = i;
    count++;
  }
  return count;
}

/* The strides as products of the sizes where this array is laid out without gaps. */
static bool np_sizes_strides(tracer *t, const source *s, const numpy_array_payload *p,
                             const loom_type *type, int64_t *strides) {
  int order[LOOM_MAX_RANK], count = sizes_sort(p, order);
  int64_t dense = (int64_t)loom_dtype_size(p->dtype), reached[LOOM_MAX_RANK + 1] = {dense};
  for (int i = 0; i < p->nd; i++)
    strides[i] = p->strides[i];
  for (int k = 0; k < count; k++) {
    int i = order[k];
    if (size_hint(t, dense) == llabs(p->strides[i]))
      strides[i] = p->strides[i] < 0 ? np_times(t, dense, -1) : dense;
    else if (!sizes_read_stride(t, s, p, i, &strides[i]))
      return false;
    dense = np_times(t, p->strides[i] < 0 ? np_times(t, strides[i], -1) : strides[i],
                     np_dim(type->dims[i]));
    reached[k + 1] = dense;
  }
  /* The stride of a single element is whatever it was made with, most often one of these. */
  for (int i = 0; i < p->nd; i++)
    for (int k = 0; p->dims[i] == 1 && k <= count; k++)
      if (LOOM_STRIDE_IS_SYM(reached[k]) && size_hint(t, reached[k]) == p->strides[i])
        strides[i] = reached[k];
  return !trace_pending(t);
}

static void sizes_guard_strides(tracer *t, const source *s, const numpy_array_payload *p,
                                const int64_t *strides) {
  for (int i = 0; i < p->nd; i++)
    if (LOOM_STRIDE_IS_SYM(strides[i]))
      size_guard_reads(t, s, SIZE_OF_STRIDE, i, np_in_elements(t, strides[i], p->dtype));
}

bool np_sizes_read(tracer *t, const source *s, numpy_array_payload *p, loom_type *type,
                   int64_t *strides) {
  numpy_array_payload live = *p;
  *type = (loom_type){.dtype = p->dtype, .rank = p->nd};
  if (!sizes_read_dims(t, s, p, type) || !np_sizes_strides(t, s, &live, type, strides))
    return false;
  sizes_guard_strides(t, s, p, strides);
  for (int i = 0; i < p->nd; i++) {
    p->dims[i] = type->dims[i];
    p->strides[i] = strides[i];
  }
  return !trace_pending(t);
}

/* ---- arguments ------------------------------------------------------------------------------ */

value *np_number(tracer *t, int64_t number) {
  return LOOM_STRIDE_IS_SYM(number) ? value_size(t, number) : np_int(t, number);
}

/* The number that an int of the library's is; it is no input of sizes alone: false. */
bool np_size_of(tracer *t, value *v, int64_t *out) {
  np_array *a = np_array_of(v);
  if (!a || !a->scalar || a->type.dtype != LOOM_I64 || np_known(t, v)) return false;
  const loom_value_info *info = &trace_graph(t)->values[np_read(t, a)];
  if (info->node >= 0) return false;
  const struct capture_input *in = &t->capture->inputs[info->index];
  *out = in->size;
  return !in->source && !in->constant && !in->formula && LOOM_STRIDE_IS_SYM(in->size);
}

bool np_number_arg(tracer *t, value *v, int64_t *out) {
  if (np_is_array(v) && np_size_of(t, v, out)) return true;
  if (value_is_number(v)) return value_size_of(t, v, out) || np_int_arg(t, v, out);
  return np_int_arg(t, v, out);
}

bool np_numbers_arg(tracer *t, value *v, int *count, int64_t *out) {
  *count = 1;
  if (value_is_number(v) || np_size_of(t, v, out)) return np_number_arg(t, v, out);
  if (!value_is_sequence(v)) return np_ints_arg(t, v, count, out);
  value *tuple = trace_to_tuple(t, v);
  if (!tuple) return false;
  if (tuple->seq.count > LOOM_MAX_RANK) return np_ints_arg(t, v, count, out);
  *count = (int)tuple->seq.count;
  for (int i = 0; i < *count; i++)
    if (!np_number_arg(t, tuple->seq.items[i], &out[i])) return false;
  return true;
}

bool np_sizes_admit(tracer *t, int rank, int64_t *dims) {
  for (int i = 0; i < rank; i++)
    if (size_less(t, dims[i], 0) > 0) {
      trace_raise(t, PyExc_ValueError, "negative dimensions are not allowed");
      return false;
    }
  for (int i = 0; i < rank; i++)
    if (trace_pending(t) || !size_admit(t, dims[i], &dims[i])) return false;
  return !trace_pending(t);
}

/* ---- room in memory -------------------------------------------------------------------------
 *
 * A graph computes what it is asked for, and may never have an array that the program names. NumPy
 * has all of them, and refuses those that memory cannot hold: so does capture, by leaving them to
 * NumPy, before hours are spent on one. */

#define SIZES_SURELY_FIT ((int64_t)1 << 28) /* bytes that are not worth asking the system about */

static int64_t sizes_memory(void) {
  struct sysinfo info;
  struct rlimit limit;
  unsigned long long bytes = LOOM_NUMBER_LIMIT;
  if (sysinfo(&info) == 0)
    bytes = ((unsigned long long)info.totalram + info.totalswap) * info.mem_unit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < bytes) bytes = limit.rlim_cur;
  return bytes < (unsigned long long)LOOM_NUMBER_LIMIT ? (int64_t)bytes : LOOM_NUMBER_LIMIT;
}

/* Bytes by the ranges of the symbols, at most LOOM_NUMBER_LIMIT. As NumPy counts: sizes of 0 do not
 * make the others right. */
static int64_t sizes_most_bytes(tracer *t, const loom_type *type) {
  int64_t bytes = (int64_t)loom_dtype_size(type->dtype), low, high;
  for (int i = 0; i < type->rank; i++) {
    loom_dim_range(trace_graph(t), type->dims[i], &low, &high);
    if (high == 0) continue;
    if (__builtin_mul_overflow(bytes, high, &bytes) || bytes >= LOOM_NUMBER_LIMIT)
      return LOOM_NUMBER_LIMIT;
  }
  return bytes;
}

static bool sizes_no_room(tracer *t) {
  trace_break(t, BREAK_NUMPY_FUNCTION, "an array that is larger than memory");
  return false;
}

bool np_addressable(tracer *t, const loom_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i])) return true;
  return sizes_most_bytes(t, type) < LOOM_NUMBER_LIMIT || sizes_no_room(t);
}

/* Symbols whose sizes would be too large are kept from being so, by their ranges or a guard. */
static bool sizes_symbolic_room(tracer *t, const loom_type *type) {
  int64_t most = SIZES_SURELY_FIT, memory = sizes_memory(), bytes = 1;
  while (most < memory)
    most *= 2;
  if (sizes_most_bytes(t, type) <= most) return true;
  for (int i = 0; i < type->rank; i++)
    bytes = np_times(t, bytes, np_dim(type->dims[i]));
  bytes = np_times(t, bytes, (int64_t)loom_dtype_size(type->dtype));
  if (trace_pending(t) || size_is_late(t, bytes) || size_is_looped(t, bytes))
    return !trace_pending(t);
  if (size_less(t, most, bytes) > 0) return sizes_no_room(t);
  return !trace_pending(t);
}

bool np_has_room(tracer *t, const loom_type *type) {
  int64_t bytes = sizes_most_bytes(t, type);
  if (bytes <= SIZES_SURELY_FIT) return true;
  for (int i = 0; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i])) return sizes_symbolic_room(t, type);
  bool empty = np_elements(type) == 0 && bytes < LOOM_NUMBER_LIMIT;
  return empty || bytes <= sizes_memory() || sizes_no_room(t);
}

/* ---- the gate ------------------------------------------------------------------------------- */

void np_know_sizes(tracer *t, const np_array *a) {
  for (int i = 0; i < a->type.rank; i++) {
    size_know(t, np_dim(a->type.dims[i]));
    size_know(t, a->strides[i]);
  }
  size_know(t, a->offset);
}

/* Sizes of an array that a host call tells are taken to be at least 2. */
void np_not_small(tracer *t, const np_array *a) {
  for (int i = 0; i < a->type.rank; i++)
    size_not_small(t, np_dim(a->type.dims[i]));
}

/* For all arrays in a value; of numbers too, where `numbers` is not NULL. */
static void sizes_visit(tracer *t, value *v, int depth, void (*arrays)(tracer *, const np_array *),
                        void (*numbers)(tracer *, int64_t)) {
  int64_t number;
  if (trace_pending(t) || !v || depth > 8) return;
  if (np_is_array(v)) {
    arrays(t, np_array_of(v));
  } else if (value_is_sequence(v) || value_is_dict(v) || value_is_slice(v)) {
    if (value_is_dict(v) && !(v = dict_whole(t, v))) return;
    for (Py_ssize_t i = 0; i < v->seq.count; i++)
      sizes_visit(t, v->seq.items[i], depth + 1, arrays, numbers);
  } else if (value_is_number(v) && numbers && number_is_size(v)) {
    if (value_size_of(t, v, &number)) numbers(t, number);
  }
}

static bool sizes_is_symbolic(tracer *t, value *v, int depth) {
  bool any = false;
  if (!v || depth > 8) return false;
  if (np_is_array(v)) return np_is_symbolic(np_array_of(v));
  if (value_is_number(v)) return number_is_size(v);
  if (!value_is_sequence(v)) return false;
  for (Py_ssize_t i = 0; i < v->seq.count && !any; i++)
    any = sizes_is_symbolic(t, v->seq.items[i], depth + 1);
  return any;
}

bool np_are_symbolic(tracer *t, value *const *values, Py_ssize_t count) {
  bool any = false;
  for (Py_ssize_t i = 0; trace_graph(t)->symbol_count && i < count && !any; i++)
    any = sizes_is_symbolic(t, values[i], 0);
  return any;
}

bool np_gate_values(tracer *t, value *const *values, Py_ssize_t count) {
  for (Py_ssize_t i = 0; trace_graph(t)->symbol_count && i < count; i++)
    sizes_visit(t, values[i], 0, np_know_sizes, size_know);
  return !trace_pending(t);
}

static void sizes_know_early(tracer *t, const np_array *a) {
  for (int i = 0; i < a->type.rank; i++)
    if (!size_is_late(t, np_dim(a->type.dims[i]))) size_know(t, np_dim(a->type.dims[i]));
}

static void sizes_know_late(tracer *t, const np_array *a) {
  for (int i = 0; i < a->type.rank; i++)
    if (size_is_late(t, np_dim(a->type.dims[i]))) size_know(t, np_dim(a->type.dims[i]));
}

bool np_gate_late(tracer *t, value *v) {
  if (size_any_late(t)) sizes_visit(t, v, 0, sizes_know_late, NULL);
  return !trace_pending(t);
}

bool np_gate_key(tracer *t, value *key) {
  if (trace_graph(t)->symbol_count) sizes_visit(t, key, 0, sizes_know_early, size_know);
  return !trace_pending(t);
}

bool np_gate_small(tracer *t, value *const *values, Py_ssize_t count) {
  for (Py_ssize_t i = 0; size_any_late(t) && i < count; i++)
    sizes_visit(t, values[i], 0, np_not_small, size_not_small);
  return !trace_pending(t);
}

#define NP_SIZED(HANDLER) value *HANDLER(tracer *t, const np_call *c);
#define NP_ANY_SIZE(HANDLER) value *HANDLER(tracer *t, const np_call *c);
#include "frontend/numpy/sizes.def"
#undef NP_SIZED
#undef NP_ANY_SIZE

bool np_gate(tracer *t, np_handler handler, const np_call *c) {
  static const struct {
    np_handler handler;
    bool any;
  } open[] = {
#define NP_SIZED(HANDLER) {HANDLER, false},
#define NP_ANY_SIZE(HANDLER) {HANDLER, true},
#include "frontend/numpy/sizes.def"
#undef NP_SIZED
#undef NP_ANY_SIZE
  };
  Py_ssize_t count = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  if (!trace_graph(t)->symbol_count) return true;
  for (size_t i = 0; i < sizeof open / sizeof *open; i++)
    if (open[i].handler == handler) return open[i].any || np_gate_small(t, c->args, count);
  return np_gate_values(t, c->args, count);
}
