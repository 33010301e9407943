/* Iterators that existed before the call. Capture reads the items of what an iterator goes over
 * instead of advancing it, and a run advances it at its end.
 *
 * The position is guarded. Once a call has found an iterator at another position, the position is a
 * number of the graph, and the iterator is left to Python: each call would need a version of its
 * own. So is an iterator on the stack of a frame that goes on behind a break. Only itertools.count
 * is followed from any position. Iterators made inside are made again behind a break by the last
 * section. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#define LIVE_ITER_PARTS 16

struct live_iter {
  value *inner, *over; /* `over`: a tuple of the lists that it goes over */
  Py_ssize_t taken;
  bool shared, done; /* shared: it has no place of its own, those that it goes over have */
  value *v;
  struct live_iter *next;
};

/* ---- making ---- */

static value *live_part(tracer *t, PyObject *object, const source *s, const char *name) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  PyObject *item = key ? trace_keep(t, live_iter_read(object, key)) : NULL;
  const source *at = item ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
  return at ? value_wrap(t, item, at) : trace_pending(t) ? NULL : trace_fail(t);
}

/* The iterator's position (-1: a reversed iterator at its end). False: it is unknown. */
static bool live_stands(tracer *t, PyObject *object, const source *s, bool back, int64_t *out) {
  value *v = live_part(t, object, s, "place");
  *out = back ? -1 : 0;
  if (!v || value_is_none(v)) return v != NULL;
  return value_known_int(t, v, out) && *out >= (back ? -1 : 0) && *out <= INT32_MAX;
}

/* On 3.11 it has the whole range and a place, later what is left of it. */
static value *live_range(tracer *t, PyObject *object, const source *s, int64_t place) {
  value *parts[3] = {live_part(t, object, s, "start"), live_part(t, object, s, "stop"),
                     live_part(t, object, s, "step")};
  value *cls = parts[0] && parts[1] && parts[2] ? value_const(t, (PyObject *)&PyRange_Type) : NULL;
  value *steps = cls && place ? value_int(t, place) : NULL;
  value *gone = steps ? trace_binary(t, 5, steps, parts[2], false) : NULL;
  if (gone) parts[0] = trace_binary(t, 0, parts[0], gone, false);
  value *range = cls && parts[0] ? trace_call(t, cls, parts, 3, NULL) : NULL;
  return range ? trace_iter(t, range) : NULL;
}

static value *live_count(tracer *t, PyObject *object, const source *s) {
  value *parts[2] = {live_part(t, object, s, "number"), live_part(t, object, s, "step")};
  value *cls = parts[0] && parts[1] ? value_const(t, (PyObject *)Py_TYPE(object)) : NULL;
  return cls ? trace_call(t, cls, parts, 2, NULL) : NULL;
}

static value *live_simple(tracer *t, PyObject *object, const source *s, live_kind kind,
                          value *over) {
  if (kind == LIVE_COUNT) return live_count(t, object, s);
  int64_t place;
  bool back = kind == LIVE_REVERSED;
  if (kind == LIVE_RANGE)
    return live_stands(t, object, s, false, &place) ? live_range(t, object, s, place) : NULL;
  value *base = live_part(t, object, s, "0");
  bool list = base && value_is_list(base);
  /* What its class says of iterators has nothing to do with one that is there. */
  if (base && value_is_instance(base) &&
      (object_content(base) || trace_special(t, base, "__iter__")))
    return NULL;
  if (!base || (back && !list) || !live_stands(t, object, s, back, &place) ||
      (list && !seq_append(t, over, base)))
    return NULL;
  value *v = back ? iter_reversed(t, base) : trace_iter(t, base);
  /* The place of one that goes backwards is that of its next item. */
  bool begins = back ? place == base->seq.count - 1 : !place;
  return !v || begins ? v : iter_standing(v, (Py_ssize_t)place + back);
}

/* A live iterator that only another iterator advances. It is known as an opaque object, so that
 * nothing else advances it. */
static value *live_hidden(tracer *t, PyObject *object, const source *s, value *over) {
  live_kind kind = live_kind_of(object);
  if (pointer_map_get(&t->known.wrapped, object) || kind == LIVE_NONE || kind >= LIVE_ENUMERATE)
    return NULL;
  guard_simple(t, GUARD_TYPE, s, (PyObject *)Py_TYPE(object), 0);
  value *opaque = value_new(t, &value_const_type);
  if (!opaque) return NULL;
  opaque->source = s;
  opaque->object = trace_keep(t, Py_NewRef(object));
  opaque->any.i = 1;
  if (!opaque->object || !trace_map_set(t, &t->known.wrapped, object, opaque)) return NULL;
  return live_simple(t, object, s, kind, over);
}

static value *live_inner(tracer *t, PyObject *object, const source *s, int i, bool hidden,
                         value *over) {
  char name[16];
  snprintf(name, sizeof name, "%d", i);
  if (!hidden) return live_part(t, object, s, name);
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  PyObject *item = key ? trace_keep(t, live_iter_read(object, key)) : NULL;
  const source *at = item ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
  return at ? live_hidden(t, item, at, over) : NULL;
}

static value *live_compound(tracer *t, PyObject *object, const source *s, live_kind kind,
                            value *over) {
  int64_t count;
  value *inner[LIVE_ITER_PARTS], *parts = live_part(t, object, s, "parts");
  bool map = kind == LIVE_MAP || kind == LIVE_FILTER;
  if (!parts || !value_known_int(t, parts, &count) || count < 1 || count > LIVE_ITER_PARTS)
    return NULL;
  if (kind == LIVE_ENUMERATE) {
    value *first = live_inner(t, object, s, 0, true, over);
    value *start = first ? live_part(t, object, s, "1") : NULL;
    return start ? iter_enumerate(t, first, start) : NULL;
  }
  for (int i = 0; i < count; i++)
    if (!(inner[i] = live_inner(t, object, s, i, !map, over))) return NULL;
  if (kind == LIVE_FILTER) return count == 2 ? iter_filter(t, inner[0], inner[1]) : NULL;
  if (map) return iter_map(t, inner[0], inner + 1, count - 1);
  value *strict = live_part(t, object, s, "place");
  return strict ? iter_zip(t, inner, count, strict->object == Py_True) : NULL;
}

static const value_type value_live_iter_type;

value *live_iter_wrap(tracer *t, PyObject *object, const source *s) {
  live_kind kind = live_kind_of(object);
  if (kind == LIVE_NONE || (t->outer.start && s->kind == SOURCE_ARG)) return NULL;
  struct live_iter *d = trace_alloc(t, sizeof *d);
  value *v = d ? value_new(t, &value_live_iter_type) : NULL;
  if (!v || !(d->over = value_tuple(t, NULL, 0))) return NULL;
  guard_simple(t, GUARD_TYPE, s, (PyObject *)Py_TYPE(object), 0);
  d->inner = kind < LIVE_ENUMERATE || kind == LIVE_COUNT
                 ? live_simple(t, object, s, kind, d->over)
                 : live_compound(t, object, s, kind, d->over);
  if (!d->inner) return NULL;
  d->shared = kind == LIVE_MAP || kind == LIVE_FILTER;
  d->v = v;
  d->next = t->live.iters;
  t->live.iters = d;
  v->any.a = d;
  v->source = s;
  v->object = trace_keep(t, Py_NewRef(object));
  return v->object ? v : NULL;
}

/* ---- as a value ---- */

static value *live_iter_self(tracer *t, value *v) { return v; }

static value *live_iter_next(tracer *t, value *v) {
  struct live_iter *d = v->any.a;
  if (d->done) return NULL;
  value *item = trace_next(t, d->inner);
  if (trace_pending(t)) return NULL;
  d->taken++;
  d->done = !item;
  return item;
}

static PyObject *live_iter_type(tracer *t, value *v) { return (PyObject *)Py_TYPE(v->object); }

static recipe *live_iter_rebuild(tracer *t, value *v) {
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}

static const value_type value_live_iter_type = {.name = "iterator that existed before the call",
                                                .iter = live_iter_self,
                                                .next = live_iter_next,
                                                .python_type = live_iter_type,
                                                .rebuild = live_iter_rebuild};

/* ---- at the end ---- */

bool live_iter_apart(tracer *t, struct apart *a) {
  for (const struct live_iter *d = t->live.iters; d; d = d->next) {
    if (!d->taken || d->shared) continue;
    for (Py_ssize_t i = 0; i < d->over->seq.count; i++)
      if (shadow_is_open(t, d->over->seq.items[i]))
        return trace_break(t, BREAK_SIDE_EFFECT, "an iterator over a list that is changed") != NULL;
    if (!apart_from_all(t, d->v->object, d->v->source, a)) return false;
  }
  return true;
}

void live_iter_finish(tracer *t) {
  for (const struct live_iter *d = t->live.iters; d && !trace_pending(t); d = d->next)
    if (d->taken && !d->shared) shadow_advance(t, d->v->source, d->taken);
}

/* ---- made again behind a break -------------------------------------------------------------- */

/* Of an instance of a class over it, the builtin type's own: what the class says instead has run.
 */
static PyObject *iter_begin(PyObject *sequence, bool reverse) {
  PyTypeObject *const types[] = {&PyList_Type, &PyTuple_Type, &PyUnicode_Type};
  if (reverse && PyList_Check(sequence))
    return PyObject_CallMethod((PyObject *)&PyList_Type, "__reversed__", "O", sequence);
  if (reverse) return PyObject_CallOneArg((PyObject *)&PyReversed_Type, sequence);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (PyObject_TypeCheck(sequence, types[i])) return types[i]->tp_iter(sequence);
  return PyObject_GetIter(sequence);
}

/* (sequence, index, reverse) -> an iterator over it that stands there; -1: at its end. */
static PyObject *iter_restore(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyObject *it = iter_begin(args[0], PyObject_IsTrue(args[2]));
  Py_ssize_t index = it ? PyLong_AsSsize_t(args[1]) : -1;
  while (it && index < 0) {
    PyObject *item = PyIter_Next(it);
    if (!item) break;
    Py_DECREF(item);
  }
  PyObject *done = it && index >= 0 ? PyObject_CallMethod(it, "__setstate__", "n", index) : NULL;
  Py_XDECREF(done);
  if (PyErr_Occurred()) Py_CLEAR(it);
  return it;
}

recipe *iter_recipe(tracer *t, value *sequence, Py_ssize_t index, bool reverse) {
  static PyMethodDef method = {"iterator", (PyCFunction)(void (*)(void))iter_restore, METH_FASTCALL,
                               NULL};
  value *args[3] = {sequence, value_int(t, index), value_bool(t, reverse)};
  if (container_holds(t, sequence)) return NULL;
  /* It is made before the list is changed, and cannot be put behind what the list holds then. */
  if (sequence->source && sequence->object && PyList_Check(sequence->object) &&
      index + reverse > PyList_GET_SIZE(sequence->object))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator among items that are new in a list");
  if (!sequence->source && value_is_list(sequence) && index + reverse > sequence->seq.count)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an iterator behind the end of a list");
  return args[1] ? trace_rebuild_call(t, PyCFunction_New(&method, NULL), args, 3) : NULL;
}
