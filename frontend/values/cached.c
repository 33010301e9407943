/* Calls of functions with functools.lru_cache that existed before the call. For a key that the
 * cache knows, the result is what the cache holds, guarded; the run repeats the call at its end,
 * for the cache's statistics and order. A key that the cache does not know breaks, and Python fills
 * the cache. A key with an object that the function has just made, which equals no other one, is
 * in no cache: the function behind the cache is followed, and the cache does not hear of it. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

/* The key of a call, as functools makes it: the arguments, then a mark of the wrapper's own in
 * front of the names and values of keywords. */
static PyObject *cached_key(tracer *t, const value *wrapper, value *const *args, Py_ssize_t count,
                            PyObject *kwnames) {
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  value *all = value_tuple(t, NULL, 0);
  for (Py_ssize_t i = 0; i < count + named; i++) {
    if (!key_check(t, args[i])) return NULL;
    PyObject *object = i == count ? cached_mark(wrapper->object) : NULL;
    value *mark = object ? value_const(t, object) : NULL;
    if (i == count && (!mark || !seq_append(t, all, mark))) return NULL;
    value *name = i >= count ? value_const(t, PyTuple_GET_ITEM(kwnames, i - count)) : NULL;
    if (i >= count && (!name || !seq_append(t, all, name))) return NULL;
    if (!seq_append(t, all, args[i])) return NULL;
  }
  PyObject *key = all ? trace_keep(t, value_known(t, all)) : NULL;
  if (!key || count != 1 || named) return key;
  PyObject *only = PyTuple_GET_ITEM(key, 0);
  return PyUnicode_CheckExact(only) || PyLong_CheckExact(only) ? only : key;
}

/* One that also keeps what types the arguments had may have a key like that of more arguments. */
static bool cached_has_type(PyObject *key) {
  for (Py_ssize_t i = 0; PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); i++)
    if (PyType_Check(PyTuple_GET_ITEM(key, i))) return true;
  return false;
}

/* A call with a new object, and what it gave. */
typedef struct cached_entry {
  struct cached_entry *next;
  const PyObject *wrapper;
  value **args, *result;
  Py_ssize_t count;
  PyObject *kwnames;
} cached_entry;

/* Is the argument an object that the function has made, which is a key by its identity? */
static bool cached_is_new(const value *v) {
  return !v->source && v->type->kinds & VALUE_IS_FOREIGN && v->type->key && v->type->key_object &&
         !v->type->key_object(v);
}

static bool cached_same(const cached_entry *e, const value *wrapper, value *const *args,
                        Py_ssize_t total, PyObject *kwnames) {
  bool same = e->wrapper == wrapper->object && e->count == total && !e->kwnames == !kwnames;
  for (Py_ssize_t i = 0; same && i < total; i++)
    same = e->args[i] == args[i] || (value_is_const(e->args[i]) && value_is_const(args[i]) &&
                                     e->args[i]->object == args[i]->object);
  return same && (!kwnames || PyObject_RichCompareBool(e->kwnames, kwnames, Py_EQ) == 1);
}

/* What is made in a loop that is captured once, or in a branch, is not there outside of it. */
static value *cached_keep(tracer *t, const value *wrapper, value *const *args, Py_ssize_t total,
                          PyObject *kwnames, value *result) {
  if (t->loops.rolls || t->loops.branches) return result;
  cached_entry *e = trace_alloc(t, sizeof *e);
  value **all = e ? trace_alloc(t, sizeof *all * (size_t)(total + 1)) : NULL;
  if (!all) return NULL;
  for (Py_ssize_t i = 0; i < total; i++)
    all[i] = args[i];
  *e = (cached_entry){t->known.cached, wrapper->object, all, result, total, kwnames};
  t->known.cached = e;
  return result;
}

/* The call of the function behind the cache; NULL with nothing pending: the cache may know it. */
static value *cached_missed(tracer *t, value *wrapper, value *const *args, Py_ssize_t count,
                            PyObject *kwnames) {
  Py_ssize_t total = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  bool new = false;
  for (Py_ssize_t i = 0; i < total && !new; i++)
    new = cached_is_new(args[i]);
  for (const cached_entry *e = t->known.cached; new && e; e = e->next)
    if (cached_same(e, wrapper, args, total, kwnames)) return e->result;
  PyObject *name = new ? trace_keep(t, PyUnicode_InternFromString("__wrapped__")) : NULL;
  PyObject *function = name ? trace_keep(t, PyObject_GetAttr(wrapper->object, name)) : NULL;
  if (!function || !PyFunction_Check(function) || !cached_calls(wrapper->object, function))
    return error_drop(), NULL;
  const source *of = value_source(t, wrapper);
  const source *s = of ? trace_source(t, SOURCE_ATTR, of, NULL, name, 0) : NULL;
  value *f = s ? value_wrap(t, function, s) : NULL;
  value *result = f ? trace_call(t, f, args, count, kwnames) : NULL;
  return result ? cached_keep(t, wrapper, args, total, kwnames, result) : NULL;
}

value *cached_call(tracer *t, value *wrapper, value *const *args, Py_ssize_t count,
                   PyObject *kwnames) {
  value *missed = cached_missed(t, wrapper, args, count, kwnames);
  if (missed || trace_pending(t)) return missed;
  PyObject *key = cached_key(t, wrapper, args, count, kwnames);
  if (!key || cached_has_type(key))
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_UNKNOWN_CALL, "a cached call of this kind");
  Py_hash_t hash = key_hash(t, key);
  const source *s = value_source(t, wrapper);
  const source *at = s && hash != -1 ? trace_source(t, SOURCE_ITEM, s, NULL, key, hash) : NULL;
  PyObject *item = at ? trace_keep(t, cached_read(wrapper->object, key, hash)) : NULL;
  if (!at || trace_pending(t)) return trace_pending(t) ? NULL : trace_raise_live(t);
  if (!item) {
    guard_simple(t, GUARD_MISSING, at, NULL, 0);
    return trace_break(t, BREAK_UNKNOWN_CALL, "a cached call that the cache does not know yet");
  }
  value *result = value_wrap(t, item, at);
  return result && shadow_again(t, wrapper, args, count, kwnames) ? result : NULL;
}
