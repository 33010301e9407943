/* Calls of functions with functools.lru_cache that existed before the call. For a key that the
 * cache knows, the result is what the cache holds, guarded; the run repeats the call at its end,
 * for the cache's statistics and order. A key that the cache does not know breaks, and Python fills
 * the cache. */
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

/* The key of a call without keywords. */
static PyObject *cached_key(tracer *t, value *const *args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (!key_check(t, args[i])) return NULL;
  value *all = value_tuple(t, args, count);
  PyObject *key = all ? trace_keep(t, value_known(t, all)) : NULL;
  if (!key || count != 1) return key;
  PyObject *only = PyTuple_GET_ITEM(key, 0);
  return PyUnicode_CheckExact(only) || PyLong_CheckExact(only) ? only : key;
}

/* One that also keeps what types the arguments had may have a key like that of more arguments. */
static bool cached_has_type(PyObject *key) {
  for (Py_ssize_t i = 0; PyTuple_CheckExact(key) && i < PyTuple_GET_SIZE(key); i++)
    if (PyType_Check(PyTuple_GET_ITEM(key, i))) return true;
  return false;
}

value *cached_call(tracer *t, value *wrapper, value *const *args, Py_ssize_t count,
                   PyObject *kwnames) {
  PyObject *key = kwnames ? NULL : cached_key(t, args, count);
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
  return result && shadow_again(t, wrapper, args, count) ? result : NULL;
}
