/* Loops over a range captured once (roll.c): what the evaluator stands at the head of one
 * (roll_walk.c).
 */
#ifndef LOOM_ROLL_H
#define LOOM_ROLL_H

#include "frontend/value/value.h"

/* A place of the evaluator's state that may hold something else after an iteration: a value of the
 * graph, a Python float, or a number of the graph. */
typedef struct roll_slot {
  loom_value *at; /* where the value of the graph is noted, or NULL */
  value **holder; /* a float: what holds it */
  void *owner;    /* of `at`, for `changed` */
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
  pointer_map seen;    /* objects in the order in which they were come to */
  const frame *head;   /* the frame with the loop, whose dead locals are left out */
  const bool *live;    /* its locals */
  value *own;          /* the loop's iterator */
  int own_seen;        /* how often it was come to */
  int exact;           /* ints are looked at that may not change */
  bool looped;         /* a number depends on the index of a loop */
  loom_value scrub;    /* cached reads from this value on are forgotten; or LOOM_NO_VALUE */
  const char *refused; /* why such a state cannot be looked at, or NULL */
};

/* Looks at everything that the code from here on can see. */
void roll_walk_state(roll_walk *w);
/* Which locals may be read, from instruction `at` of the code on, before they are assigned. */
bool *roll_live(tracer *t, const loom_code *code, int32_t at);

/* roll_graph.c: the nodes from `first` on as the body of a loop of `count` iterations that carries
 * `inits`: in the body each is `before`, and `after` at its end; `index` counts. The results take
 * the place of `after`; the nodes are left without a meaning. False: they cannot be (nothing has
 * changed), or after a failure. */
typedef struct roll_body {
  uint32_t first; /* node */
  loom_value first_value, index;
  int64_t symbol; /* which is the index too */
  bool
      tested; /* a `while`: no count and no index; the last carried value says whether it goes on */
  int64_t count; /* a number of the graph */
  uint32_t carried;
  const loom_value *inits, *before;
  loom_value *after;
} roll_body;
bool roll_make_loop(tracer *t, const roll_body *body);

#endif
