/* Guards against aliasing. Two sources that led to two objects when the function was captured must
 * not lead to one object in a later call: a change of one would have to be seen in the other. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"

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

bool apart_from_all(tracer *t, PyObject *object, const source *s, const pointer_map *unread,
                    int *pairs) {
  if (!apart_from_globals(t, object, s, pairs)) return false;
  for (size_t i = 0; i < t->known.wrapped.capacity; i++) {
    const value *w = t->known.wrapped.keys[i] ? t->known.wrapped.values[i] : NULL;
    PyObject *beside = w ? (PyObject *)(uintptr_t)t->known.wrapped.keys[i] : NULL;
    if (!w || beside == object) continue;
    const source *other = shadow_source(w);
    if (Py_IS_TYPE(beside, Py_TYPE(object)) && other && !apart_guard(t, s, other, pairs))
      return false;
    if (!apart_from_dict(t, object, s, beside, other, pairs)) return false;
    if (value_is_instance(w) && w->object && !apart_from_dict(t, beside, other, object, s, pairs))
      return false;
  }
  for (size_t i = 0; i < unread->capacity; i++) {
    const value *w = unread->keys[i] ? unread->values[i] : NULL;
    if (w && w->object != object && Py_IS_TYPE(w->object, Py_TYPE(object)) &&
        !apart_guard(t, s, w->source, pairs))
      return false;
  }
  return true;
}
