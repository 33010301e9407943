/* Guards against aliasing. Two sources that led to two objects when the function was captured must
 * not lead to one object in a later call: then a change of one would have to show in the other. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"

#include <stdlib.h>
#include <string.h>

/* Is the source a constant object? */
static bool apart_is_fixed(const source *s) { return s->kind == SOURCE_CONST; }

static bool apart_guard(tracer *t, const source *a, const source *b, int *pairs) {
  if (!a || !b || a == b || (apart_is_fixed(a) && apart_is_fixed(b))) return true;
  if (++*pairs > APART_MAX_PAIRS)
    return trace_break(t, BREAK_LIMIT, "too many objects beside changed ones") != NULL;
  trace_guard(t, (guard){.kind = GUARD_SAME, .source = a, .source2 = b, .number = 0});
  return true;
}

/* An object and what may be its own dictionary: what is done through one would have to be seen
 * through the other. */
static bool apart_from_dict(tracer *t, PyObject *object, const source *s, PyObject *dict,
                            const source *other, int *pairs) {
  PyObject **own = PyDict_CheckExact(dict) ? _PyObject_GetDictPtr(object) : NULL;
  if (!own || !*own || !s || !other) return true;
  const value *known = *own == dict ? pointer_map_get(&t->known.wrapped, dict) : NULL;
  if (known && dict_owner(known) && dict_owner(known)->object == object) return true;
  if (*own == dict)
    return trace_break(t, BREAK_SIDE_EFFECT, "an attribute of an object whose __dict__ is used") !=
           NULL;
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("__dict__"));
  return key && apart_guard(t, trace_source(t, SOURCE_DERIVED, s, NULL, key, 0), other, pairs);
}

/* The variables of the function itself must not be changed as items of a dictionary. */
static bool apart_from_globals(tracer *t, PyObject *dict, const source *s, int *pairs) {
  PyObject *globals = t->outer.frame ? t->outer.frame->function->globals : NULL;
  if (!globals || !PyDict_CheckExact(dict) || s->kind == SOURCE_CONST) return true;
  if (globals == dict)
    return trace_break(t, BREAK_SIDE_EFFECT, "an item of globals() is assigned") != NULL;
  return apart_guard(t, s, trace_source(t, SOURCE_CONST, NULL, globals, NULL, 0), pairs);
}

static bool apart_is_changed(const struct apart *a, const PyObject *object) {
  for (uint32_t i = 0; i < a->count; i++)
    if (a->changed[i].object == object) return true;
  return false;
}

bool apart_from_all(tracer *t, PyObject *object, const source *s, struct apart *a) {
  if (!apart_from_globals(t, object, s, &a->pairs)) return false;
  for (size_t i = 0; i < t->known.wrapped.capacity; i++) {
    const value *w = t->known.wrapped.keys[i] ? t->known.wrapped.values[i] : NULL;
    PyObject *beside = w ? (PyObject *)(uintptr_t)t->known.wrapped.keys[i] : NULL;
    if (!w || beside == object) continue;
    const source *other = shadow_source(w);
    if (!apart_from_dict(t, object, s, beside, other, &a->pairs)) return false;
    if (value_is_instance(w) && w->object &&
        !apart_from_dict(t, beside, other, object, s, &a->pairs))
      return false;
  }
  if (apart_is_changed(a, object)) return true;
  a->changed = trace_more(t, a->changed, a->count, &a->capacity, sizeof *a->changed);
  if (!a->changed) return false;
  a->changed[a->count++] = (apart_changed){.object = object, .source = s};
  return true;
}

/* ---- objects of one type ----------------------------------------------------------------------
 */

/* Where those come from that change, and then those that they must not be. */
typedef struct apart_group {
  const source **sources;
  uint32_t written, count, capacity;
} apart_group;

static bool apart_add(tracer *t, apart_group *g, const source *s) {
  if (!s) return true;
  g->sources = trace_more(t, g->sources, g->count, &g->capacity, sizeof *g->sources);
  if (g->sources) g->sources[g->count++] = s;
  return g->sources != NULL;
}

static bool apart_add_map(tracer *t, apart_group *g, const struct apart *a, const pointer_map *map,
                          PyTypeObject *type) {
  for (size_t i = 0; i < map->capacity; i++) {
    PyObject *object = (PyObject *)(uintptr_t)map->keys[i];
    const value *w = object ? map->values[i] : NULL;
    if (!w || !Py_IS_TYPE(object, type) || apart_is_changed(a, object)) continue;
    if (!apart_add(t, g, shadow_source(w))) return false;
  }
  return true;
}

static bool apart_guard_pairs(tracer *t, const apart_group *g, int *pairs) {
  for (uint32_t i = 0; i < g->written; i++)
    for (uint32_t k = i + 1; k < g->count; k++)
      if (!apart_guard(t, g->sources[i], g->sources[k], pairs)) return false;
  return true;
}

static bool apart_guard_group(tracer *t, const apart_group *g) {
  size_t size = sizeof(guard_apart) + g->count * sizeof(source *);
  guard_apart *all = malloc(size);
  if (!all) return trace_fail(t) != NULL;
  *all = (guard_apart){.written = g->written, .count = g->count};
  memcpy(all->sources, g->sources, g->count * sizeof(source *));
  trace_guard(t, (guard){.kind = GUARD_APART,
                         .source = all->sources[0],
                         .payload = all,
                         .payload_size = size,
                         .location = trace_location(t)});
  return true;
}

static bool apart_guard_type(tracer *t, struct apart *a, PyTypeObject *type) {
  apart_group g = {0};
  for (uint32_t i = 0; i < a->count; i++)
    if (Py_IS_TYPE(a->changed[i].object, type) && !apart_add(t, &g, a->changed[i].source))
      return false;
  g.written = g.count;
  if (!apart_add_map(t, &g, a, &t->known.wrapped, type) ||
      !apart_add_map(t, &g, a, a->unread, type))
    return false;
  bool few = (uint64_t)g.written * (g.count - 1) <= APART_FEW_PAIRS;
  return few || !g.written ? apart_guard_pairs(t, &g, &a->pairs) : apart_guard_group(t, &g);
}

bool apart_finish(tracer *t, struct apart *a) {
  for (uint32_t i = 0; i < a->count; i++) {
    PyTypeObject *type = Py_TYPE(a->changed[i].object);
    bool done = false;
    for (uint32_t k = 0; k < i; k++)
      done |= Py_IS_TYPE(a->changed[k].object, type);
    if (!done && !apart_guard_type(t, a, type)) return false;
  }
  return true;
}
