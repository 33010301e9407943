/* The part of a loop's state that concerns NumPy (frontend/values/walk.c): of each array the block
 * and the chain of views to it, and of each block its content. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/values/rolled.h"

/* Other contents: cached reads of views are void, and the block is written back as a whole. */
static void walk_changed(tracer *t, void *owner) {
  np_storage *s = owner;
  s->version++;
  if (!s->source) s->root->object = NULL; /* a constant that it was */
  if (!s->written_count) return;
  s->written[0] = np_layout_of(s->root);
  s->written_count = 1;
}

/* Seen through elsewhere. */
static void walk_moved(tracer *t, void *owner) {
  np_array *a = owner;
  a->node = LOOM_NO_VALUE;
}

static void walk_array(roll_walk *w, np_array *a);

void np_walk_storage(roll_walk *w, np_storage *s) {
  if (roll_seen(w, s)) return;
  roll_pointer(w, s->source);
  roll_pointer(w, s->live);
  roll_token(w, s->source && s->written_count != 0);
  roll_is_lent(w, s->root);
  if (s->placed) np_placed_walk(w, s);
  walk_array(w, np_layout_of(s->root));
  roll_node(w, &s->current, s, walk_changed);
}

/* Whether its content is known is no part of it: an iteration with unknown content is right for
 * any. */
static void walk_array(roll_walk *w, np_array *a) {
  if (roll_seen(w, a)) return;
  int rank = a->type.rank;
  roll_token(w, (uint64_t)a->kind << 32 | (uint64_t)a->type.dtype << 16 | (uint64_t)rank);
  roll_token(w, (uint64_t)a->scalar | (uint64_t)a->packed << 1 | (uint64_t)a->writeable << 2 |
                    (uint64_t)a->warns_on_write << 3);
  roll_whole(w, &a->offset, a, walk_moved);
  for (int i = 0; i < rank; i++) {
    roll_token(w, (uint64_t)a->type.dims[i]);
    roll_token(w, (uint64_t)a->strides[i]);
  }
  for (int i = 0; i < LOOM_MAX_RANK && a->kind != VIEW_ROOT && i <= rank; i++) {
    if (a->kind == VIEW_SLICE)
      roll_whole(w, &a->a[i], a, walk_moved);
    else
      roll_token(w, (uint64_t)a->a[i]);
    roll_token(w, (uint64_t)a->b[i]);
  }
  loom_value scrub = roll_scrub(w);
  if (scrub != LOOM_NO_VALUE && a->node != LOOM_NO_VALUE && a->node >= scrub)
    a->node = LOOM_NO_VALUE;
  if (a->parent) walk_array(w, a->parent);
  np_walk_storage(w, a->storage);
}

value *np_walk_scalar(tracer *t, PyObject *object) {
  uint64_t bits;
  loom_dtype dtype;
  if (!PyArray_IsScalar(object, Generic)) return NULL;
  PyArray_Descr *own = PyArray_DescrFromScalar(object);
  bool good = own && numpy_dtype_from_typenum(own->type_num, &dtype) &&
              !loom_dtype_is_complex(dtype) && numpy_scalar_bits(object, dtype, &bits);
  Py_XDECREF(own);
  error_drop();
  return good ? np_constant_scalar(t, dtype, bits) : NULL;
}

void np_walk(roll_walk *w, value *v) { walk_array(w, np_array_of(v)); }

/* Blocks of the caller that were written count even when no name is left for them. */
void np_walk_state(tracer *t, roll_walk *w) {
  const np_errors *errors = np_error_tracked(t);
  loom_value *overflow = np_overflow(t);
  if (!errors || !overflow) return;
  roll_token(w, (uint64_t)errors->state);
  roll_token(w, (uint64_t)errors->depth);
  roll_node(w, overflow, NULL, NULL);
  for (np_storage *s = np_storages(t); s; s = s->next)
    if (s->source && s->written_count) np_walk_storage(w, s);
}

uint64_t np_written(tracer *t, uint32_t *count) {
  uint64_t written = 0;
  *count = 0;
  for (np_storage *s = np_storages(t); s; s = s->next)
    *count += s->source != NULL;
  uint32_t i = *count; /* the last one comes first */
  for (np_storage *s = np_storages(t); s; s = s->next)
    if (s->source && --i < 64 && s->written_count) written |= (uint64_t)1 << i;
  return written;
}

bool np_write_back(tracer *t, uint64_t which) {
  uint32_t i;
  uint64_t written = np_written(t, &i);
  for (np_storage *s = np_storages(t); s; s = s->next) {
    if (!s->source || --i >= 64 || !((which & ~written) >> i & 1)) continue;
    np_array *root = np_layout_of(s->root);
    if (!root->writeable || root->warns_on_write || !np_write(t, root, np_read(t, root)))
      return false;
  }
  return true;
}
