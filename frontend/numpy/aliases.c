/* Arrays that the function writes must not overlap others that it reads or writes: the copies back
 * would not be seen by them. Checked at capture and guarded: a few pairs one by one, many arrays by
 * one guard that sorts them by their places. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"

#include <stdlib.h>

#define ALIAS_PAIRS 12 /* up to so many pairs get a GUARD_DISJOINT each */

/* May two elements of the array lie at one place? Dimensions by growing stride: each must step over
 * all that the ones before it reach. */
static bool alias_overlaps_itself(tracer *t, const np_array *a) {
  int order[LOOM_MAX_RANK], count = 0;
  int64_t step[LOOM_MAX_RANK], reach = (int64_t)loom_dtype_size(a->type.dtype);
  for (int i = 0; i < a->type.rank; i++) {
    if (a->type.dims[i] == 0) return false;
    if (a->type.dims[i] == 1) continue;
    step[i] = size_less(t, a->strides[i], 0) > 0 ? np_times(t, a->strides[i], -1) : a->strides[i];
    int at = count++;
    for (; at > 0 && size_hint(t, step[order[at - 1]]) > size_hint(t, step[i]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (int k = 0; k < count; k++) {
    int axis = order[k];
    if (size_less(t, step[axis], reach) != 0) return true;
    reach = np_plus(t, reach, np_times(t, np_plus(t, np_dim(a->type.dims[axis]), -1), step[axis]));
  }
  return false;
}

static bool alias_is_written(const np_storage *s) { return s->source && s->written_count; }

/* What guards read: an array, or the list whose items it is made of. */
static const source *alias_source(const np_storage *s) {
  return s->list ? s->source->base : s->source;
}

static bool alias_check(tracer *t, const np_storage *s) {
  if (alias_overlaps_itself(t, np_layout_of(s->root))) {
    trace_break(t, BREAK_ALIASING, "a written array whose elements share memory");
    return false;
  }
  for (const np_storage *o = np_storages(t); o; o = o->next) {
    if (o == s || !o->source || numpy_array_disjoint(s->live, o->list ? o->list : o->live))
      continue;
    if (o->list) return gather_apart(t, o->list), false;
    trace_break(t, BREAK_ALIASING, "a written array shares memory with another array");
    return false;
  }
  return true;
}

static void alias_guard_pairs(tracer *t) {
  for (const np_storage *s = np_storages(t); s; s = s->next) {
    bool after = false; /* of two written ones the first is compared with the second */
    if (!alias_is_written(s)) continue;
    for (const np_storage *o = np_storages(t); o; o = o->next) {
      after |= o == s;
      if (o == s || !o->source || (alias_is_written(o) && !after)) continue;
      trace_guard(t, (guard){.kind = GUARD_DISJOINT,
                             .source = s->source,
                             .source2 = alias_source(o),
                             .adapter = &loom_numpy_adapter,
                             .location = trace_location(t)});
    }
  }
}

static bool alias_guard_all(tracer *t, uint32_t written, uint32_t count) {
  size_t size = sizeof(guard_apart) + count * sizeof(source *);
  guard_apart *all = malloc(size);
  if (!all) {
    PyErr_NoMemory();
    trace_raise_live(t);
    return false;
  }
  *all = (guard_apart){.written = written, .count = count};
  uint32_t first = 0, last = written;
  for (const np_storage *s = np_storages(t); s; s = s->next)
    if (s->source) all->sources[s->written_count ? first++ : last++] = alias_source(s);
  trace_guard(t, (guard){.kind = GUARD_APART,
                         .source = all->sources[0],
                         .adapter = &loom_numpy_adapter,
                         .payload = all,
                         .payload_size = size,
                         .location = trace_location(t)});
  return true;
}

bool np_written_stand_apart(tracer *t) {
  uint32_t written = 0, count = 0;
  for (const np_storage *s = np_storages(t); s; s = s->next) {
    if (alias_is_written(s) && !alias_check(t, s)) return false;
    written += alias_is_written(s);
    count += s->source != NULL;
  }
  if (written && (uint64_t)written * (count - 1) > ALIAS_PAIRS)
    return alias_guard_all(t, written, count);
  alias_guard_pairs(t);
  return true;
}

/* ---- when the guard is checked ---- */

typedef struct alias_extent {
  const char *low, *high;
  bool written;
} alias_extent;

static int alias_compare(const void *a, const void *b) {
  const char *left = ((const alias_extent *)a)->low, *right = ((const alias_extent *)b)->low;
  return left < right ? -1 : left > right;
}

/* By rising places: each begins where all written ones before end; a written one, where all do. */
static bool alias_sweep(const alias_extent *e, size_t count) {
  const char *written = NULL, *any = NULL;
  for (size_t i = 0; i < count; i++) {
    if (e[i].low < written || (e[i].written && e[i].low < any)) return false;
    if (e[i].high > any) any = e[i].high;
    if (e[i].written && e[i].high > written) written = e[i].high;
  }
  return true;
}

#define ALIAS_DEPTH 8 /* of lists in lists */

static bool alias_is_sequence(PyObject *object, int depth) {
  return depth && (PyList_CheckExact(object) || PyTuple_CheckExact(object));
}

static size_t alias_count(PyObject *object, int depth) {
  size_t total = 0;
  if (!alias_is_sequence(object, depth)) return 1;
  for (Py_ssize_t i = 0; i < Py_SIZE(object); i++)
    total += alias_count(PySequence_Fast_GET_ITEM(object, i), depth - 1);
  return total;
}

/* Appends where an array lies, or all those in a list do; numbers lie nowhere. */
static bool alias_add(PyObject *object, int depth, bool written, alias_extent *all, size_t *used) {
  if (alias_is_sequence(object, depth)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(object); i++)
      if (!alias_add(PySequence_Fast_GET_ITEM(object, i), depth - 1, written, all, used))
        return false;
    return true;
  }
  if (PyFloat_CheckExact(object) || PyArray_IsScalar(object, Generic)) return true;
  if (!PyArray_Check(object) && !numpy_other_extent) return false;
  alias_extent *e = &all[*used];
  numpy_array_extent(object, &e->low, &e->high);
  e->written = written;
  *used += e->low != e->high;
  return true;
}

bool numpy_arrays_apart(PyObject *const *objects, uint32_t written, uint32_t count) {
  size_t total = 0, used = 0;
  for (uint32_t i = 0; i < count; i++)
    total += alias_count(objects[i], ALIAS_DEPTH);
  alias_extent few[64], *all = total <= 64 ? few : malloc(total * sizeof *all);
  bool good = all != NULL, sorted = true;
  for (uint32_t i = 0; i < count && good; i++)
    good = alias_add(objects[i], ALIAS_DEPTH, i < written, all, &used);
  for (size_t i = 1; i < used && sorted; i++)
    sorted = all[i - 1].low <= all[i].low;
  if (good && !sorted) qsort(all, used, sizeof *all, alias_compare);
  good = good && alias_sweep(all, used);
  if (all != few) free(all);
  return good;
}
