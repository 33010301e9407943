/* What an iterator of our own is: shared by the files of iterators only. */
#ifndef LOOM_FRONTEND_VALUES_ITER_INTERNAL_H
#define LOOM_FRONTEND_VALUES_ITER_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

typedef enum iter_kind {
  ITER_SEQUENCE, /* a tuple or list value, read as it is when the item is asked for */
  ITER_REVERSED,
  ITER_ENUMERATE,
  ITER_ZIP,
  ITER_MAP,
  ITER_FILTER,
  ITER_CALL,
  ITER_CHAIN,
  ITER_INDEX /* any value with __getitem__ and a known length */
} iter_kind;

typedef struct iter_data {
  iter_kind kind;
  value *base, *function, *counter;
  value **inner;
  Py_ssize_t count, at;
  uint16_t place; /* of the loop that it may lend items to, or 0 */
  bool early;     /* items are lent before the hidden iteration, too */
  gathered *rows; /* the rows of lent items, or NULL */
  int looks;      /* how often its items were compared; `why`: why they cannot be rows, or NULL */
  const char *why;
  value *keys;           /* over a dictionary or set: its keys when they were last read */
  uint32_t seen;         /* its `changes` at that time */
  const uint32_t *moves; /* dict_moves() of an OrderedDict, or NULL */
  uint32_t moved;        /* dict_moves() when the iterator was made */
  int what;              /* as for dict_list() */
  bool strict, done, back;
  bool exact; /* of ITER_SEQUENCE, ITER_REVERSED, ITER_INDEX: iter() or reversed() of `base` itself
               */
} iter_data;

/* ---- iter.c: iterators ---- */

Py_ssize_t iter_size(tracer *t, value *owner); /* of a dictionary or set, now */

/* ---- iter_loop.c: iterators in loops that are captured once ---- */

extern const loop_slots iterator_loop;
/* Item `at` of a long list is lent, where it may be; else NULL, and it is an ordinary list. */
value *iter_lent_item(tracer *t, iter_data *d, int64_t at);

/* ---- inline ---- */

/* NULL: it is another iterator. */
static inline iter_data *iter_of(const value *v) {
  return v->type == &value_iterator_type ? v->any.a : NULL;
}

#endif
