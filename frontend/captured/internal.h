/* Of what a call does with a capture: what the files of this folder share. */
#ifndef LOOM_FRONTEND_CAPTURED_INTERNAL_H
#define LOOM_FRONTEND_CAPTURED_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"

/* ---- source.c: sources: where a live object comes from ---- */

void source_table_free(struct source_table *table);
int source_table_traverse(const struct source_table *table, visitproc visit, void *arg);
/* source_read() of a source with a base, which has been read. */
PyObject *source_read_from(const source *s, PyObject *base);

/* ---- parts.c: parts that stand for an object which is not kept alive ---- */

/* Does the object have this type, and consist of these parts? */
bool guard_parts_hold(const guard_parts *p, PyObject *object);

/* ---- objects.c: kinds and parts of live objects ---- */

bool object_is_over_deque(PyObject *object); /* an exact deque, or an instance of a class over it */

/* ---- set_table.c: the hash tables of sets ---- */

bool set_tables_equal(PyObject *a, PyObject *b); /* items are compared as guards do */

/* ---- guard.c: checking guards ---- */

bool guard_key_equal(PyObject *a, PyObject *b); /* is `b` the key that `a` is? */
/* The sources of objects that a guard compares with that of its own source: their count in *count.
 */
const source *const *guard_others(const guard *g, uint32_t *count);

/* ---- guard_program.c: which of a callable's compiled versions fits: guards as a flat program ----
 */

#define GUARD_MAX_DICTS 16

/* Where a held guard looks: the object itself, or a field of one that is alive while names hold. */
typedef struct guard_held {
  const guard *g;
  PyObject *object, **place; /* borrowed */
  bool none;                 /* an empty field means None */
} guard_held;

/* Where an object is while guards are checked: number k of what the program reads, argument a as -1
 * - a, or nowhere. */
typedef int32_t guard_place;
#define GUARD_NOWHERE INT32_MIN

/* A source of guards of the group `rest`, which one check reads once. */
typedef struct guard_read {
  const source *s;
  guard_place base; /* nowhere: a source without base */
} guard_read;

/* A guard of the group `rest`, the object that it asks about and those that it compares with that
 * one. Objects are there when `reads` sources have been read. */
typedef struct guard_rest {
  const guard *g;
  uint32_t reads, other_count;
  guard_place object, *others;
} guard_rest;

struct guard_program {
  const guard **args, **named, **sizes; /* point into the capture's guards */
  guard_held *held;
  guard_rest *rest;
  guard_read *reads;
  uint32_t arg_count, named_count, held_count, rest_count, size_count, dict_count, read_count;
  guard_place *others; /* of all guards of the rest */
  PyObject **codes;    /* code objects that no tool may monitor (borrowed) */
  uint32_t code_count;
  const capture *captured;
  PyObject *dicts[GUARD_MAX_DICTS]; /* owned */
  uint64_t versions[GUARD_MAX_DICTS];
  uint32_t borrowed; /* bits of the dictionaries that are not owned after all */
  bool versions_known;
};

/* Finds what a held guard looks at; false when its source leads nowhere. */
bool guard_resolve(guard_held *h);

/* ---- guard_words.c: guards in words ---- */

/* A number of the graph in words, as "a.shape[0]*2": a new string. */
PyObject *guard_number_words(const capture *c, int64_t number);

/* ---- formula_now.c: formulas over sizes, evaluated on a call ---- */

/* A formula in words, as "int((a.shape[0] * 0.5))": a new string. */
PyObject *formula_words(const capture *c, int64_t slot);

#endif
