/* Storage and views, made functional. An array value is a view of a block; a write through a view
 * becomes a new value of its parent (update_slice, the inverse transpose or reshape), up to the
 * block, whose current value is replaced. All views of the block read through it, so they see the
 * write, as in NumPy. What was written into a block that existed before the call is copied back at
 * the end: a few slices of it that share no element, or all of it. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"

#include <stdlib.h>
#include <string.h>

bool np_is_array(const value *v) { return v->type == &np_array_value_type; }

np_array *np_array_of(const value *v) { return v && np_is_array(v) ? v->array.layout : NULL; }

/* What a capture knows besides values: all blocks, whether an integer scalar overflowed, and the
 * error state. */
typedef struct view_state {
  np_storage *storages;
  loom_value overflow;
  np_errors errors;
  np_mask *masks;
  struct np_derived *derivatives;
  struct np_known *known;
} view_state;

static view_state *view_get_state(tracer *t) {
  void **state = trace_state(t, &loom_numpy_adapter);
  if (state && !*state && (*state = trace_alloc(t, sizeof(view_state))))
    ((view_state *)*state)->overflow = LOOM_NO_VALUE;
  return state ? *state : NULL;
}

np_storage *np_storages(tracer *t) {
  const view_state *state = view_get_state(t);
  return state ? state->storages : NULL;
}

loom_value *np_overflow(tracer *t) {
  view_state *state = view_get_state(t);
  return state ? &state->overflow : NULL;
}

np_mask **np_masks(tracer *t) {
  view_state *state = view_get_state(t);
  return state ? &state->masks : NULL;
}

struct np_derived **np_derivatives(tracer *t) {
  view_state *state = view_get_state(t);
  return state ? &state->derivatives : NULL;
}

struct np_known **np_known_calls(tracer *t) {
  view_state *state = view_get_state(t);
  return state ? &state->known : NULL;
}

np_errors *np_error_tracked(tracer *t) {
  view_state *state = view_get_state(t);
  return state ? &state->errors : NULL;
}

static void np_add_storage(tracer *t, np_storage *s) {
  view_state *state = view_get_state(t);
  if (!state) return;
  s->next = state->storages;
  state->storages = s;
}

static value *view_value(tracer *t, np_array *a, const value_type *seen_as) {
  value *v = value_new(t, seen_as ? seen_as : &np_array_value_type);
  if (!v) return NULL;
  a->seen_as = seen_as;
  v->array.node = LOOM_NO_VALUE;
  v->array.layout = a;
  return v;
}

value *np_fresh(tracer *t, loom_value node, const int64_t *strides) {
  if (node == LOOM_NO_VALUE || !np_has_room(t, emit_type(t, node))) return NULL;
  np_array *a = trace_alloc(t, sizeof *a);
  np_storage *s = trace_alloc(t, sizeof *s);
  value *v = a && s ? view_value(t, a, NULL) : NULL;
  if (!v) return NULL;
  a->storage = s;
  a->type = *emit_type(t, node);
  a->writeable = true;
  a->node = LOOM_NO_VALUE;
  if (strides)
    memcpy(a->strides, strides, sizeof(int64_t) * (size_t)a->type.rank);
  else
    np_c_strides(t, &a->type, a->strides);
  s->root = v;
  s->current = node;
  np_add_storage(t, s);
  return v;
}

void np_see_as(value *v, const value_type *type) {
  v->type = type ? type : &np_array_value_type;
  np_layout_of(v)->seen_as = type;
}

value *np_result(tracer *t, loom_value node, const int64_t *strides) {
  value *v = np_fresh(t, node, strides);
  if (v && np_array_of(v)->type.rank == 0) {
    np_array_of(v)->scalar = true;
    np_array_of(v)->writeable = false;
  }
  return v;
}

value *np_constant_scalar(tracer *t, loom_dtype dtype, uint64_t bits) {
  loom_type type = type_make(dtype, 0, NULL);
  return np_result(t, emit_constant(t, &type, bits), NULL);
}

/* The last two dimensions of the parent taken as one, from a[0] in steps of b[0]. */
static loom_value view_read_diagonal(tracer *t, loom_value p, const np_array *a) {
  int last = a->type.rank - 1;
  loom_type whole = a->parent->type, type = type_make(LOOM_I64, 1, &a->type.dims[last]);
  int64_t all = np_times(t, np_dim(whole.dims[last]), np_dim(whole.dims[last + 1]));
  if (!size_admit(t, all, &whole.dims[last])) return LOOM_NO_VALUE;
  loom_value index = emit_iota(t, &type, 0), step = np_number_node(t, a->b[0]);
  index = emit2(t, LOOM_OP_MUL, index, emit_broadcast_to(t, step, 1, type.dims));
  loom_value start = emit_broadcast_to(t, np_number_node(t, a->a[0]), 1, type.dims);
  loom_attr attrs[2] = {attr_int(last), attr_str("clip")};
  loom_value in[2] = {emit_reshape(t, p, last + 1, whole.dims),
                      emit2(t, LOOM_OP_ADD, index, start)};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return trace_node(t, LOOM_OP_GATHER, in, 2, attrs, 2, NULL);
}

/* Element [..., i, ..., j] is the parent's [..., i + j, ...]. */
static loom_value view_read_window(tracer *t, loom_value p, int axis, const np_array *a) {
  int64_t perm[LOOM_MAX_RANK];
  int rank = a->type.rank, last = rank - 1;
  loom_type type = type_make(LOOM_I64, 2, (int64_t[]){a->type.dims[axis], a->type.dims[last]});
  loom_value index = emit2(t, LOOM_OP_ADD, emit_iota(t, &type, 0), emit_iota(t, &type, 1));
  loom_attr attrs[2] = {attr_int(axis), attr_str("clip")};
  if (p == LOOM_NO_VALUE || index == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  p = trace_node(t, LOOM_OP_GATHER, (loom_value[]){p, index}, 2, attrs, 2, NULL);
  for (int i = 0; i < rank; i++)
    perm[i] = i == last ? axis + 1 : i <= axis ? i : i + 1;
  return emit_transpose(t, p, perm);
}

/* Complex numbers `v` as pairs of real ones, along a last dimension more. */
static loom_value view_to_pairs(tracer *t, loom_value v) {
  loom_value part[2] = {emit1(t, LOOM_OP_REAL, v), emit1(t, LOOM_OP_IMAG, v)};
  if (part[0] == LOOM_NO_VALUE || part[1] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  loom_type type = *emit_type(t, part[0]);
  type.dims[type.rank] = 1;
  for (int i = 0; i < 2; i++)
    part[i] = emit_reshape(t, part[i], type.rank + 1, type.dims);
  return emit_concatenate(t, part, 2, type.rank);
}

/* The complex numbers of the pairs along the last dimension of `v`. */
static loom_value view_from_pairs(tracer *t, loom_value v) {
  if (v == LOOM_NO_VALUE) return v;
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK];
  loom_type type = *emit_type(t, v);
  loom_value part[2];
  int last = type.rank - 1;
  for (int i = 0; i < type.rank; i++)
    steps[i] = 1;
  type.dims[last] = 1;
  for (int i = 0; i < 2; i++) {
    starts[last] = i;
    part[i] = emit_slice(t, v, starts, type.dims, steps);
    part[i] = emit_reshape(t, part[i], last, type.dims);
  }
  return emit2(t, LOOM_OP_COMPLEX, part[0], part[1]);
}

static loom_value view_conjugate(tracer *t, loom_value v) {
  loom_value imaginary = emit1(t, LOOM_OP_NEG, emit1(t, LOOM_OP_IMAG, v));
  return emit2(t, LOOM_OP_COMPLEX, emit1(t, LOOM_OP_REAL, v), imaginary);
}

loom_value np_read(tracer *t, np_array *a) {
  np_storage *s = a->storage;
  if (s->placed && !np_placed_holds(t, s)) return LOOM_NO_VALUE;
  if (a->kind == VIEW_ROOT) return s->current;
  if (a->node != LOOM_NO_VALUE && a->version == s->version) return a->node;
  loom_value p = np_read(t, a->parent);
  switch (a->kind) {
  case VIEW_SLICE: p = emit_slice(t, p, a->a, a->type.dims, a->b); break;
  case VIEW_TRANSPOSE: p = emit_transpose(t, p, a->a); break;
  case VIEW_RESHAPE: p = emit_reshape(t, p, a->type.rank, a->type.dims); break;
  case VIEW_PART: p = emit1(t, a->a[0] ? LOOM_OP_IMAG : LOOM_OP_REAL, p); break;
  case VIEW_PAIRS: p = view_to_pairs(t, p); break;
  case VIEW_COMPLEX: p = view_from_pairs(t, p); break;
  case VIEW_CONJ: p = view_conjugate(t, p); break;
  case VIEW_DIAGONAL: p = view_read_diagonal(t, p, a); break;
  case VIEW_WINDOW: p = view_read_window(t, p, (int)a->a[0], a); break;
  default: p = emit_broadcast_to(t, p, a->type.rank, a->type.dims); break;
  }
  a->node = p;
  a->version = s->version;
  return p;
}

static bool view_same_slice(const np_array *a, const np_array *b) {
  size_t bytes = sizeof(int64_t) * (size_t)a->type.rank;
  return memcmp(a->type.dims, b->type.dims, bytes) == 0 && memcmp(a->a, b->a, bytes) == 0 &&
         memcmp(a->b, b->b, bytes) == 0;
}

/* Is there an axis along which two slices of one array surely lie beside each other? */
static bool view_apart(const np_array *a, const np_array *b) {
  for (int i = 0; i < a->type.rank; i++) {
    const np_array *of[2] = {a, b};
    int64_t low[2], high[2];
    bool known = true;
    for (int k = 0; k < 2; k++) {
      int64_t first = of[k]->a[i], size = of[k]->type.dims[i];
      known &= size > 0 && !LOOM_STRIDE_IS_SYM(first) && !LOOM_STRIDE_IS_SYM(of[k]->b[i]);
      int64_t last = known ? first + (size - 1) * of[k]->b[i] : 0;
      low[k] = first < last ? first : last;
      high[k] = first < last ? last : first;
    }
    if (known && (high[0] < low[1] || high[1] < low[0])) return true;
  }
  return false;
}

/* Remembers which part of the block is written through `a`; returns its number and the view of the
 * root that it is. */
static int view_mark_written(np_array *a, np_array **top_out) {
  np_storage *s = a->storage;
  np_array *root = np_layout_of(s->root), *top = a;
  while (top->parent && top->parent != root)
    top = top->parent;
  *top_out = top;
  bool whole = top->kind != VIEW_SLICE || (s->written_count && s->written[0] == root);
  for (int i = 0; i < s->written_count && !whole; i++) {
    if (s->written[i] == top || view_same_slice(s->written[i], top)) return i;
    whole = !view_apart(s->written[i], top);
  }
  if (!whole && s->written_count < NP_WRITTEN) {
    s->written[s->written_count] = top;
    return s->written_count++;
  }
  s->written[0] = root;
  s->written_count = 1;
  return 0;
}

bool np_write(tracer *t, np_array *a, loom_value node) {
  np_placed *placed = a->storage->placed;
  if (node == LOOM_NO_VALUE) return false;
  if (placed ? !np_placed_writable(t, a) : loom_loops->lent(t, a->storage->root)) return false;
  if (a->writeable && a->warns_on_write) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "a write that warns, into what np.broadcast_arrays gave");
    return false;
  }
  if (!a->writeable) {
    trace_raise(t, PyExc_ValueError, "assignment destination is read-only");
    return false;
  }
  np_array *top;
  int part = view_mark_written(a, &top);
  for (np_array *v = a; v->parent; v = v->parent) {
    np_array *p = v->parent;
    if (v == top) a->storage->parts[part] = node;
    if (v->kind == VIEW_SLICE) {
      node = emit_update(t, np_read(t, p), node, v->a, v->b);
    } else if (v->kind == VIEW_RESHAPE) {
      node = emit_reshape(t, node, p->type.rank, p->type.dims);
    } else if (v->kind == VIEW_PART) {
      loom_value other = emit1(t, v->a[0] ? LOOM_OP_REAL : LOOM_OP_IMAG, np_read(t, p));
      node =
          v->a[0] ? emit2(t, LOOM_OP_COMPLEX, other, node) : emit2(t, LOOM_OP_COMPLEX, node, other);
    } else if (v->kind == VIEW_PAIRS) {
      node = view_from_pairs(t, node);
    } else if (v->kind == VIEW_COMPLEX) {
      node = view_to_pairs(t, node);
    } else if (v->kind == VIEW_CONJ) {
      node = view_conjugate(t, node);
    } else if (v->kind == VIEW_TRANSPOSE) {
      int64_t inverse[LOOM_MAX_RANK];
      for (int i = 0; i < v->type.rank; i++)
        inverse[v->a[i]] = i;
      node = emit_transpose(t, node, inverse);
    } else {
      trace_break(t, BREAK_ALIASING, "a write through a broadcast view");
      return false;
    }
    if (node == LOOM_NO_VALUE) return false;
  }
  a->storage->current = node;
  a->storage->version++;
  a->storage->counted |= a->seen_as && !a->uncounted;
  a->storage->crossed |= !a->seen_as && np_layout_of(a->storage->root)->seen_as;
  return !placed || np_placed_write(t, a->storage);
}

/* A view of `*parent`; a NumPy scalar, which is no memory to look into, is made an array first. */
static value *view_new(tracer *t, np_array **parent, view_kind kind, np_array **out) {
  if ((*parent)->scalar && !(*parent = np_array_of(np_fresh(t, np_read(t, *parent), NULL))))
    return NULL;
  np_array *a = trace_alloc(t, sizeof *a), *p = *parent;
  value *v = a ? view_value(t, a, p->seen_as) : NULL;
  if (!v) return NULL;
  a->storage = p->storage;
  a->parent = p;
  a->kind = kind;
  a->type.dtype = p->type.dtype;
  a->offset = p->offset;
  a->writeable = p->writeable;
  a->warns_on_write = p->warns_on_write;
  a->stepped = p->stepped;
  a->conjugated = p->conjugated;
  a->uncounted = p->uncounted;
  a->node = LOOM_NO_VALUE;
  *out = a;
  return v;
}

value *np_view_slice(tracer *t, np_array *p, const int64_t *starts, const int64_t *sizes,
                     const int64_t *steps) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_SLICE, &a);
  if (!v) return NULL;
  a->type.rank = p->type.rank;
  for (int i = 0; i < p->type.rank; i++) {
    a->type.dims[i] = sizes[i];
    /* Starts and steps that no element depends on take one form, so that equal slices compare
     * equal. */
    a->a[i] = sizes[i] ? starts[i] : 0;
    a->b[i] = sizes[i] != 0 && sizes[i] != 1 ? steps[i] : 1;
    a->strides[i] = np_times(t, p->strides[i], steps[i]);
    a->offset = np_plus(t, a->offset, np_times(t, p->strides[i], starts[i]));
  }
  return v;
}

value *np_view_transpose(tracer *t, np_array *p, const int64_t *perm) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_TRANSPOSE, &a);
  if (!v) return NULL;
  a->type.rank = p->type.rank;
  for (int i = 0; i < p->type.rank; i++) {
    a->a[i] = perm[i];
    a->type.dims[i] = p->type.dims[perm[i]];
    a->strides[i] = p->strides[perm[i]];
  }
  return v;
}

value *np_view_reshape(tracer *t, np_array *p, int rank, const int64_t *dims,
                       const int64_t *strides) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_RESHAPE, &a);
  if (!v) return NULL;
  a->type = type_make(p->type.dtype, rank, dims);
  memcpy(a->strides, strides, sizeof(int64_t) * (size_t)rank);
  return v;
}

value *np_view_part(tracer *t, np_array *p, int part) {
  np_array *a;
  if (p->scalar)
    return np_result(t, emit1(t, part ? LOOM_OP_IMAG : LOOM_OP_REAL, np_read(t, p)), NULL);
  value *v = view_new(t, &p, VIEW_PART, &a);
  if (!v) return NULL;
  loom_dtype dtype = p->type.dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  a->type = type_make(dtype, p->type.rank, p->type.dims);
  memcpy(a->strides, p->strides, sizeof a->strides);
  a->a[0] = part;
  if (part) a->offset = np_plus(t, a->offset, (int64_t)loom_dtype_size(dtype));
  return v;
}

value *np_view_pairs(tracer *t, np_array *p) {
  np_array *a;
  int rank = p->type.rank;
  value *v = rank < LOOM_MAX_RANK ? view_new(t, &p, VIEW_PAIRS, &a) : NULL;
  if (!v) return NULL;
  a->type = type_make(p->type.dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64, rank, p->type.dims);
  memcpy(a->strides, p->strides, sizeof a->strides);
  a->type.dims[rank] = 2;
  a->strides[rank] = (int64_t)loom_dtype_size(a->type.dtype);
  a->type.rank = rank + 1;
  return v;
}

value *np_view_complex(tracer *t, np_array *p) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_COMPLEX, &a);
  if (!v) return NULL;
  a->type =
      type_make(p->type.dtype == LOOM_F32 ? LOOM_C64 : LOOM_C128, p->type.rank - 1, p->type.dims);
  memcpy(a->strides, p->strides, sizeof a->strides);
  return v;
}

value *np_view_conjugate(tracer *t, np_array *p) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_CONJ, &a);
  if (!v) return NULL;
  a->type = p->type;
  memcpy(a->strides, p->strides, sizeof a->strides);
  a->conjugated = !a->conjugated;
  return v;
}

value *np_view_same(tracer *t, np_array *p) {
  return np_view_reshape(t, p, p->type.rank, p->type.dims, p->strides);
}

value *np_view_broadcast(tracer *t, np_array *p, int rank, const int64_t *dims) {
  np_array *a;
  loom_type type = type_make(p->type.dtype, rank, dims);
  if (!np_addressable(t, &type)) return NULL;
  value *v = view_new(t, &p, VIEW_BROADCAST, &a);
  if (!v) return NULL;
  a->type = type;
  a->writeable = false;
  for (int i = 0; i < rank; i++) {
    int j = i - (rank - p->type.rank);
    bool repeated = j < 0 || p->type.dims[j] == 1;
    a->strides[i] = repeated ? 0 : p->strides[j];
  }
  return v;
}

value *np_view_diagonal(tracer *t, np_array *p, int64_t start, int64_t step, int64_t length) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_DIAGONAL, &a);
  if (!v) return NULL;
  a->type = p->type;
  int last = --a->type.rank - 1;
  if (!size_admit(t, length, &a->type.dims[last])) return NULL;
  memcpy(a->strides, p->strides, sizeof p->strides);
  a->strides[last] = np_plus(t, p->strides[last], p->strides[last + 1]);
  a->a[0] = start;
  a->b[0] = step;
  a->writeable = false;
  return trace_pending(t) ? NULL : v;
}

value *np_view_window(tracer *t, np_array *p, int axis, int64_t width) {
  np_array *a;
  value *v = view_new(t, &p, VIEW_WINDOW, &a);
  if (!v) return NULL;
  a->type = p->type;
  memcpy(a->strides, p->strides, sizeof p->strides);
  if (!size_admit(t, np_plus(t, np_dim(p->type.dims[axis]), 1 - width), &a->type.dims[axis]))
    return NULL;
  a->type.dims[a->type.rank] = width;
  a->strides[a->type.rank++] = p->strides[axis];
  a->a[0] = axis;
  a->writeable = false;
  return v;
}

/* ---- recipes and effects ---- */

/* Is the tensor a view of an array, or of a tensor that is one? */
static bool view_over_array(const np_array *a) {
  while (a && a->seen_as)
    a = a->parent;
  return a != NULL;
}

static bool view_payload(tracer *t, recipe *r, const np_array *a) {
  numpy_array_payload *p = calloc(1, sizeof *p);
  if (!p) {
    PyErr_NoMemory();
    return trace_raise_live(t) != NULL;
  }
  p->dtype = a->type.dtype;
  p->typenum = numpy_typenum_from_dtype(a->type.dtype);
  p->nd = a->type.rank;
  p->flags = NUMPY_ALIGNED | (a->writeable ? NUMPY_WRITEABLE : 0) |
             (a->warns_on_write && a->writeable ? NUMPY_WARNS : 0) |
             (a->stepped ? NUMPY_STEPPED : 0);
  p->offset = a->offset;
  for (int i = 0; i < a->type.rank; i++) {
    p->dims[i] = a->type.dims[i];
    p->strides[i] = a->strides[i];
  }
  if (np_is_symbolic(a)) p->flags |= NUMPY_SYMBOLIC;
  if (a->seen_as) p->flags |= NUMPY_TENSOR;
  if (a->detached) p->flags |= a->detached == DETACHED ? NUMPY_DETACHED : NUMPY_OF_DETACHED;
  if (a->uncounted) p->flags |= NUMPY_UNCOUNTED;
  if (a->seen_as && view_over_array(a))
    p->flags |= NUMPY_OVER_ARRAY | (a->parent->seen_as ? NUMPY_VIEWED : 0);
  if (a->conjugated) p->flags |= NUMPY_CONJUGATED;
  r->payload = p;
  r->payload_size = sizeof *p;
  return true;
}

static recipe *view_recipe(tracer *t, recipe_kind kind, const np_array *a) {
  recipe *r = trace_recipe(t, kind);
  return r && view_payload(t, r, a) ? r : NULL;
}

static int64_t view_output(tracer *t, loom_value node, const loom_type *type,
                           const int64_t *strides) {
  int64_t elements[LOOM_MAX_RANK];
  if (np_elements(type) == 0) return trace_output(t, node, NULL);
  for (int i = 0; i < type->rank; i++)
    elements[i] = np_in_elements(t, strides[i], type->dtype);
  return trace_output(t, node, elements);
}

static recipe *view_rebuild_root(tracer *t, value *v, np_array *a) {
  recipe *r;
  if (a->storage->source) {
    r = trace_recipe(t, RECIPE_SOURCE);
    if (r) r->source = a->storage->source;
    return r;
  }
  if (a->scalar && v->source) {
    r = trace_recipe(t, RECIPE_SOURCE);
    if (r) r->source = v->source;
    return r;
  }
  r = view_recipe(t, a->scalar ? RECIPE_SCALAR : RECIPE_OUTPUT, a);
  if (r) r->number = view_output(t, a->storage->current, &a->type, a->strides);
  return r;
}

recipe *np_row_payload(tracer *t, const np_array *a, int64_t output) {
  recipe *r = view_recipe(t, RECIPE_ROW, a);
  if (!r) return NULL;
  if (a->scalar) ((numpy_array_payload *)r->payload)->flags |= NUMPY_SCALAR;
  r->number = output;
  return r;
}

static recipe *view_rebuild_view(tracer *t, recipe *base, np_array *a) {
  recipe *r = base ? view_recipe(t, RECIPE_VIEW, a) : NULL;
  recipe **items = r ? malloc(sizeof *items) : NULL;
  if (!items) return NULL;
  items[0] = base;
  r->items = items;
  r->count = 1;
  return r;
}

recipe *np_rebuild(tracer *t, value *v) {
  np_array *a = np_layout_of(v);
  if (a->kind == VIEW_ROOT) return view_rebuild_root(t, v, a);
  return view_rebuild_view(t, trace_rebuild(t, a->storage->root), a);
}

static bool view_write_back(tracer *t, np_storage *s, int part) {
  np_array *root = np_layout_of(s->root), *a = s->written[part];
  recipe *target = trace_recipe(t, RECIPE_SOURCE);
  if (!target) return false;
  target->source = s->source;
  int64_t strides[LOOM_MAX_RANK];
  np_layout_copy(t, a, &a->type, 'K', strides);
  int64_t number = view_output(t, a == root ? np_read(t, a) : s->parts[part], &a->type, strides);
  if (a != root) target = view_rebuild_view(t, target, a);
  if (!target || number < 0) return false;
  int64_t report = -1;
  if (a == root && s->report && s->report != Py_None && s->made == s->current)
    report = trace_host(t, Py_NewRef(s->report));
  trace_effect(t, (effect){.kind = EFFECT_WRITE_ARRAY,
                           .target = target,
                           .number = number,
                           .report = report,
                           .uncounted = !s->counted,
                           .given = a == root && s->gave && s->given == s->current});
  return true;
}

bool np_finish(tracer *t) {
  if (!np_scalar_finish(t) || !np_error_finish(t) || !np_written_stand_apart(t)) return false;
  for (np_storage *s = np_storages(t); s; s = s->next) {
    if (!s->written_count || !s->source) continue;
    for (int i = 0; i < s->written_count; i++)
      if (!view_write_back(t, s, i)) return false;
  }
  return true;
}
