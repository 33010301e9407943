/* Views whose place depends on array data: `b[:, k]`, where `k` is a NumPy scalar or an int that
 * the graph computes.
 *
 * Views of the graph start where a number of the plan says, and array data is no such number. So
 * the view is a copy, a gather, that is lent in place of the view (roll.c). The copy has the
 * elements of the view until somebody writes to the array that the view is of. Each read of the
 * copy checks that; a copy that is no longer read needs no check. A write to the copy is also made
 * to that array, at the same key. In some cases the program could see that the copy is no view: it
 * leaves the capture, is asked for its base or its strides, or is read after the array has changed.
 * Then capture starts again and breaks at the instruction, as it does for keys that it does not
 * know. */
#include "frontend/base/base.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/values/rolled.h"

struct np_placed {
  value *base, *key; /* of the view */
  np_storage *of;    /* the array's block */
  uint32_t version;  /* of that, at which the copy has the same elements */
  bool carried;      /* from one iteration of a loop to the next: its key may be another one */
  bool of_tensor, /* a tensor's, which the copy's owner writes to that tensor (tensor/placed.c) */
      written;    /* since that was last done */
};

value *np_placed_new(tracer *t, value *base, value *key, loom_value node, const int64_t *strides) {
  np_storage *of = np_array_of(base)->storage;
  uint16_t place = of->placed || of->root->lent ? 0 : loom_loops->lends_here(t);
  np_placed *p = place ? trace_alloc(t, sizeof *p) : NULL;
  value *v = p ? np_fresh(t, node, strides) : NULL;
  if (!v) return NULL;
  *p = (np_placed){.base = base, .key = key, .of = of, .version = of->version};
  np_array_of(v)->storage->placed = p;
  v->lent = place;
  return v;
}

bool np_lend(tracer *t, value *copy, value *base, value *key, uint16_t place) {
  np_storage *s = np_layout_of(copy)->storage, *of = np_layout_of(base)->storage;
  if (!place || s->placed || (of->root->lent && !of->placed)) return false;
  np_placed *p = s->placed = trace_alloc(t, sizeof *p);
  if (!p) return false;
  *p = (np_placed){.base = base, .key = key, .of = of, .version = of->version, .of_tensor = true};
  s->root->lent = place;
  return true;
}

bool np_lent_is_written(value *copy, value **base, value **key) {
  np_placed *p = np_layout_of(copy)->storage->placed;
  bool written = p->written;
  *base = p->base;
  *key = p->key;
  p->written = false;
  return written;
}

void np_lend_again(value *copy) {
  np_placed *p = np_layout_of(copy)->storage->placed;
  p->version = p->of->version;
}

bool np_placed_holds(tracer *t, const np_storage *s) {
  const np_placed *p = s->placed;
  if (p->of->version != p->version) return !loom_loops->lent(t, s->root);
  return !p->of->placed || np_placed_holds(t, p->of);
}

bool np_placed_writable(tracer *t, const np_array *a) {
  const np_storage *s = a->storage;
  bool may = !s->placed->carried && (!s->placed->of_tensor || a->seen_as);
  return !(!may && loom_loops->lent(t, s->root)) && np_placed_holds(t, s);
}

bool np_placed_write(tracer *t, np_storage *s) {
  np_placed *p = s->placed;
  if (p->of_tensor) return p->written = true;
  /* The copy as it is now is written, not what a view of the array would be. */
  uint32_t version = p->version = p->of->version;
  if (!np_fancy_set(t, p->base, p->key, s->root)) return false;
  p->version = p->of->version;
  return p->version != version;
}

bool np_placed_same(const value *base, const value *key, const value *item) {
  const np_array *a = np_array_of(item);
  const np_placed *p = a && a->kind == VIEW_ROOT ? a->storage->placed : NULL;
  return p && p->base == base && p->key == key && p->of->version == p->version;
}

void np_placed_walk(roll_walk *w, np_storage *s) {
  np_placed *p = s->placed;
  bool holds = p->of->version == p->version;
  p->carried = true;
  if (!holds) p->version = UINT32_MAX; /* for good: what is behind may count anew */
  roll_token(w, holds);
  np_walk_storage(w, p->of);
}
