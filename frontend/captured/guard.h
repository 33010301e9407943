/* Sources say where a live object comes from; guards say what a call has to find there. */
#ifndef LOOM_FRONTEND_CAPTURED_GUARD_H
#define LOOM_FRONTEND_CAPTURED_GUARD_H

#include "frontend/base/base.h"
#include "graph/graph.h"

typedef enum source_kind {
  SOURCE_ARG,     /* index: argument slot (positional, then keyword-only, then *args tuple, then
                   **kwargs dict) */
  SOURCE_GLOBAL,  /* key (a str) in the globals (then builtins) of `object` (a function's globals
                     dict) */
  SOURCE_CELL,    /* index: closure cell of the function `base` */
  SOURCE_ATTR,    /* key: attribute of base: of a type, looked up along its MRO; of a module, in its
                     dictionary; of a function, its own (__code__, ...); else in the instance
                     dictionary or a slot, never the type */
  SOURCE_ITEM,    /* key: constant item of base (tuple, list, dict, or an instance of a class over
                     them); of a type, an item of its own dictionary */
  SOURCE_DEFAULT, /* index: positional default of the function `base` */
  SOURCE_KWDEFAULT,
  SOURCE_FUNCTION, /* the compiled function itself */
  SOURCE_CONST, /* `object` itself, owned: a root for attributes of types and modules that no source
                   names */
  SOURCE_SELF,  /* __self__ of a bound method `base`, of Python or of C */
  SOURCE_FUNC,  /* __func__ of a bound method `base` */
  SOURCE_DERIVED /* key: name of a pure C accessor: "__class__" is the type, others are the
                    adapters' (derived) */
} source_kind;

typedef struct source {
  source_kind kind;
  const struct source *base; /* or NULL */
  PyObject *object, *key;    /* owned by the source table of the capture */
  Py_ssize_t index;
} source;

typedef enum guard_kind {
  GUARD_TYPE,      /* the exact type is `object` */
  GUARD_IDENTITY,  /* the object read is `object` */
  GUARD_NUMBER,    /* exact type and bits of an int, float, complex, bool, str, bytes or None equal
                      `object`'s */
  GUARD_LENGTH,    /* the length of a list, tuple, dict or set, whatever a class over it says, is
                      `number` */
  GUARD_DICT_KEYS, /* keys of a dict, in order, are the tuple `object` */
  GUARD_SET_TABLE, /* the items of a set lie in its table as those of the set `object` do */
  GUARD_MISSING,   /* the source cannot be read */
  GUARD_PRESENT,   /* the source can be read */
  GUARD_ARRAY,     /* adapter->guard_array(object read, payload) */
  GUARD_SAME, /* source and source2 read one object (number 1) or two different ones (number 0) */
  GUARD_DISJOINT, /* the memory extents of two arrays (source and source2) do not overlap */
  GUARD_APART,    /* payload guard_apart: some of many arrays overlap no other one; without an
                     adapter, some of many objects are no other one */
  GUARD_NONZERO,  /* an exact float is not 0 */
  GUARD_IN_PARTS, /* payload guard_parts: the object consists of the same parts */
  GUARD_SIZE,     /* payload size_guard: reads a symbol, or compares sizes */
  GUARD_CUSTOM    /* adapter->guard(...) with payload: process state and the like */
} guard_kind;

/* Numbers that change from call to call are symbols of the graph. Payload of GUARD_SIZE; `left` and
 * `right` are numbers of the graph, constant or symbolic (see loom_stride in graph.h). */
typedef enum size_field {
  SIZE_OF_INT,
  SIZE_OF_DIM,
  SIZE_OF_STRIDE, /* in elements */
  SIZE_OF_FLOAT   /* no size: an exact float that is an input of the graph once it has changed */
} size_field;

typedef enum size_test {
  SIZE_BINDS,    /* the field of the source is `right` times the value of symbol `left`, which is in
                    its range */
  SIZE_READS,    /* the field of the source equals `left` */
  SIZE_EQUAL,    /* left == right */
  SIZE_DIFFERS,  /* left != right */
  SIZE_LESS,     /* left < right */
  SIZE_AT_MOST,  /* left <= right */
  SIZE_COMPUTES, /* symbol `left` is the int that formula `right` gives, in its range */
  SIZE_ANSWERS   /* formula `right` is true (`left` is 1) or false (0) */
} size_test;

typedef struct size_guard {
  size_test test;
  size_field field;
  int32_t axis;
  int64_t left, right;
} size_guard;

/* Payload of GUARD_APART: the first `written` arrays (or objects) overlap none of the `count`. */
typedef struct guard_apart {
  uint32_t written, count;
  const source *sources[];
} guard_apart;

typedef struct loom_adapter loom_adapter;

typedef struct guard {
  guard_kind kind;
  const source *source, *source2;
  PyObject *object; /* owned */
  int64_t number;
  const loom_adapter *adapter;
  void *payload; /* malloc'ed, owned, flat */
  size_t payload_size;
  loom_location location; /* the user's line that caused it */
  /* The instruction of the outermost frame that caused it, as in break_info; -1: none. */
  int64_t step;
} guard;

/* ---- source.c: sources: where a live object comes from ---- */

/* "a.b[0]" as a user would write it; a new string. */
PyObject *source_name(const source *s);
/* Reads the source again on this call's arguments: a new reference, NULL without an exception when
 * it is gone. Runs no Python code. */
PyObject *source_read(const source *s, PyObject *const *args);
/* (kind, index, key, holder) -> a tuple with what such a source reads of an object, or (). */
PyObject *loom_py_read_source(PyObject *module, PyObject *args);
/* Reads an attribute as a SOURCE_ATTR does. */
PyObject *source_attribute(PyObject *base, PyObject *name);
/* An object whose derived sources read the state of the thread; borrowed. */
PyObject *source_thread(void);
struct source_table *source_table_new(void);
const source *source_table_get(struct source_table *table, const source *like);
/* Replaces root objects of sources that are not needed any more by None. */
void source_table_forget(struct source_table *table,
                         bool (*unneeded)(void *context, PyObject *root), void *context);

/* ---- parts.c: parts that stand for an object which is not kept alive ---- */

/* Payload of GUARD_IN_PARTS: the object has this exact type, and consists of these (borrowed). */
#define GUARD_PARTS 16

typedef struct guard_parts {
  PyTypeObject *type;
  int count;
  PyObject *parts[GUARD_PARTS];
} guard_parts;

/* The parts that a guard can compare in place of the object itself: their count, with room for
 * GUARD_PARTS in `out`; or -1: it has none. */
int object_parts(PyObject *object, PyObject **out);

#endif
