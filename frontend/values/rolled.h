/* What loops that are captured once need: the state in a canonical form, lists that an iteration
 * appends to (their items are rows of arrays), and items that are lent to the hidden iteration.
 */
#ifndef LOOM_FRONTEND_VALUES_ROLLED_H
#define LOOM_FRONTEND_VALUES_ROLLED_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* A block of a long list's items, in groups that are all alike: `count` groups, from group `from`
 * on. Row i of stack k is the k-th array or number of group i. */
#define ROWS_LEAVES 16

typedef struct rows {
  int64_t from, count, total; /* numbers of the graph; total: how many rows the stacks have */
  Py_ssize_t each;            /* how many items a group has */
  value **items;
  loom_value *stacks;
  int64_t *outputs; /* by stack: the graph's output that holds it, or -1 */
  value **fixed;    /* by stack: the one object that is this number in all rows, or NULL */
  uint32_t leaves;
  value **ends; /* the items of the last rows, as the items that they were when appended */
  loom_value *contents;
  Py_ssize_t end_count;
  bool live; /* the list existed before the call: a row stands for an object that the list holds */
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

/* A place of the evaluator's state whose content an iteration may change: a value of the graph, a
 * Python float, or a number of the graph. */
typedef struct roll_slot {
  loom_value *at; /* where the value of the graph is noted, or NULL */
  value **holder; /* of a float: the pointer to the value that holds it */
  value *held;    /* the value there when the state was taken, and the one that hides it since */
  value *hidden;
  void *owner; /* of `at`, for `changed` */
  void (*changed)(tracer *t, void *owner);
  /* The content when the state was taken; LOOM_NO_VALUE: a known float, in `bits`. */
  loom_value node;
  uint64_t bits;
  bool whole; /* a number of the graph: in `*number`, or an int in `*holder` */
  int64_t *number;
  int64_t size; /* the number when the state was taken */
} roll_slot;

/* The state in a canonical form: two states that differ only in the contents of their slots, and in
 * where objects lie, have equal tokens. */
struct roll_walk {
  tracer *t;
  uint64_t *tokens;
  uint32_t token_count, token_capacity;
  roll_slot *slots;
  uint32_t slot_count, slot_capacity;
  pointer_map seen;         /* object -> 1 + how many were reached before it */
  const frame *head;        /* the frame with the loop: its dead locals are left out */
  const bool *live;         /* which of its locals are live */
  value *own;               /* the loop's iterator */
  int own_seen;             /* how often it was reached */
  int exact;                /* not 0: inside of roll_exactly() */
  bool merges;              /* an int that is a value of the graph and a known int have the same
                               token */
  bool looped;              /* some number depends on the index of a loop */
  bool lent;                /* some value is lent */
  loom_value scrub;         /* cached reads of this value and of later ones are forgotten; or
                               LOOM_NO_VALUE */
  const char *refused;      /* why the state cannot be compared, or NULL */
  struct roll_lists *lists; /* the lists that the loop may append to, or NULL */
  uint32_t list_count;
  Py_ssize_t *counts;  /* the lengths of list_count of these */
  pointer_map numbers; /* roll_object() -> slot */
  uint32_t numbered;   /* how many slots are in it */
};

/* The functions that follow are for value types and adapters. Each adds its part of the evaluator's
 * state, in an order that depends only on the shape of the state. */
/* Adds a token, which has to be equal in both states. */
void roll_token(roll_walk *w, uint64_t token);
void roll_pointer(roll_walk *w, const void *p);
bool roll_seen(roll_walk *w, const void *object); /* notes an object; true: it was reached before */
void roll_value(roll_walk *w, value **holder);
/* A slot: a value of the graph (or LOOM_NO_VALUE), which may change. `changed` is called when the
 * slot gets another one. */
void roll_node(roll_walk *w, loom_value *at, void *owner, void (*changed)(tracer *t, void *owner));
/* A slot: a number of the graph, which may grow by one step in every iteration. */
void roll_whole(roll_walk *w, int64_t *number, void *owner,
                void (*changed)(tracer *t, void *owner));
void roll_is_lent(roll_walk *w, const value *v); /* notes whether the value is lent (gather.c) */
/* The state cannot be compared, for this reason: the loop is unrolled. */
void roll_refuse(roll_walk *w, const char *what);
/* Cached reads of this value of the graph, and of later ones, are to be forgotten. */
loom_value roll_scrub(const roll_walk *w);

/* ---- rows.c: long lists, whose items are rows of arrays ---- */

/* Reads an ordinary item as a value of the graph, when it has the type and sizes of `like`, a row.
 */
typedef bool (*list_reader)(tracer *t, value *item, const value *like, loom_value *node);

/* Is it a tuple or list that was made inside? */
bool rows_is_container(const value *item);
/* The arrays and numbers in an item, or in the tuples and lists that it consists of: at most
 * `room`. Their count, or -1: it holds something else. */
int rows_leaves(tracer *t, value *item, value **leaves, int room);
loom_value *rows_at(value *leaf, const void *parts[2]);
loom_value rows_node(tracer *t, value *leaf);
bool rows_like(tracer *t, value *a, value *b); /* do two items have the same form? */
bool rows_stack_type(tracer *t, value *leaf, int64_t count, loom_type *out);
loom_value rows_slice(tracer *t, loom_value stack, int64_t i); /* row i of a stack */
/* The stack with another row i. */
loom_value rows_put(tracer *t, loom_value stack, loom_value row, int64_t i);
value *rows_leaf_new(tracer *t, value *like, loom_value node);
/* Makes a long list an ordinary one again. False: a failure is pending. */
bool list_settle(tracer *t, value *v);
/* A long list as one array, `*node`, of all its items in order; the result is a value like its
 * rows. NULL: that is not possible. */
value *list_stack(tracer *t, value *v, list_reader read, loom_value *node);

/* ---- lent.c: which object a lent value stands for ---- */

/* The item of a list, or the part of one, that a lent value stands for (values/lent.c). */
typedef struct lent_item lent_item;

struct lent_item {
  lent_item *whole;   /* it is part `at` of this item; NULL: it is item `index`, a number of the
                         graph, of `of` or of `list` */
  const gathered *of; /* the items as they were when they were gathered; or NULL */
  value *list;
  int64_t index;
  Py_ssize_t at;
};

/* ---- gather.c: items of a list as rows of arrays, lent to a loop ---- */

/* Nothing refers any more to an item that gather_at() lent to the loop at `place`. */
void gather_leave(tracer *t, uint16_t place);
/* The items of a list of gather_live() are needed: capture starts again, and looks at them one by
 * one. */
void gather_apart(tracer *t, PyObject *list);
bool gather_is_live(const value *v);

#endif
