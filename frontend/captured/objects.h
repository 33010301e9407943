/* The kinds and parts of live objects, read by C code that runs no Python code. */
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

/* Exact int, float, complex, bool, str, bytes, None, Ellipsis, NotImplemented. */
bool object_is_scalar(PyObject *object);
bool object_is_plain(PyObject *object); /* made of exact builtin types only */
bool object_grows(PyObject *object);    /* an exact list, dict, set or deque */
/* Can an OrderedDict be iterated without running Python code? */
bool live_order_is_plain(PyObject *dict);
bool object_is_deque(PyObject *object); /* an exact collections.deque */
bool is_partial(PyObject *object);      /* a functools.partial */
/* These read an instance of the builtin type, or of a class over it, by the builtin type's own
 * code. They return new references. */
PyObject *deque_item(PyObject *deque, Py_ssize_t at);
PyObject *model_member(PyObject *object, PyObject *name);
/* The number or text behind an instance of int, float, complex, str or bytes, or of a class over
 * one: a new object of exactly that type. NULL without an exception: the object is none. */
PyObject *scalar_exact(PyObject *object);
/* Is it a function with functools.lru_cache? cached_read() looks a key up in its cache: a new
 * reference, or NULL. `hash`: the key's hash, 0 when unknown. */
bool object_is_cached(PyObject *object);
PyObject *cached_read(PyObject *wrapper, PyObject *key, Py_hash_t hash);
/* The object in its keys behind which names and values of keywords follow: borrowed, or NULL. */
PyObject *cached_mark(PyObject *wrapper);
/* Is it a wrapper of this function? */
bool cached_calls(PyObject *wrapper, PyObject *function);
live_kind live_kind_of(PyObject *object);
/* What a context variable holds: a new reference. NULL: nothing. */
PyObject *context_read(PyObject *variable);
/* Reads a SOURCE_DERIVED of an iterator. */
PyObject *live_iter_read(PyObject *object, PyObject *key);
/* Modules of models (values/model.c), by their dictionaries, which live as long as the process.
 * model_find(): what one of them has under this name; borrowed. model_owns(): is the object such a
 * dictionary, or a class or function of such a module? */
bool model_add_module(PyObject *globals);
bool model_is_module(const PyObject *globals);
PyObject *model_find(const char *name);
bool model_owns(PyObject *object);
/* Is it code of Python's own library, of one whose arrays are captured, or of this one? Other
 * packages are as the user's own code, wherever they are installed. */
bool loom_code_is_library(const PyCodeObject *code, PyObject *globals);
bool loom_code_is_installed(const PyCodeObject *code); /* of any package that is installed */

/* ---- set_table.c: the hash tables of sets ---- */

/* A set with the same table: both iterate alike, whatever is done to both. A new reference. */
PyObject *set_twin(PyObject *set, bool frozen);
/* Its table with None in place of each item, for set_table_give() alone. */
PyObject *set_outline(PyObject *set);
/* Gives an empty set the table of `like`, with `items` (or NULL) in place of the items of `like`,
 * in their order. False, perhaps with an exception: the set is not empty, or an item has another
 * hash. */
bool set_table_give(PyObject *set, PyObject *like, PyObject *const *items);
Py_ssize_t set_slots(PyObject *set);
uint64_t set_slot_token(PyObject *set, Py_ssize_t at); /* a token for the content of a slot: the
                                                          item's hash, or that there is none */

#endif
