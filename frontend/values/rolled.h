/* What loops that are captured once see: the state in a canonical form, lists that grow, items that
 * are lent. */
#ifndef LOOM_FRONTEND_VALUES_ROLLED_H
#define LOOM_FRONTEND_VALUES_ROLLED_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* Items of a list in groups that are all alike: `count` of them, from group `from` on. What differs
 * lies in stacks: row i of stack k is what group i has for the k-th array or number in `items`. */
#define ROWS_LEAVES 16

typedef struct rows {
  int64_t from, count, total; /* numbers of the graph; total: rows of the stacks */
  Py_ssize_t each;            /* items of a group */
  value **items;
  loom_value *stacks;
  int64_t *outputs; /* of the graph, or -1 */
  value **fixed;    /* NULL, or a number which is this very object in all rows */
  uint32_t leaves;
  value **ends; /* ROWS_LEAVES contents each; behind the last group the list had these, which are
                   the last rows, with: */
  loom_value *contents;
  Py_ssize_t end_count;
  bool live; /* of a list that existed before: its items are the list's own */
} rows;

static inline bool list_is_hidden(const value *v) { return v->type == &value_hidden_list_type; }
static inline bool list_is_long(const value *v) { return v->type == &value_long_list_type; }
static inline bool list_is_rolled(const value *v) { return v->type->kinds & VALUE_IS_ROLLED; }

/* NULL: it is an ordinary item. */
static inline rows *rows_of(const value *item) {
  return item->type == &value_rows_type ? item->any.a : NULL;
}

typedef struct gathered gathered;

enum { WALK_NONE = 1, WALK_INT, WALK_FLOAT, WALK_OWN, WALK_DEAD };

/* ---- walk.c: the evaluator's state in a canonical form ---- */

/* A place of the evaluator's state that may hold something else after an iteration: a value of the
 * graph, a Python float, or a number of the graph. */
typedef struct roll_slot {
  loom_value *at; /* where the value of the graph is noted, or NULL */
  value **holder; /* a float: what holds it */
  value *held;    /* what it held when it was looked at, and since its contents are hidden */
  value *hidden;
  void *owner; /* of `at`, for `changed` */
  void (*changed)(tracer *t, void *owner);
  loom_value node; /* what it held when it was looked at; LOOM_NO_VALUE: a known float, `bits` */
  uint64_t bits;
  bool whole; /* a number of the graph: in `*number`, or an int in `*holder` */
  int64_t *number;
  int64_t size; /* what it was */
} roll_slot;

/* The state in a canonical form: two states that differ only in the contents of their slots, and in
 * where objects lie, have equal tokens. */
struct roll_walk {
  tracer *t;
  uint64_t *tokens;
  uint32_t token_count, token_capacity;
  roll_slot *slots;
  uint32_t slot_count, slot_capacity;
  pointer_map seen;         /* objects in the order in which they were come to */
  const frame *head;        /* the frame with the loop, whose dead locals are left out */
  const bool *live;         /* its locals */
  value *own;               /* the loop's iterator */
  int own_seen;             /* how often it was come to */
  int exact;                /* ints are looked at that may not change */
  bool merges;              /* an int of the graph's data is an int like any other */
  bool looped;              /* a number depends on the index of a loop */
  bool lent;                /* there is an item that a loop was lent */
  loom_value scrub;         /* cached reads from this value on are forgotten; or LOOM_NO_VALUE */
  const char *refused;      /* why such a state cannot be looked at, or NULL */
  struct roll_lists *lists; /* that the loop may append to, or NULL */
  uint32_t list_count;
  Py_ssize_t *counts;  /* how many items list_count of these have */
  pointer_map numbers; /* roll_object() -> slot */
  uint32_t numbered;   /* slots that are in it */
};

/* values/walk.c: for value types and adapters, which tell what of the state of the evaluator they
 * hold, in an order that depends on nothing but its shape. */
void roll_token(roll_walk *w, uint64_t token); /* something that has to stay as it is */
void roll_pointer(roll_walk *w, const void *p);
bool roll_seen(roll_walk *w, const void *object); /* notes it; true when it was come to before */
void roll_value(roll_walk *w, value **holder);
void roll_exactly(roll_walk *w, value **holder); /* ints in it stay what they are */
/* A value of the graph (or LOOM_NO_VALUE), which may change; `changed` is told of it. */
void roll_node(roll_walk *w, loom_value *at, void *owner, void (*changed)(tracer *t, void *owner));
/* A number of the graph, which may change by as much in every iteration. */
void roll_whole(roll_walk *w, int64_t *number, void *owner,
                void (*changed)(tracer *t, void *owner));
void roll_is_lent(roll_walk *w, const value *v);  /* notes whether it is (values/gather.c) */
void roll_refuse(roll_walk *w, const char *what); /* loops over such a state are unrolled */
/* Cached reads of this value of the graph and later ones are to be forgotten. */
loom_value roll_scrub(const roll_walk *w);
void roll_walk_const(roll_walk *w, value **holder);
void roll_walk_number(roll_walk *w, value **holder);
void roll_walk_any_list(roll_walk *w, value *v); /* see loop_hooks.walk_list */

/* ---- rows.c: long lists, whose items are rows of arrays ---- */

/* What is in an ordinary item, when it has the type and sizes of `like`, which is a row. */
typedef bool (*list_reader)(tracer *t, value *item, const value *like, loom_value *node);

/* A tuple or list that was made here. */
bool rows_is_container(const value *item);
/* The arrays and numbers in an item, which may be such: at most `room`; -1: something else. */
int rows_leaves(tracer *t, value *item, value **leaves, int room);
loom_value *rows_at(value *leaf, const void *parts[2]);
loom_value rows_node(tracer *t, value *leaf);
bool rows_like(tracer *t, value *a, value *b); /* two items */
bool rows_stack_type(tracer *t, value *leaf, int64_t count, loom_type *out);
loom_value rows_slice(tracer *t, loom_value stack, int64_t i);               /* row i */
loom_value rows_put(tracer *t, loom_value stack, loom_value row, int64_t i); /* with another one */
value *rows_leaf_new(tracer *t, value *like, loom_value node);
/* Makes one of these an ordinary list again; false when something is pending. */
bool list_settle(tracer *t, value *v);
/* A long list as one stack: one like its rows; NULL: it is none. */
value *list_stack(tracer *t, value *v, list_reader read, loom_value *node);
bool rows_number(tracer *t, value *v, loom_dtype *out); /* a Python number as data */
loom_value rows_single(tracer *t, loom_value row);      /* a stack of one row */
/* How many items a long list has: a number. */
bool long_count(tracer *t, value *v, int64_t *out);
/* The rows of a long list that is `*prefix` ordinary items and then nothing but rows in order;
 * NULL: it is not. */
const rows *long_direct(tracer *t, const value *v, Py_ssize_t *prefix);
/* Item `index` of any long list as an ordinary one. NULL with nothing pending: there is none. */
value *long_single(tracer *t, value *v, int64_t index);
/* Item `index`, a number from 0 on, of such a list, as it is or lent. */
value *long_item(tracer *t, uint16_t place, value *v, int64_t index);

/* ---- lent.c: which object a lent value stands for ---- */

/* The item of a list, or the part of one, that a lent value stands for (values/lent.c). */
typedef struct lent_item lent_item;

struct lent_item {
  lent_item *whole;   /* it is part `at` of this; NULL: it is item `index`, a number, of one of: */
  const gathered *of; /* items as they were */
  value *list;
  int64_t index;
  Py_ssize_t at;
};

lent_item *lent_new(tracer *t, const gathered *of, value *list, int64_t index);
lent_item *lent_part(tracer *t, lent_item *whole, Py_ssize_t at);
/* The object itself; NULL, perhaps with something pending: it is not known which one. */
value *lent_real(tracer *t, const value *v);
recipe *lent_rebuild(tracer *t, const value *v); /* the same as a result */

/* ---- gather.c: items of a list as rows of arrays, lent to a loop ---- */

const char *gather_refuses(tracer *t, const value *base, Py_ssize_t first, Py_ssize_t end);
/* Items first to end - 1; NULL when they are not alike, or something is pending. */
gathered *gather_make(tracer *t, uint16_t place, value *base, Py_ssize_t first, Py_ssize_t end);
bool gather_holds(const gathered *g, const value *base, Py_ssize_t first, Py_ssize_t end);
value *gather_item(tracer *t, const gathered *g, int64_t index);
value *gather_real(const gathered *g, int64_t index); /* as it was */
value *gather_row(tracer *t, uint16_t place, value *list, const rows *r, int64_t row,
                  int64_t index);
void gather_over(gathered *g);
/* Item `key` of a tuple or list in a loop that is captured once, lent; NULL with nothing pending:
 * as any other. */
value *gather_at(tracer *t, value *base, value *key);
void gather_leave(tracer *t, uint16_t place); /* nobody has an item that this loop was lent so */
/* A live list whose items are not looked at one by one: a long list; NULL: its items are no rows.
 */
value *gather_live(tracer *t, PyObject *list, const source *s);
/* Its items are needed: capture starts again, and looks at them. */
void gather_apart(tracer *t, PyObject *list);
bool gather_is_live(const value *v);

#endif
