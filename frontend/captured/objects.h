/* Live objects: of which kinds they are, and what their parts are, by C code that runs none of
 * Python's. */
#ifndef LOOM_FRONTEND_CAPTURED_OBJECTS_H
#define LOOM_FRONTEND_CAPTURED_OBJECTS_H

#include "frontend/base/python.h"

typedef enum live_kind {
  LIVE_NONE,
  LIVE_SEQUENCE,
  LIVE_REVERSED,
  LIVE_RANGE,
  LIVE_ENUMERATE,
  LIVE_ZIP,
  LIVE_MAP,
  LIVE_FILTER,
  LIVE_COUNT
} live_kind;

/* ---- objects.c: kinds and parts of live objects ---- */

bool object_is_scalar(PyObject *object);     /* exact int, float, complex, bool, str, bytes, None,
                                                Ellipsis, NotImplemented */
bool object_is_plain(PyObject *object);      /* made of exact builtin types only */
bool object_grows(PyObject *object);         /* an exact list, dict, set or deque */
bool live_order_is_plain(PyObject *dict);    /* an ordered one can be gone through */
bool object_is_deque(PyObject *object);      /* an exact collections.deque */
bool object_is_over_deque(PyObject *object); /* or an instance of a class over it */
bool is_partial(PyObject *object);           /* a functools.partial */
/* New references, by the builtin type's own code, also of instances of classes over it: */
PyObject *deque_item(PyObject *deque, Py_ssize_t at);
PyObject *model_member(PyObject *object, PyObject *name);
/* Of an instance of int, float, complex, str or bytes, or of a class over one: a new object of that
 * type itself; NULL without an exception: it is none. */
PyObject *scalar_exact(PyObject *object);
/* Functions with functools.lru_cache; and what such a one holds for a key: a new reference, or
 * NULL. `hash`: of the key when it is known, else 0. */
bool object_is_cached(PyObject *object);
PyObject *cached_read(PyObject *wrapper, PyObject *key, Py_hash_t hash);
live_kind live_kind_of(PyObject *object);
PyObject *live_iter_read(PyObject *object, PyObject *key); /* of a derived source */
/* The dictionary of the module of models (model.c), or NULL; a class, a function or the globals of
 * it. */
extern PyObject *loom_models;
bool model_owns(PyObject *object);
bool loom_code_is_library(PyCodeObject *code, PyObject *globals); /* not the user's own */

#endif
