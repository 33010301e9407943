/* Of what a call does with a capture: what the files of this folder share. */
#ifndef LOOM_FRONTEND_CAPTURED_INTERNAL_H
#define LOOM_FRONTEND_CAPTURED_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"

/* ---- source.c: sources: where a live object comes from ---- */

void source_table_free(struct source_table *table);
int source_table_traverse(const struct source_table *table, visitproc visit, void *arg);

/* ---- parts.c: parts that stand for an object which is not kept alive ---- */

/* Does the object have this type, and consist of these parts? */
bool guard_parts_hold(const guard_parts *p, PyObject *object);

/* ---- objects.c: kinds and parts of live objects ---- */

bool object_is_over_deque(PyObject *object); /* an exact deque, or an instance of a class over it */

/* ---- set_table.c: the hash tables of sets ---- */

bool set_tables_equal(PyObject *a, PyObject *b); /* items are compared as guards do */

/* ---- guard.c: guards as a flat program ---- */

bool guard_key_equal(PyObject *a, PyObject *b); /* is `b` the key that `a` is? */

/* ---- guard_words.c: guards in words ---- */

/* A number of the graph in words, as "a.shape[0]*2": a new string. */
PyObject *guard_number_words(const capture *c, int64_t number);

/* ---- formula_now.c: formulas over sizes, evaluated on a call ---- */

/* A formula in words, as "int((a.shape[0] * 0.5))": a new string. */
PyObject *formula_words(const capture *c, int64_t slot);

#endif
