/* Products: matmul, dot, vdot, inner, outer, tensordot and einsum become dot_general with NumPy's
 * shape rules; results are in C order, as NumPy's are. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_reductions.h"

#include <string.h>

/* lhs and rhs with batch and contracted axes; the result has batch, free of lhs, free of rhs. */
static loom_value linalg_dot(tracer *t, loom_value l, loom_value r, const int64_t *lb,
                             const int64_t *rb, int batch, const int64_t *lc, const int64_t *rc,
                             int contract) {
  if (l == LOOM_NO_VALUE || r == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  loom_attr attrs[4] = {attr_ints(lb, batch), attr_ints(rb, batch), attr_ints(lc, contract),
                        attr_ints(rc, contract)};
  loom_value in[2] = {l, r};
  return trace_node(t, LOOM_OP_DOT_GENERAL, in, 2, attrs, 4, NULL);
}

/* Does NumPy give the product of such operands to BLAS? */
static bool linalg_is_blas(loom_dtype dtype) {
  return dtype == LOOM_F32 || dtype == LOOM_F64 || loom_dtype_is_complex(dtype);
}

/* Elements times one number as BLAS makes them: added to 0, and 0 where the number is 0, whatever
 * the elements are. One element alone is an ordinary product. */
static loom_value linalg_axpy(tracer *t, loom_value number, loom_value v) {
  if (number == LOOM_NO_VALUE || v == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  loom_type type = *emit_type(t, v);
  loom_value zero = emit_constant(t, &type, 0),
             all = emit_broadcast_to(t, number, type.rank, type.dims);
  loom_value product = emit2(t, LOOM_OP_MUL, all, v);
  if (np_elements(&type) == 1) return product;
  return emit_select(t, emit_compare(t, "eq", all, zero), zero,
                     emit2(t, LOOM_OP_ADD, zero, product));
}

static int linalg_free(const loom_type *type, const int64_t *contracted, int count, int64_t *dims) {
  int rank = 0;
  for (int i = 0; i < type->rank; i++) {
    bool gone = false;
    for (int k = 0; k < count; k++)
      gone |= contracted[k] == i;
    if (!gone) dims[rank++] = type->dims[i];
  }
  return rank;
}

/* A product of matrices one of which is a single number, by BLAS. LOOM_NO_VALUE for others, and
 * after a failure. */
static loom_value linalg_by_number(tracer *t, loom_value l, loom_value r, const int64_t *lc,
                                   const int64_t *rc, int contract) {
  if (l == LOOM_NO_VALUE || r == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  loom_type a = *emit_type(t, l), b = *emit_type(t, r);
  bool one[2] = {np_elements(&a) == 1, np_elements(&b) == 1};
  if (!linalg_is_blas(a.dtype) || !(one[0] || one[1])) return LOOM_NO_VALUE;
  int64_t dims[LOOM_MAX_RANK];
  int rank = linalg_free(&a, lc, contract, dims);
  rank += linalg_free(&b, rc, contract, dims + rank);
  loom_value number = emit_reshape(t, one[0] ? l : r, 0, NULL),
             elements = emit_reshape(t, one[0] ? r : l, rank, dims);
  return linalg_axpy(t, number, elements);
}

static bool linalg_pair(tracer *t, value *l, value *r, np_array **a, np_array **b,
                        loom_dtype *dtype) {
  np_operand o[2];
  if (!(*a = np_as_array(t, l)) || !(*b = np_as_array(t, r))) return false;
  o[0] = (np_operand){.array = *a};
  o[1] = (np_operand){.array = *b};
  return np_result_type(t, o, 2, dtype);
}

/* np.dot and its like give a list without elements the dtype of the other operand. */
static bool linalg_is_typed(tracer *t, const np_call *c, value *const *operands) {
  for (int i = 0; i < 2; i++) {
    value *v = operands[i];
    bool empty = false;
    while (!empty && value_is_sequence(v)) {
      empty = v->seq.count == 0;
      if (!empty) v = v->seq.items[0];
    }
    if (v != operands[i] && np_is_array(v)) empty = np_count(t, &np_array_of(v)->type) == 0;
    if (empty) return np_unsupported(t, c, "of a list without elements") != NULL;
  }
  return true;
}

static value *linalg_mismatch(tracer *t, const np_array *a, const np_array *b, int64_t n,
                              int64_t k) {
  return trace_raise(
      t, PyExc_ValueError,
      "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
      "(n?,k),(k,m?)->(n?,m?) (size %lld is different from %lld)",
      (long long)size_hint(t, np_dim(n)), (long long)size_hint(t, np_dim(k)));
}

/* Leading (batch) sizes of both, broadcast; false after a ValueError. */
static bool linalg_batch(tracer *t, const np_array *a, const np_array *b, int *rank,
                         int64_t *dims) {
  np_array heads[2] = {*a, *b};
  np_operand o[2] = {{.array = &heads[0]}, {.array = &heads[1]}};
  for (int i = 0; i < 2; i++)
    heads[i].type.rank = heads[i].type.rank > 2 ? heads[i].type.rank - 2 : 0;
  return np_broadcast(t, o, 2, rank, dims);
}

/* The elements with batch dimensions of its own broadcast to `batch`, and two (or one) core
 * dimensions. */
static loom_value linalg_load(tracer *t, np_array *a, loom_dtype dtype, int batch,
                              const int64_t *batch_dims) {
  int core = a->type.rank < 2 ? a->type.rank : 2;
  int64_t dims[LOOM_MAX_RANK];
  if (a->type.rank - core == 0) return emit_convert(t, np_read(t, a), dtype);
  for (int i = 0; i < batch; i++)
    dims[i] = batch_dims[i];
  for (int i = 0; i < core; i++)
    dims[batch + i] = a->type.dims[a->type.rank - core + i];
  return emit_broadcast_to(t, emit_convert(t, np_read(t, a), dtype), batch + core, dims);
}

/* Only one of the two has batch dimensions, or both: those of dot_general must be on both sides, so
 * that the other one's elements become free dimensions, in the right order when it is the right
 * operand. */
static loom_value matmul_nodes(tracer *t, np_array *a, np_array *b, loom_dtype dtype, int batch,
                               const int64_t *dims) {
  static const int64_t count[LOOM_MAX_RANK] = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  loom_value l = linalg_load(t, a, dtype, batch, dims), r = linalg_load(t, b, dtype, batch, dims);
  if (l == LOOM_NO_VALUE || r == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  int ln = emit_type(t, l)->rank, rn = emit_type(t, r)->rank;
  bool left = a->type.rank > 2, right = b->type.rank > 2;
  int64_t lc[1] = {ln - 1}, rc[1] = {rn >= 2 ? rn - 2 : 0};
  if (left && right) return linalg_dot(t, l, r, count, count, batch, lc, rc, 1);
  loom_value v = linalg_dot(t, l, r, NULL, NULL, 0, lc, rc, 1);
  if (!right || a->type.rank < 2 || v == LOOM_NO_VALUE) return v;
  /* [m][batch...][n] to [batch...][m][n] */
  int64_t perm[LOOM_MAX_RANK];
  int rank = emit_type(t, v)->rank;
  for (int i = 0; i < rank; i++)
    perm[i] = i < rank - 2 ? i + 1 : i == rank - 2 ? 0 : i;
  return emit_transpose(t, v, perm);
}

static value *linalg_result(tracer *t, loom_value v, value *out) {
  if (v == LOOM_NO_VALUE) return NULL;
  if (!out) return np_result(t, v, NULL);
  np_array *o = np_array_of(out);
  loom_type type = *emit_type(t, v);
  if (!np_can_cast(type.dtype, o->type.dtype, NPY_SAME_KIND_CASTING))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a product into an array of another kind");
  type.dtype = o->type.dtype;
  if (!np_same_sizes(t, &type, &o->type))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a product into other sizes");
  return np_write(t, o, emit_convert(t, v, type.dtype)) ? out : NULL;
}

/* The same of an operation that is a ufunc. */
static value *linalg_given(tracer *t, loom_value v, value *out) {
  value *made = linalg_result(t, v, out);
  if (made && out && emit_type(t, v)->dtype == np_array_of(out)->type.dtype)
    np_note_given(np_array_of(out), v);
  return made;
}

/* Batch dimensions of the result follow the operands' as in an elementwise operation; each product
 * is in C order. */
static void matmul_layout(tracer *t, const np_array *a, const np_array *b, int batch,
                          const loom_type *type, int64_t *strides) {
  np_array heads[2] = {*a, *b}, *both[2] = {&heads[0], &heads[1]};
  loom_type outer = type_make(type->dtype, batch, type->dims);
  int64_t inner = 1;
  np_c_strides(t, type, strides);
  if (np_elements(type) == 0) return;
  for (int i = batch; i < type->rank; i++)
    inner = np_times(t, inner, np_dim(type->dims[i]));
  for (int i = 0; i < 2; i++) {
    heads[i].type.rank = heads[i].type.rank > 2 ? heads[i].type.rank - 2 : 0;
    for (int d = 0; d < heads[i].type.rank; d++)
      if (heads[i].type.dims[d] == 1) heads[i].strides[d] = 0;
  }
  np_layout_elementwise(t, both, 2, &outer, 'K', false, strides);
  for (int i = 0; i < batch; i++)
    strides[i] = np_times(t, strides[i], inner);
}

static value *linalg_matmul(tracer *t, value *l, value *r, value *out) {
  np_array *a, *b;
  loom_dtype dtype;
  int batch;
  int64_t dims[LOOM_MAX_RANK];
  if (!linalg_pair(t, l, r, &a, &b, &dtype)) return NULL;
  if (a->type.rank == 0 || b->type.rank == 0)
    return trace_raise(t, PyExc_ValueError,
                       "matmul: Input operand %d does not have enough dimensions (has 0, gufunc "
                       "core with signature "
                       "(n?,k),(k,m?)->(n?,m?) requires 1)",
                       a->type.rank == 0 ? 0 : 1);
  int64_t k = a->type.dims[a->type.rank - 1],
          n = b->type.dims[b->type.rank >= 2 ? b->type.rank - 2 : 0];
  int same = size_same(t, k, n);
  if (same <= 0) return same < 0 ? NULL : linalg_mismatch(t, a, b, n, k);
  if (!linalg_batch(t, a, b, &batch, dims)) return NULL;
  loom_value v = matmul_nodes(t, a, b, dtype, batch, dims);
  if (v == LOOM_NO_VALUE || batch < 2 || out) return linalg_given(t, v, out);
  int64_t strides[LOOM_MAX_RANK];
  matmul_layout(t, a, b, batch, emit_type(t, v), strides);
  return np_result(t, v, strides);
}

value *np_matmul(tracer *t, value *l, value *r) {
  return np_gate_small(t, (value *[]){l, r}, 2) ? linalg_matmul(t, l, r, NULL) : NULL;
}

value *np_matmul_call(tracer *t, const np_call *c) {
  value *p[3], *out;
  if (!np_parse(t, c, "x1 x2 | out", p) || !np_outs_arg(t, p[2], &out)) return NULL;
  return linalg_matmul(t, p[0], p[1], out);
}

/* With a number the product is that of the elements, but numbers have their own dtypes here. What
 * BLAS is asked for comes in C order, the rest from the ufunc. */
static value *linalg_scaled(tracer *t, np_array *a, np_array *b, loom_dtype dtype, value *out) {
  np_array *shape = a->type.rank ? a : b;
  int64_t strides[LOOM_MAX_RANK];
  loom_value in[2] = {emit_convert(t, np_read(t, a), dtype), emit_convert(t, np_read(t, b), dtype)};
  if (linalg_is_blas(dtype) && shape->type.rank <= 2)
    return linalg_result(t, linalg_axpy(t, in[shape == a], in[shape != a]), out);
  for (int i = 0; i < 2; i++)
    in[i] = emit_broadcast_to(t, in[i], shape->type.rank, shape->type.dims);
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return NULL;
  loom_value v = np_ufunc_loop(t, np_ufunc_object("multiply"), in, dtype);
  if (v == LOOM_NO_VALUE || out) return linalg_result(t, v, out);
  np_array converted = *shape, *multiplied = shape;
  if (shape->type.dtype != dtype) { /* the converted copy is what is multiplied */
    converted.type.dtype = dtype;
    np_layout_copy(t, shape, &converted.type, 'K', converted.strides);
    multiplied = &converted;
  }
  np_layout_elementwise(t, &multiplied, 1, emit_type(t, v), 'K', false, strides);
  return np_result(t, v, strides);
}

/* The result of np.dot, which gives a number, not the array, where out= has no dimensions. */
static value *linalg_dotted(tracer *t, value *made, const value *out) {
  np_array *a = made && out ? np_array_of(made) : NULL;
  return a && a->type.rank == 0 ? np_result(t, np_read(t, a), NULL) : made;
}

typedef enum linalg_kind { LINALG_DOT, LINALG_INNER, LINALG_VDOT } linalg_kind;

/* np.dot: the last axis of a with the last but one of b; out= is an array as it makes itself. */
static value *linalg_inner(tracer *t, value *l, value *r, value *out, linalg_kind kind) {
  bool last = kind == LINALG_INNER;
  np_array *a, *b, *o = out ? np_array_of(out) : NULL;
  loom_dtype dtype;
  if (!linalg_pair(t, l, r, &a, &b, &dtype)) return NULL;
  if (o && (o->type.dtype != dtype || !np_is_c(t, o)))
    return trace_break(t, BREAK_RAISES, "np.dot with an out= of another dtype or layout");
  if (a->type.rank == 0 || b->type.rank == 0)
    return linalg_dotted(t, linalg_scaled(t, a, b, dtype, out), out);
  int64_t lc[1] = {a->type.rank - 1},
          rc[1] = {b->type.rank >= 2 && !last ? b->type.rank - 2 : b->type.rank - 1};
  if (size_same(t, a->type.dims[lc[0]], b->type.dims[rc[0]]) <= 0) {
    char text[2][128];
    return trace_raise(
        t, PyExc_ValueError, "shapes %s and %s not aligned: %lld (dim %d) != %lld (dim %d)",
        np_shape_text(&a->type, text[0], 128), np_shape_text(&b->type, text[1], 128),
        (long long)a->type.dims[lc[0]], (int)lc[0], (long long)b->type.dims[rc[0]], (int)rc[0]);
  }
  if (a->type.rank + b->type.rank - 2 > LOOM_MAX_RANK)
    return trace_break(t, BREAK_LIMIT, "a product of more than %d dimensions", LOOM_MAX_RANK);
  loom_value in[2] = {emit_convert(t, np_read(t, a), dtype), emit_convert(t, np_read(t, b), dtype)};
  loom_value v = LOOM_NO_VALUE;
  if (a->type.rank <= 2 && b->type.rank <= 2 && kind != LINALG_VDOT)
    v = linalg_by_number(t, in[0], in[1], lc, rc, 1);
  if (v == LOOM_NO_VALUE) v = linalg_dot(t, in[0], in[1], NULL, NULL, 0, lc, rc, 1);
  return linalg_dotted(t, linalg_result(t, v, out), out);
}

value *np_dot(tracer *t, const np_call *c) {
  value *p[3], *out;
  if (!np_parse(t, c, "a b | out", p) || !linalg_is_typed(t, c, p) || !np_out_arg(t, p[2], &out))
    return NULL;
  return linalg_inner(t, p[0], p[1], out, LINALG_DOT);
}

value *np_inner(tracer *t, const np_call *c) {
  value *p[2];
  bool known = np_parse(t, c, "a b /", p) && linalg_is_typed(t, c, p);
  return known ? linalg_inner(t, p[0], p[1], NULL, LINALG_INNER) : NULL;
}

static value *linalg_flat(tracer *t, value *v) {
  np_array *a = np_as_array(t, v);
  int64_t n = a ? np_count(t, &a->type) : 0;
  return a ? np_reshape_to(t, a, 1, &n, 'C') : NULL;
}

value *np_vdot(tracer *t, const np_call *c) {
  value *p[2], *l, *r;
  if (!np_parse(t, c, "a b /", p) || !linalg_is_typed(t, c, p) || !(l = linalg_flat(t, p[0])) ||
      !(r = linalg_flat(t, p[1])))
    return NULL;
  return linalg_inner(t, l, r, NULL, LINALG_VDOT);
}

value *np_outer(tracer *t, const np_call *c) {
  value *p[3], *l, *r, *out;
  if (!np_parse(t, c, "a b | out", p) || !np_out_arg(t, p[2], &out) ||
      !(l = linalg_flat(t, p[0])) || !(r = linalg_flat(t, p[1])))
    return NULL;
  np_array *a = np_array_of(l);
  int64_t dims[2] = {a->type.dims[0], 1}, strides[2] = {a->strides[0], 0};
  value *pair[2] = {np_view_reshape(t, a, 2, dims, strides), r};
  return pair[0] ? np_ufunc_apply(t, "multiply", pair, 2, out) : NULL;
}

/* np.vecdot: products of vectors along the last axis. */
value *np_vecdot(tracer *t, const np_call *c) {
  int64_t axis = -1;
  Py_ssize_t keywords = c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0;
  bool plain = keywords == 0 ||
               (keywords == 1 &&
                PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(c->kwnames, 0), "axis") == 0);
  if (c->count != 2 || !plain) return np_unsupported(t, c, "with keywords");
  if (keywords && !np_int_arg(t, c->args[2], &axis)) return NULL;
  if (axis != -1) return np_unsupported(t, c, "along another axis than the last");
  np_array *a, *b;
  loom_dtype dtype;
  int rank;
  int64_t dims[LOOM_MAX_RANK], count[LOOM_MAX_RANK];
  if (!linalg_pair(t, c->args[0], c->args[1], &a, &b, &dtype)) return NULL;
  np_operand o[2] = {{.array = a}, {.array = b}};
  if (a->type.rank == 0 || b->type.rank == 0 || a->type.rank > 2 || b->type.rank > 2)
    return np_unsupported(t, c, "of 0-d arrays or several dimensions");
  if (size_same(t, a->type.dims[a->type.rank - 1], b->type.dims[b->type.rank - 1]) <= 0)
    return np_unsupported(t, c, "of several lengths");
  if (!np_broadcast(t, o, 2, &rank, dims)) return NULL;
  for (int i = 0; i < rank; i++)
    count[i] = i;
  loom_value l = emit_broadcast_to(t, emit_convert(t, np_read(t, a), dtype), rank, dims);
  loom_value r = emit_broadcast_to(t, emit_convert(t, np_read(t, b), dtype), rank, dims);
  return linalg_result(
      t, linalg_dot(t, l, r, count, count, rank - 1, count + rank - 1, count + rank - 1, 1), NULL);
}

/* ---- tensordot ---- */

static bool tensordot_axes(tracer *t, const np_call *c, value *axes, np_array *a, np_array *b,
                           int *count, int64_t *la, int64_t *rb) {
  int64_t n = 2;
  int other;
  if (axes && np_is_array(axes)) return np_unsupported(t, c, "axes") != NULL;
  bool pair = axes && (value_is_sequence(axes) ||
                       (np_known(t, axes) && PySequence_Check(np_known(t, axes))));
  if (!pair) {
    if (axes && !np_int_arg(t, axes, &n)) return false;
    if (n > a->type.rank || n > b->type.rank || n < 0) return np_unsupported(t, c, "axes") != NULL;
    *count = (int)n;
    for (int i = 0; i < n; i++)
      la[i] = a->type.rank - n + i, rb[i] = i;
    return true;
  }
  value *two = trace_to_tuple(t, axes);
  if (!two) return false;
  if (two->seq.count != 2) return np_unsupported(t, c, "axes") != NULL;
  if (!np_ints_arg(t, two->seq.items[0], count, la) ||
      !np_ints_arg(t, two->seq.items[1], &other, rb))
    return false;
  if (*count != other) {
    trace_raise(t, PyExc_ValueError, "shape-mismatch for sum");
    return false;
  }
  for (int i = 0; i < other; i++) {
    bool in_a = la[i] >= -a->type.rank && la[i] < a->type.rank;
    if (!in_a || rb[i] < -b->type.rank || rb[i] >= b->type.rank) /* of the shapes, as tuples */
      return trace_raise(t, PyExc_IndexError, "tuple index out of range") != NULL;
    la[i] += la[i] < 0 ? a->type.rank : 0;
    rb[i] += rb[i] < 0 ? b->type.rank : 0;
    for (int k = 0; k < i; k++) /* NumPy's error depends on how the two were written */
      if (la[k] == la[i] || rb[k] == rb[i]) return np_unsupported(t, c, "an axis twice") != NULL;
  }
  return true;
}

/* A product over no axes is a sum of one product each in NumPy, which has no negative zeros. */
static loom_value tensordot_nodes(tracer *t, loom_value l, loom_value r, int64_t *la, int64_t *rb,
                                  int n) {
  if (n || l == LOOM_NO_VALUE || r == LOOM_NO_VALUE)
    return linalg_dot(t, l, r, NULL, NULL, 0, la, rb, n);
  loom_type a = *emit_type(t, l), b = *emit_type(t, r);
  if (!loom_dtype_is_inexact(a.dtype) || a.rank == LOOM_MAX_RANK || b.rank == LOOM_MAX_RANK)
    return linalg_dot(t, l, r, NULL, NULL, 0, la, rb, n);
  a.dims[a.rank] = 1;
  memmove(b.dims + 1, b.dims, sizeof *b.dims * (size_t)b.rank);
  b.dims[0] = 1;
  la[0] = a.rank;
  rb[0] = 0;
  return linalg_dot(t, emit_reshape(t, l, a.rank + 1, a.dims),
                    emit_reshape(t, r, b.rank + 1, b.dims), NULL, NULL, 0, la, rb, 1);
}

value *np_tensordot(tracer *t, const np_call *c) {
  value *p[3];
  np_array *a, *b;
  loom_dtype dtype;
  int64_t la[LOOM_MAX_RANK] = {0}, rb[LOOM_MAX_RANK] = {0}, strides[LOOM_MAX_RANK];
  int n;
  if (!np_parse(t, c, "a b | axes", p) || !linalg_pair(t, p[0], p[1], &a, &b, &dtype) ||
      !tensordot_axes(t, c, p[2], a, b, &n, la, rb))
    return NULL;
  for (int i = 0; i < n; i++)
    if (size_same(t, a->type.dims[la[i]], b->type.dims[rb[i]]) <= 0)
      return trace_raise(t, PyExc_ValueError, "shape-mismatch for sum");
  if (a->type.rank + b->type.rank - 2 * n > LOOM_MAX_RANK)
    return np_unsupported(t, c, "of too many dimensions");
  loom_value l = emit_convert(t, np_read(t, a), dtype), r = emit_convert(t, np_read(t, b), dtype);
  /* NumPy reshapes a product of two matrices: the result is always an array. An operand without
   * dimensions is a matrix of one element there. */
  loom_value by_number = linalg_by_number(t, l, r, la, rb, n);
  bool special = by_number != LOOM_NO_VALUE;
  value *v = np_fresh(t, special ? by_number : tensordot_nodes(t, l, r, la, rb, n), NULL);
  np_array *product = np_array_of(v);
  bool is_matrix = v && product->type.rank == 2 && (a->type.rank || product->type.dims[0] == 1) &&
                   (b->type.rank || product->type.dims[1] == 1);
  if (!v || is_matrix) return v ? np_view_same(t, product) : NULL;
  if (!np_reshape_strides(t, product, product->type.rank, product->type.dims, 'C', strides))
    return NULL;
  return np_view_reshape(t, product, product->type.rank, product->type.dims, strides);
}
