/* Of loops that are captured once: what the files of this folder share. */
#ifndef LOOM_FRONTEND_VALUES_ROLLED_INTERNAL_H
#define LOOM_FRONTEND_VALUES_ROLLED_INTERNAL_H

#include "frontend/values/rolled.h"

/* ---- walk.c: the evaluator's state in a canonical form ---- */

/* As roll_value(), but ints in it are tokens, not slots. */
void roll_exactly(roll_walk *w, value **holder);
void roll_walk_const(roll_walk *w, value **holder);
void roll_walk_number(roll_walk *w, value **holder);
void roll_walk_any_list(roll_walk *w, value *v); /* described in loop_hooks.walk_list */

/* ---- rows.c: long lists, whose items are rows of arrays ---- */

/* A Python number as a value of the graph. */
bool rows_number(tracer *t, value *v, loom_dtype *out);
loom_value rows_single(tracer *t, loom_value row); /* a stack of one row */
/* How many items a long list has: a number of the graph. */
bool long_count(tracer *t, value *v, int64_t *out);
/* The rows of a long list that consists of `*prefix` ordinary items and then one block of rows.
 * NULL: it has another form. */
const rows *long_direct(tracer *t, const value *v, Py_ssize_t *prefix);
/* Item `index` of any long list as an ordinary value. NULL with nothing pending: there is none. */
value *long_single(tracer *t, value *v, int64_t index);
/* Item `index` (a number of the graph, not negative) of a list of the form of long_direct(): an
 * ordinary item, or a row that is lent to the loop at `place`. */
value *long_item(tracer *t, uint16_t place, value *v, int64_t index);

/* ---- lent.c: which object a lent value stands for ---- */

lent_item *lent_new(tracer *t, const gathered *of, value *list, int64_t index);
lent_item *lent_part(tracer *t, lent_item *whole, Py_ssize_t at);
/* The object itself. NULL: it is not known which one, or a failure is pending. */
value *lent_real(tracer *t, const value *v);
recipe *lent_rebuild(tracer *t, const value *v); /* a recipe for the object itself */

/* ---- gather.c: items of a list as rows of arrays, lent to a loop ---- */

/* Why items first to end - 1 cannot be rows of arrays; NULL: they can. */
const char *gather_refuses(tracer *t, const value *base, Py_ssize_t first, Py_ssize_t end);
/* Stacks of items first to end - 1, lent to the loop at `place`. NULL: the items are not alike, or
 * a failure is pending. */
gathered *gather_make(tracer *t, uint16_t place, value *base, Py_ssize_t first, Py_ssize_t end);
/* Are the gathered items still what the list holds there? */
bool gather_holds(const gathered *g, const value *base, Py_ssize_t first, Py_ssize_t end);
value *gather_item(tracer *t, const gathered *g, int64_t index);
/* The item itself, as it was when it was gathered. */
value *gather_real(const gathered *g, int64_t index);
value *gather_row(tracer *t, uint16_t place, value *list, const rows *r, int64_t row,
                  int64_t index);
/* Nothing refers to a lent item any more: the list may be changed again. */
void gather_over(gathered *g);
/* Item `key` of a tuple or list, where the key depends on the index of a loop that is captured
 * once: a row that is lent. NULL with nothing pending: the item is read as any other. */
value *gather_at(tracer *t, value *base, value *key);
/* A live list as a long list, without looking at its items one by one. NULL: its items cannot be
 * rows. */
value *gather_live(tracer *t, PyObject *list, const source *s);

#endif
