/* Arguments of one ATen call, by position in its schema. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "graph/emit.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"

#include <stdarg.h>
#include <string.h>

static bool fx_same_shape(const loom_type *a, const loom_type *b) {
  bool same = a->rank == b->rank;
  for (int i = 0; same && i < a->rank; i++)
    same = a->dims[i] == b->dims[i];
  return same;
}

bool fx_decline(fx_call *c, const char *format, ...) {
  if (c->why[0]) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(c->why, sizeof c->why, format, args);
  va_end(args);
  return false;
}

bool fx_has(const fx_call *c, int i) { return i < c->count && c->args[i] && c->args[i] != Py_None; }

bool fx_is_tensor(const fx_call *c, int i) {
  const fx_value *v = fx_has(c, i) ? fx_value_of(c->im, c->args[i]) : NULL;
  return v && v->kind == FX_TENSOR;
}

static loom_value fx_tensor_of(fx_call *c, PyObject *node) {
  const fx_value *v = fx_value_of(c->im, node);
  return v && v->kind == FX_TENSOR ? v->value : loom_emit_fail(c->b, "an operand is not a tensor");
}

loom_value fx_tensor(fx_call *c, int i) {
  if (!fx_has(c, i)) return loom_emit_fail(c->b, "operand %d is missing", i);
  return fx_tensor_of(c, c->args[i]);
}

loom_value fx_tensor_as(fx_call *c, int i, loom_dtype dtype) {
  const fx_value *v = fx_has(c, i) ? fx_value_of(c->im, c->args[i]) : NULL;
  bool wide = v && v->kind == FX_TENSOR && dtype == LOOM_F32 && v->wide != LOOM_NO_VALUE;
  if (wide && !c->rounded) return v->wide;
  return loom_emit_convert(c->b, fx_tensor(c, i), dtype);
}

loom_value fx_round(fx_call *c, uint32_t i, loom_value v) {
  if (v == LOOM_NO_VALUE) return v;
  loom_dtype dtype = c->types[i].dtype;
  bool narrower = fx_compute_dtype(dtype) != dtype;
  if (narrower && loom_emit_type(c->b, v)->dtype == LOOM_F32 &&
      fx_same_shape(loom_emit_type(c->b, v), &c->types[i]))
    c->wide[i] = v;
  return loom_emit_convert(c->b, v, dtype);
}

int fx_tensors(fx_call *c, int i, loom_value *out, int capacity) {
  PyObject *list = fx_has(c, i) ? c->args[i] : NULL;
  if (!list || !PySequence_Check(list)) return loom_emit_fail(c->b, "not a list of tensors"), -1;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  if (count > capacity) return loom_emit_fail(c->b, "a list of %zd tensors", count), -1;
  for (Py_ssize_t k = 0; k < count; k++) {
    out[k] = fx_tensor_of(c, PySequence_Fast_GET_ITEM(list, k));
    if (out[k] == LOOM_NO_VALUE) return -1;
  }
  return (int)count;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* The Python number that an argument is. */
static PyObject *fx_known_number(fx_call *c, int i) {
  PyObject *o = fx_has(c, i) ? c->args[i] : NULL;
  if (o && (PyLong_Check(o) || PyFloat_Check(o))) return o;
  fx_decline(c, "argument %d is not a known number", i);
  return NULL;
}

bool fx_int(fx_call *c, int i, int64_t *out) {
  PyObject *o = fx_known_number(c, i);
  if (!o || !PyLong_Check(o)) return fx_decline(c, "argument %d is not an int", i);
  *out = PyLong_AsLongLong(o);
  if (!PyErr_Occurred()) return true;
  error_drop();
  return fx_decline(c, "argument %d is out of range", i);
}

bool fx_double(fx_call *c, int i, double *out) {
  PyObject *o = fx_known_number(c, i);
  if (!o) return false;
  *out = PyFloat_AsDouble(o);
  if (!PyErr_Occurred()) return true;
  error_drop();
  return fx_decline(c, "argument %d is out of range", i);
}

bool fx_bool(fx_call *c, int i, bool *out) {
  PyObject *o = i < c->count ? c->args[i] : NULL;
  if (o != Py_True && o != Py_False) return fx_decline(c, "argument %d is not a bool", i);
  *out = o == Py_True;
  return true;
}

/* How many items a list or tuple has; -1 after it was declined. */
static Py_ssize_t args_list(fx_call *c, int i, int capacity) {
  PyObject *list = fx_has(c, i) ? c->args[i] : NULL;
  if (!list || !(PyList_Check(list) || PyTuple_Check(list)))
    return fx_decline(c, "argument %d is not a list", i), -1;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  if (count > capacity) return fx_decline(c, "a list of %zd numbers", count), -1;
  return count;
}

int fx_dims(fx_call *c, int i, loom_dim *out, int capacity) {
  Py_ssize_t count = args_list(c, i, capacity);
  PyObject *list = c->args[i];
  if (count < 0) return -1;
  for (Py_ssize_t k = 0; k < count; k++)
    if (!fx_read_dim(c->im, PySequence_Fast_GET_ITEM(list, k), &out[k])) {
      error_drop();
      return fx_decline(c, "argument %d holds something else than sizes", i), -1;
    }
  return (int)count;
}

int fx_ints(fx_call *c, int i, int64_t *out, int capacity) {
  Py_ssize_t count = args_list(c, i, capacity);
  PyObject *list = c->args[i];
  if (count < 0) return -1;
  for (Py_ssize_t k = 0; k < count; k++) {
    PyObject *o = PySequence_Fast_GET_ITEM(list, k);
    out[k] = PyLong_Check(o) ? PyLong_AsLongLong(o) : -1;
    if (!PyLong_Check(o) || PyErr_Occurred()) {
      error_drop();
      return fx_decline(c, "argument %d holds a number that is not known", i), -1;
    }
  }
  return (int)count;
}

bool fx_number(fx_call *c, int i, int64_t *out) {
  if (fx_has(c, i) && fx_read_number(c->im, c->args[i], out)) return true;
  error_drop();
  return fx_decline(c, "argument %d is not an int that is known from the inputs", i);
}

int fx_numbers(fx_call *c, int i, int64_t *out, int capacity) {
  Py_ssize_t count = args_list(c, i, capacity);
  PyObject *list = c->args[i];
  if (count < 0) return -1;
  for (Py_ssize_t k = 0; k < count; k++)
    if (!fx_read_number(c->im, PySequence_Fast_GET_ITEM(list, k), &out[k])) {
      error_drop();
      return fx_decline(c, "argument %d holds a number that is not known from the inputs", i), -1;
    }
  return (int)count;
}

bool fx_product(fx_call *c, const loom_type *type, uint32_t axes, int64_t *out) {
  *out = 1;
  for (int i = 0; i < type->rank; i++)
    if (axes >> i & 1 && !loom_stride_combine(c->im->graph, LOOM_EXPR_MUL, *out,
                                              loom_stride_of_dim(type->dims[i]), out))
      return fx_decline(c, "a size is too complicated");
  return true;
}

/* A number, maybe symbolic, as a 0-d int64. */
static loom_value fx_number_data(fx_call *c, int64_t number) {
  fx_import *im = c->im;
  const loom_type type = {.dtype = LOOM_I64};
  if (!LOOM_STRIDE_IS_SYM(number)) return loom_emit_int(c->b, &type, number);
  if (im->number_data) return im->number_data(im->user, number);
  for (uint32_t i = 0; i < im->scalar_count; i++)
    if (im->scalars[i].number == number) return im->scalars[i].value;
  fx_scalar *grown = realloc(im->scalars, (im->scalar_count + 1) * sizeof *grown);
  if (!grown) return loom_emit_fail(c->b, "out of memory");
  im->scalars = grown;
  loom_value v = loom_graph_input(im->graph, LOOM_INPUT_SCALAR, &type, NULL);
  if (v == LOOM_NO_VALUE) return loom_emit_fail(c->b, "out of memory");
  im->scalars[im->scalar_count++] =
      (fx_scalar){.value = v, .input = im->graph->input_count - 1, .number = number};
  return v;
}

loom_value fx_number_value(fx_call *c, const loom_type *type, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return loom_emit_int(c->b, type, number);
  loom_value v = loom_emit_convert(c->b, fx_number_data(c, number), type->dtype);
  return loom_emit_broadcast_to(c->b, v, type->rank, type->dims);
}

const char *fx_text(fx_call *c, int i) {
  const char *text =
      fx_has(c, i) && PyUnicode_Check(c->args[i]) ? PyUnicode_AsUTF8(c->args[i]) : "";
  return text ? text : "";
}

bool fx_axis(fx_call *c, int i, int rank, int *out) {
  int64_t axis = 0;
  if (!fx_int(c, i, &axis)) return false;
  if (axis < 0) axis += rank ? rank : 1;
  if (axis < 0 || axis >= (rank ? rank : 1)) return fx_decline(c, "an axis out of range");
  *out = (int)axis;
  return true;
}

bool fx_is_channels_last(fx_call *c, int i) {
  const fx_value *x = fx_value_of(c->im, c->args[i]);
  torch_spec spec;
  if (!x || x->placeholder < 0 || !fx_read_spec(c->im, x->meta, &spec)) return error_drop(), false;
  return spec.rank > 2 && spec.strides[1] == 1 && spec.strides[spec.rank - 1] != 1;
}

bool fx_axes(fx_call *c, int i, int rank, uint32_t *out) {
  int64_t list[LOOM_MAX_RANK] = {0};
  *out = (1u << rank) - 1;
  if (!fx_has(c, i)) return true;
  int count = 1;
  if (PyLong_Check(c->args[i])) {
    if (!fx_int(c, i, list)) return false;
  } else {
    count = fx_ints(c, i, list, LOOM_MAX_RANK);
  }
  if (count < 0) return false;
  if (!count) return true;
  *out = 0;
  for (int k = 0; k < count && rank; k++) {
    int64_t axis = list[k] < 0 ? list[k] + rank : list[k];
    if (axis < 0 || axis >= rank) return fx_decline(c, "an axis out of range");
    *out |= 1u << axis;
  }
  return true;
}

int64_t fx_count(const loom_type *type, uint32_t axes) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++) {
    if (!(axes >> i & 1)) continue;
    if (LOOM_DIM_IS_SYM(type->dims[i])) return -1;
    count *= type->dims[i];
  }
  return count;
}

bool fx_is_empty(const loom_type *type) {
  bool symbolic = false;
  for (int i = 0; i < type->rank; i++) {
    if (!type->dims[i]) return true;
    symbolic |= LOOM_DIM_IS_SYM(type->dims[i]);
  }
  return !symbolic && loom_type_elements(type) <= 0;
}

bool fx_sizes_known(const loom_type *type, int first) {
  for (int i = first; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i])) return false;
  return true;
}

loom_dtype fx_compute_dtype(loom_dtype dtype) {
  return dtype == LOOM_F16 || dtype == LOOM_BF16 ? LOOM_F32 : dtype;
}

/* ---- operands and promotion ---- */

static loom_value fx_number_operand(fx_call *c, int i, loom_dtype dtype, const loom_type *shape) {
  PyObject *o = c->args[i];
  loom_type type = loom_type_make(dtype, shape->rank, shape->dims);
  const fx_value *v = fx_value_of(c->im, o);
  if (v && v->kind == FX_SIZE) return fx_number_value(c, &type, v->number);
  if (v && v->kind == FX_REAL)
    return loom_emit_broadcast_to(c->b, loom_emit_convert(c->b, v->value, dtype), type.rank,
                                  type.dims);
  if (PyFloat_Check(o)) return loom_emit_float(c->b, &type, PyFloat_AS_DOUBLE(o));
  if (PyComplex_Check(o) && loom_dtype_is_complex(dtype)) {
    type.dtype = dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
    loom_value re = loom_emit_float(c->b, &type, PyComplex_RealAsDouble(o));
    loom_value im = loom_emit_float(c->b, &type, PyComplex_ImagAsDouble(o));
    return loom_emit2(c->b, LOOM_OP_COMPLEX, re, im);
  }
  if (!PyLong_Check(o)) return loom_emit_fail(c->b, "argument %d is not a known number", i);
  int64_t integer = PyLong_AsLongLong(o);
  if (!PyErr_Occurred()) return loom_emit_int(c->b, &type, integer);
  error_drop();
  return loom_emit_fail(c->b, "argument %d is out of range", i);
}

loom_value fx_operand(fx_call *c, int i, loom_dtype dtype, const loom_type *shape) {
  if (!fx_has(c, i)) return loom_emit_fail(c->b, "operand %d is missing", i);
  if (!fx_is_tensor(c, i)) return fx_number_operand(c, i, dtype, shape);
  loom_value v = fx_tensor_as(c, i, dtype);
  return loom_emit_broadcast_to(c->b, v, shape->rank, shape->dims);
}

/* 0 bool, 1 integer, 2 float, 3 complex. */
static int fx_category(loom_dtype dtype) {
  if (dtype == LOOM_BOOL) return 0;
  return loom_dtype_is_complex(dtype) ? 3 : loom_dtype_is_float(dtype) ? 2 : 1;
}

/* The lattice of torch.promote_types on two dtypes of tensors of one rank of importance. */
static loom_dtype fx_promote_two(loom_dtype a, loom_dtype b) {
  if (a == b) return a;
  int ca = fx_category(a), cb = fx_category(b);
  if (ca != cb) {
    loom_dtype high = ca > cb ? a : b, low = ca > cb ? b : a;
    bool wide = high == LOOM_C64 && low == LOOM_F64;
    return wide ? LOOM_C128 : high;
  }
  if (ca == 2) { /* halves of different kinds meet in float32 */
    if (loom_dtype_size(a) == 2 && loom_dtype_size(b) == 2) return LOOM_F32;
    return loom_dtype_size(a) > loom_dtype_size(b) ? a : b;
  }
  if (ca == 3) return LOOM_C128;
  if (loom_dtype_is_unsigned(a) == loom_dtype_is_unsigned(b))
    return loom_dtype_size(a) > loom_dtype_size(b) ? a : b;
  loom_dtype is_signed = loom_dtype_is_unsigned(a) ? b : a, is_unsigned = is_signed == a ? b : a;
  if (loom_dtype_size(is_signed) > loom_dtype_size(is_unsigned)) return is_signed;
  return is_unsigned == LOOM_U8 ? LOOM_I16 : LOOM_DTYPE_COUNT; /* torch refuses the others */
}

/* One operand's dtype and how much it counts: 2 for tensors with dimensions, 1 for 0-d ones, 0 for
 * Python numbers. */
static bool fx_rank_operand(fx_call *c, int i, loom_dtype *dtype, int *rank) {
  if (fx_is_tensor(c, i)) {
    const loom_type *type = loom_emit_type(c->b, fx_tensor(c, i));
    *dtype = type->dtype;
    *rank = type->rank ? 2 : 1;
    return true;
  }
  PyObject *o = fx_has(c, i) ? c->args[i] : NULL;
  *rank = 0;
  if (o && PyBool_Check(o)) return *dtype = LOOM_BOOL, true;
  if (o && PyLong_Check(o)) return *dtype = LOOM_I64, true;
  if (o && PyFloat_Check(o)) return *dtype = LOOM_F32, true;
  if (o && PyComplex_Check(o)) return *dtype = LOOM_C64, true;
  const fx_value *v = o ? fx_value_of(c->im, o) : NULL;
  if (v && v->kind == FX_SIZE) return *dtype = LOOM_I64, true;
  if (v && v->kind == FX_REAL) return *dtype = LOOM_F32, true;
  return fx_decline(c, "operand %d is neither a tensor nor a known number", i);
}

bool fx_promote(fx_call *c, const int *operands, int count, loom_dtype *out) {
  loom_dtype by_rank[3] = {LOOM_DTYPE_COUNT, LOOM_DTYPE_COUNT, LOOM_DTYPE_COUNT};
  for (int k = 0; k < count; k++) {
    loom_dtype dtype = LOOM_BOOL;
    int rank;
    if (!fx_rank_operand(c, operands[k], &dtype, &rank)) return false;
    by_rank[rank] =
        by_rank[rank] == LOOM_DTYPE_COUNT ? dtype : fx_promote_two(by_rank[rank], dtype);
    if (by_rank[rank] == LOOM_DTYPE_COUNT) return fx_decline(c, "dtypes that torch does not mix");
  }
  /* What counts less only matters when it is of a higher category. */
  loom_dtype result = LOOM_DTYPE_COUNT;
  for (int rank = 2; rank >= 0; rank--) {
    loom_dtype next = by_rank[rank];
    if (next == LOOM_DTYPE_COUNT) continue;
    if (result == LOOM_DTYPE_COUNT)
      result = next;
    else if (fx_category(next) > fx_category(result))
      result = fx_promote_two(result, next);
  }
  *out = result;
  return true;
}

/* ---- lines ---------------------------------------------------------------------------------- */

loom_value fx_take_along(fx_call *c, loom_value v, int axis, loom_value at) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = axis}, {.kind = LOOM_ATTR_STR, .str = "clip"}};
  return loom_emit(c->b, LOOM_OP_GATHER, (loom_value[]){v, at}, 2, attrs, 2, NULL, 0);
}

loom_value fx_spread_line(fx_call *c, loom_value line, int axis, const loom_type *type) {
  int64_t map[1] = {axis};
  return loom_emit_broadcast(c->b, line, type->rank, type->dims, map);
}
