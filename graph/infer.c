/* Shape and dtype rules: one function for each name in the op table's shape column.
 *
 * A rule computes the result types in `out`, or, for an op whose row declares its type, checks the
 * ones that are there. Capture calls these while it builds a graph and the dialect's verifiers call
 * them again, so a message names the op and what is wrong with it. */
#include "graph/infer.h"
#include "graph/graph.h"
#include "loom_ops_control.h"

#include <stdatomic.h>
#include <string.h>

/* ---- shared checks ---- */

bool infer_one_of(const char *text, const char *const *words) {
  for (; *words; words++)
    if (strcmp(text, *words) == 0) return true;
  return false;
}

static bool infer_dtype_in(infer_state *s, loom_dtype dtype, const char *classes) {
  if (strchr(classes, loom_dtype_class(dtype))) return true;
  return INFER_FAIL(s, "element type %s is not supported by this op", loom_dtype_name(dtype));
}
bool infer_dtype(infer_state *s, loom_dtype dtype) {
  return infer_dtype_in(s, dtype, loom_op_table[s->view->op].dtypes);
}

static bool infer_same_sizes(infer_state *s, const loom_type *a, const loom_type *b,
                             const char *what) {
  if (a->rank != b->rank)
    return INFER_FAIL(s, "%s: ranks %d and %d differ", what, a->rank, b->rank);
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return INFER_FAIL(s, "%s: sizes differ in dimension %d", what, i);
  return true;
}

bool infer_axis(infer_state *s, int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return true;
  return INFER_FAIL(s, "axis %lld is outside a rank of %d", (long long)axis, rank);
}

bool infer_list(infer_state *s, uint32_t attr, int rank) {
  if (infer_attr(s, attr)->count == rank) return true;
  return INFER_FAIL(s, "'%s' has %d entries where the rank is %d",
                    loom_op_table[s->view->op].attrs[attr].name, infer_attr(s, attr)->count, rank);
}

bool infer_axes(infer_state *s, uint32_t attr, int rank, bool *marked) {
  const loom_attr *axes = infer_attr(s, attr);
  for (int i = 0; i < axes->count; i++) {
    if (!infer_axis(s, axes->ints[i], rank)) return false;
    if (marked[axes->ints[i]])
      return INFER_FAIL(s, "axis %lld is listed twice", (long long)axes->ints[i]);
    marked[axes->ints[i]] = true;
  }
  return true;
}

bool infer_push(infer_state *s, loom_type *type, loom_dim dim) {
  if (type->rank == LOOM_MAX_RANK)
    return INFER_FAIL(s, "the result's rank exceeds %d", LOOM_MAX_RANK);
  type->dims[type->rank++] = dim;
  return true;
}

bool infer_need_declared(infer_state *s) {
  if (s->declared == 1) return true;
  return INFER_FAIL(s, "needs one declared result type");
}

bool infer_size_failed(infer_state *s) {
  return INFER_FAIL(s, "a size overflows or cannot be expressed");
}

/* ---- elementwise ---- */

static bool infer_same(infer_state *s) {
  const loom_type *first = infer_operand(s, 0);
  if (!infer_dtype(s, first->dtype)) return false;
  for (uint32_t i = 1; i < s->view->operand_count; i++) {
    if (infer_operand(s, i)->dtype != first->dtype)
      return INFER_FAIL(s, "element types %s and %s differ", loom_dtype_name(first->dtype),
                        loom_dtype_name(infer_operand(s, i)->dtype));
    if (!infer_same_sizes(s, first, infer_operand(s, i), "operands")) return false;
  }
  s->out[0] = *first;
  return true;
}

static bool infer_predicate(infer_state *s) {
  if (!infer_same(s)) return false;
  s->out[0].dtype = LOOM_BOOL;
  return true;
}

static bool infer_compare(infer_state *s) {
  static const char *const words[] = {"eq", "ne", "lt", "le", "gt", "ge", NULL};
  if (!infer_one_of(infer_attr(s, 0)->str, words))
    return INFER_FAIL(s, "unknown direction \"%s\"", infer_attr(s, 0)->str);
  return infer_predicate(s);
}

static bool infer_part(infer_state *s) {
  if (!infer_same(s)) return false;
  s->out[0].dtype = s->out[0].dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  return true;
}

static bool infer_pair(infer_state *s) {
  if (!infer_same(s)) return false;
  loom_dtype dtype = s->out[0].dtype;
  if (dtype != LOOM_F32 && dtype != LOOM_F64)
    return INFER_FAIL(s, "there are no complex numbers of %s", loom_dtype_name(dtype));
  s->out[0].dtype = dtype == LOOM_F32 ? LOOM_C64 : LOOM_C128;
  return true;
}

static bool infer_select(infer_state *s) {
  const loom_type *condition = infer_operand(s, 0), *a = infer_operand(s, 1),
                  *b = infer_operand(s, 2);
  if (condition->dtype != LOOM_BOOL)
    return INFER_FAIL(s, "the condition is %s, not bool", loom_dtype_name(condition->dtype));
  if (a->dtype != b->dtype)
    return INFER_FAIL(s, "element types %s and %s differ", loom_dtype_name(a->dtype),
                      loom_dtype_name(b->dtype));
  if (!infer_same_sizes(s, condition, a, "condition and values") ||
      !infer_same_sizes(s, a, b, "values"))
    return false;
  s->out[0] = *a;
  return true;
}

static bool infer_convert(infer_state *s) {
  return infer_need_declared(s) &&
         infer_same_sizes(s, infer_operand(s, 0), &s->out[0], "operand and result");
}

static bool infer_bitcast(infer_state *s) {
  if (!infer_convert(s)) return false;
  loom_dtype from = infer_operand(s, 0)->dtype, to = s->out[0].dtype;
  if (from == to) return true;
  bool byte = (from == LOOM_BOOL && to == LOOM_U8) || (from == LOOM_U8 && to == LOOM_BOOL);
  if (!byte && (from == LOOM_BOOL || to == LOOM_BOOL))
    return INFER_FAIL(s, "bool has the bits of uint8 alone");
  if (loom_dtype_size(from) == loom_dtype_size(to)) return true;
  return INFER_FAIL(s, "%s and %s differ in width", loom_dtype_name(from), loom_dtype_name(to));
}

/* ---- creation, calls ---- */

static bool infer_declared(infer_state *s) {
  if (s->view->op == LOOM_OP_HOST_CALL) {
    s->count = s->declared;
    return true;
  }
  return infer_need_declared(s);
}

static bool infer_region(infer_state *s) {
  return loom_infer_region(s->view, s->out, &s->count, s->err);
}

static bool infer_iota(infer_state *s) {
  return infer_need_declared(s) && infer_dtype(s, s->out[0].dtype) &&
         infer_axis(s, infer_attr(s, 0)->i, s->out[0].rank);
}

static bool infer_random(infer_state *s) {
  static const char *const words[] = {"bits", "uniform", "normal", NULL};
  const char *kind = infer_attr(s, 0)->str;
  if (!infer_need_declared(s)) return false;
  for (uint32_t i = 0; i < 2; i++) {
    const loom_type *type = infer_operand(s, i);
    if (type->dtype != LOOM_U64 || type->rank != 1 || type->dims[0] != 2)
      return INFER_FAIL(s, "key and counter are uint64 arrays of size 2");
  }
  if (!infer_one_of(kind, words)) return INFER_FAIL(s, "unknown kind \"%s\"", kind);
  loom_dtype dtype = s->out[0].dtype;
  bool good = strcmp(kind, "bits") == 0 ? dtype == LOOM_U32 || dtype == LOOM_U64
                                        : dtype == LOOM_F32 || dtype == LOOM_F64;
  return good || INFER_FAIL(s, "\"%s\" gives no %s", kind, loom_dtype_name(dtype));
}

/* ---- data movement ---- */

static bool infer_update_slice(infer_state *s) {
  const loom_type *to = infer_operand(s, 0), *update = infer_operand(s, 1);
  if (to->dtype != update->dtype) return INFER_FAIL(s, "the update has another element type");
  if (to->rank != update->rank) return INFER_FAIL(s, "the update has another rank");
  if (!infer_list(s, 0, to->rank) || !infer_list(s, 1, to->rank)) return false;
  const int64_t *starts = infer_attr(s, 0)->ints, *steps = infer_attr(s, 1)->ints;
  for (int i = 0; i < to->rank; i++) {
    if (update->dims[i] == to->dims[i] && starts[i] == 0 && steps[i] == 1) continue;
    if (!infer_slice_fits(s, to->dims[i], starts[i], loom_stride_of_dim(update->dims[i]), steps[i],
                          i))
      return false;
  }
  s->out[0] = *to;
  return true;
}

static bool infer_concatenate(infer_state *s) {
  if (s->view->operand_count == 0) return INFER_FAIL(s, "needs an operand");
  const loom_type *first = infer_operand(s, 0);
  int64_t axis = infer_attr(s, 0)->i;
  if (!infer_axis(s, axis, first->rank)) return false;
  loom_type result = *first;
  for (uint32_t i = 1; i < s->view->operand_count; i++) {
    loom_type other = *infer_operand(s, i);
    if (other.dtype != first->dtype || other.rank != first->rank)
      return INFER_FAIL(s, "operand %u has another element type or rank", i);
    if (!loom_dim_combine(s->graph, LOOM_EXPR_ADD, result.dims[axis], other.dims[axis],
                          &result.dims[axis]))
      return infer_size_failed(s);
    other.dims[axis] = first->dims[axis];
    if (!infer_same_sizes(s, first, &other, "operands")) return false;
  }
  s->out[0] = result;
  return true;
}

static bool infer_pad(infer_state *s) {
  const loom_type *from = infer_operand(s, 0), *value = infer_operand(s, 1);
  if (value->rank != 0 || value->dtype != from->dtype)
    return INFER_FAIL(s, "the value is not a 0-d array of the operand's element type");
  if (!infer_list(s, 0, from->rank) || !infer_list(s, 1, from->rank)) return false;
  loom_type result = *from;
  for (int i = 0; i < from->rank; i++) {
    int64_t low = infer_attr(s, 0)->ints[i], high = infer_attr(s, 1)->ints[i];
    int64_t size = loom_stride_of_dim(from->dims[i]);
    if ((low < 0 && !LOOM_STRIDE_IS_SYM(low)) || (high < 0 && !LOOM_STRIDE_IS_SYM(high)))
      return INFER_FAIL(s, "padding of dimension %d is negative", i);
    if (!loom_stride_combine(s->graph, LOOM_EXPR_ADD, size, low, &size) ||
        !loom_stride_combine(s->graph, LOOM_EXPR_ADD, size, high, &size) ||
        !loom_dim_of_stride(size, &result.dims[i]))
      return infer_size_failed(s);
  }
  s->out[0] = result;
  return true;
}

/* The operand's type with dimension `axis` replaced by the dimensions of the indices. */
static bool infer_take(infer_state *s, int64_t axis, loom_type *out) {
  const loom_type *from = infer_operand(s, 0), *indices = infer_operand(s, 1);
  if (!infer_axis(s, axis, from->rank)) return false;
  if (!loom_dtype_is_integer(indices->dtype))
    return INFER_FAIL(s, "indices are %s, not integers", loom_dtype_name(indices->dtype));
  memset(out, 0, sizeof *out);
  out->dtype = from->dtype;
  for (int i = 0; i < from->rank; i++) {
    if (i != axis) {
      if (!infer_push(s, out, from->dims[i])) return false;
      continue;
    }
    for (int j = 0; j < indices->rank; j++)
      if (!infer_push(s, out, indices->dims[j])) return false;
  }
  return true;
}

static bool infer_gather(infer_state *s) {
  static const char *const words[] = {"raise", "wrap", "clip", NULL};
  if (!infer_one_of(infer_attr(s, 1)->str, words))
    return INFER_FAIL(s, "unknown mode \"%s\"", infer_attr(s, 1)->str);
  loom_type result;
  if (!infer_take(s, infer_attr(s, 0)->i, &result)) return false;
  if (infer_operand(s, 0)->dims[infer_attr(s, 0)->i] == 0 &&
      loom_type_elements(infer_operand(s, 1)) != 0)
    return INFER_FAIL(s, "takes from an empty dimension");
  s->out[0] = result;
  return true;
}

bool loom_scatter_is_along(const loom_type *operand, const loom_type *indices,
                           const loom_type *updates) {
  int rank = operand->rank;
  return rank > 1 && indices->rank == rank && updates->rank == rank;
}

/* The type of updates of single elements along the axis. */
static bool infer_along(infer_state *s, int axis, loom_type *out) {
  const loom_type *from = infer_operand(s, 0), *indices = infer_operand(s, 1);
  if (!infer_axis(s, axis, from->rank)) return false;
  if (!loom_dtype_is_integer(indices->dtype))
    return INFER_FAIL(s, "indices are %s, not integers", loom_dtype_name(indices->dtype));
  for (int i = 0; i < from->rank; i++)
    if (i != axis && from->dims[i] != indices->dims[i])
      return INFER_FAIL(s, "indices and operand differ in dimension %d", i);
  *out = *indices;
  out->dtype = from->dtype;
  return true;
}

static bool infer_scatter(infer_state *s) {
  static const char *const words[] = {"set", "add", "mul", "min", "max", NULL};
  const char *combine = infer_attr(s, 1)->str;
  if (!infer_one_of(combine, words)) return INFER_FAIL(s, "unknown combination \"%s\"", combine);
  loom_type updates;
  int axis = (int)infer_attr(s, 0)->i;
  bool along = loom_scatter_is_along(infer_operand(s, 0), infer_operand(s, 1), infer_operand(s, 2));
  if (!(along ? infer_along(s, axis, &updates) : infer_take(s, axis, &updates))) return false;
  if (!loom_type_equal(&updates, infer_operand(s, 2)))
    return INFER_FAIL(s, "updates are not of the type that %s",
                      along ? "the indices tell" : "a gather would give");
  bool ordered = strcmp(combine, "min") == 0 || strcmp(combine, "max") == 0;
  if (ordered && !infer_dtype_in(s, updates.dtype, "biuf")) return false;
  s->out[0] = *infer_operand(s, 0);
  return true;
}

static bool infer_sort(infer_state *s) {
  const loom_type *from = infer_operand(s, 0);
  if (!infer_dtype(s, from->dtype) || !infer_axis(s, infer_attr(s, 0)->i, from->rank)) return false;
  s->out[0] = *from;
  if (infer_attr(s, 1)->i) s->out[0].dtype = LOOM_I64;
  return true;
}

/* ---- reductions and scans ---- */

static bool infer_kind_dtype(infer_state *s, const char *kind, loom_dtype dtype) {
  static const char *const arithmetic[] = {"sum", "prod", NULL}, *const bits[] = {"and", "or",
                                                                                  NULL};
  if (infer_one_of(kind, arithmetic)) return infer_dtype(s, dtype);
  return infer_dtype_in(s, dtype, infer_one_of(kind, bits) ? "biu" : "biuf");
}

static bool infer_reduce(infer_state *s) {
  static const char *const words[] = {"sum", "prod",   "min",    "max", "and",
                                      "or",  "argmin", "argmax", NULL};
  const loom_type *from = infer_operand(s, 0);
  const char *kind = infer_attr(s, 0)->str;
  bool reduced[LOOM_MAX_RANK] = {false};
  if (!infer_one_of(kind, words)) return INFER_FAIL(s, "unknown kind \"%s\"", kind);
  if (!infer_kind_dtype(s, kind, from->dtype) || !infer_axes(s, 1, from->rank, reduced))
    return false;
  bool position = strncmp(kind, "arg", 3) == 0;
  bool ordered = position || strcmp(kind, "min") == 0 || strcmp(kind, "max") == 0;
  if (position && infer_attr(s, 1)->count != 1) return INFER_FAIL(s, "\"%s\" takes one axis", kind);
  loom_type result = {.dtype = position ? LOOM_I64 : from->dtype};
  bool none = false, empty = false;
  for (int i = 0; i < from->rank; i++) {
    if (reduced[i])
      none |= from->dims[i] == 0;
    else
      empty |= from->dims[i] == 0;
    if (!reduced[i]) result.dims[result.rank++] = from->dims[i];
  }
  if (ordered && none && !empty) return INFER_FAIL(s, "\"%s\" of no element", kind);
  s->out[0] = result;
  return true;
}

static bool infer_scan(infer_state *s) {
  static const char *const words[] = {"sum", "prod", "min", "max", NULL};
  const loom_type *from = infer_operand(s, 0);
  const char *kind = infer_attr(s, 0)->str;
  if (!infer_one_of(kind, words)) return INFER_FAIL(s, "unknown kind \"%s\"", kind);
  if (!infer_kind_dtype(s, kind, from->dtype) || !infer_axis(s, infer_attr(s, 1)->i, from->rank))
    return false;
  s->out[0] = *from;
  return true;
}

/* ---- sizes ---- */

static bool infer_assume_shape(infer_state *s) {
  const loom_type *from = infer_operand(s, 0), *to = &s->out[0];
  if (!infer_need_declared(s)) return false;
  if (from->dtype != to->dtype || from->rank != to->rank)
    return INFER_FAIL(s, "changes the element type or the rank");
  for (int i = 0; i < from->rank; i++)
    if (!LOOM_DIM_IS_SYM(from->dims[i]) && !LOOM_DIM_IS_SYM(to->dims[i]) &&
        from->dims[i] != to->dims[i])
      return INFER_FAIL(s, "sizes differ in dimension %d", i);
  return true;
}

static bool infer_size(infer_state *s) {
  if (!infer_axis(s, infer_attr(s, 0)->i, infer_operand(s, 0)->rank)) return false;
  s->out[0] = (loom_type){.dtype = LOOM_I64};
  return true;
}

/* ---- the table of rules ---- */

static const struct {
  const char *name;
  bool (*rule)(infer_state *s);
  bool declares;
} infer_rules[] = {
    {"same", infer_same, false},
    {"predicate", infer_predicate, false},
    {"compare", infer_compare, false},
    {"part", infer_part, false},
    {"pair", infer_pair, false},
    {"select", infer_select, false},
    {"convert", infer_convert, true},
    {"bitcast", infer_bitcast, true},
    {"declared", infer_declared, true},
    {"iota", infer_iota, true},
    {"random", infer_random, true},
    {"broadcast", infer_broadcast, true},
    {"reshape", infer_reshape, true},
    {"transpose", infer_transpose, false},
    {"slice", infer_slice, false},
    {"windows", infer_windows, false},
    {"update_slice", infer_update_slice, false},
    {"concatenate", infer_concatenate, false},
    {"pad", infer_pad, false},
    {"gather", infer_gather, false},
    {"scatter", infer_scatter, false},
    {"sort", infer_sort, false},
    {"reduce", infer_reduce, false},
    {"scan", infer_scan, false},
    {"dot_general", infer_dot_general, false},
    {"convolution", infer_convolution, false},
    {"convolution_gradient", infer_convolution_gradient, false},
    {"convolution_input", infer_convolution_input, false},
    {"attention", infer_attention, false},
    {"attention_gradient", infer_attention_gradient, false},
    {"assume_shape", infer_assume_shape, true},
    {"size", infer_size, false},
    {"region", infer_region, false},
};

/* Names are compared once for each op: 0 is not yet known. */
static int infer_find(loom_opcode op) {
  static _Atomic uint8_t known[LOOM_OP_COUNT]; /* rule + 1 */
  const int count = sizeof infer_rules / sizeof infer_rules[0];
  int found = atomic_load_explicit(&known[op], memory_order_relaxed);
  if (found) return found - 1;
  for (int i = 0; i < count; i++) {
    if (strcmp(infer_rules[i].name, loom_op_table[op].shape) != 0) continue;
    atomic_store_explicit(&known[op], (uint8_t)(i + 1), memory_order_relaxed);
    return i;
  }
  return -1;
}

bool loom_op_declares_type(loom_opcode op) {
  int rule = infer_find(op);
  return rule >= 0 && infer_rules[rule].declares;
}

/* ---- codes of expressions ---- */

static bool infer_code(infer_state *s, int64_t number) {
  return loom_number_exists(s->graph, number) ||
         INFER_FAIL(s, "%lld stands for no size", (long long)number);
}

static bool infer_type_codes(infer_state *s, const loom_type *type) {
  for (int i = 0; i < type->rank; i++) {
    if (!LOOM_DIM_IS_SYM(type->dims[i]) && type->dims[i] < 0)
      return INFER_FAIL(s, "a size of %lld", (long long)type->dims[i]);
    if (!infer_code(s, type->dims[i])) return false;
  }
  return true;
}

/* Numbers come from programs and from files: none of them may point outside of the table. */
static bool infer_codes(infer_state *s) {
  const loom_attr *attrs = s->view->attrs;
  for (uint32_t i = 0; i < s->view->operand_count; i++)
    if (!infer_type_codes(s, infer_operand(s, i))) return false;
  for (uint32_t i = 0; i < s->declared; i++)
    if (!infer_type_codes(s, &s->out[i])) return false;
  for (int i = 0; i < LOOM_MAX_ATTRS && loom_op_table[s->view->op].attrs[i].name; i++)
    for (int k = 0; attrs[i].kind == LOOM_ATTR_I64S && k < attrs[i].count; k++)
      if (!infer_code(s, attrs[i].ints[k])) return false;
  return true;
}

bool loom_infer(loom_graph *graph, const loom_op_view *view, loom_type *out, uint32_t *out_count,
                loom_error *err) {
  if (!loom_op_exists(view->op)) return loom_fail(err, "no such op");
  const loom_op_info *info = &loom_op_table[view->op];
  infer_state s = {graph, view, out, *out_count, 1, err, info->name};
  if (info->operands >= 0 && view->operand_count != (uint32_t)info->operands)
    return INFER_FAIL(&s, "takes %d operands, not %u", info->operands, view->operand_count);
  int rule = infer_find(view->op);
  if (rule < 0) return INFER_FAIL(&s, "has no shape rule \"%s\"", info->shape);
  if (!infer_codes(&s) || !infer_rules[rule].rule(&s)) return false;
  *out_count = s.count;
  return true;
}
