/* The state of loops that are watched at their heads, and the steps to capture one once. */
#ifndef LOOM_FRONTEND_LOOPS_INTERNAL_H
#define LOOM_FRONTEND_LOOPS_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/rolled.h"
#include "graph/graph.h"

typedef struct roll_list {
  value *v;
  /* Its own type while the list is hidden (value_hidden_list_type); else NULL. */
  const value_type *type;
  Py_ssize_t base, each;   /* items when the loop began; items that one iteration appends */
  Py_ssize_t first, start; /* index of the first item that is a row; of the first item that the
                              hidden iteration appends */
  Py_ssize_t deep;         /* how many of its last items are reachable by other names, too */
  rows *rows;
  value **leaves; /* arrays and numbers in the items of the last iteration before the hidden one */
  /* The stacks before the loop, and as the hidden iteration sees them. */
  loom_value *inits, *before;
} roll_list;

typedef struct roll_content { /* an array or number in the list before the hidden iteration */
  loom_value *at, node;
} roll_content;

typedef struct roll_lists {
  roll_list *all;
  uint32_t count, capacity;
  bool noted;
  Py_ssize_t visible;
  roll_content *contents;
  uint32_t content_count, content_capacity;
  uint32_t stacks; /* of all lists */
  const char *why; /* why they cannot be hidden, or NULL */
} roll_lists;

/* What earlier attempts have found out about a loop that data may end. */
#define ROLL_LEARNT 512

typedef struct roll_learnt {
  int peeled;                /* peeled iterations: they stay in front of the loop */
  bool carried[ROLL_LEARNT]; /* which slots of the state an iteration changes: the loop-carried ones
                              */
  int64_t steps[ROLL_LEARNT]; /* for carried numbers: their step per iteration */
} roll_learnt;

#define ROLL_ENDINGS 4

typedef struct roll_ending { /* a place in the hidden iteration where data may end the loop */
  loom_value stays;          /* a bool of the graph: the loop goes on here */
  int32_t pc, sp;            /* where the frame goes on when the loop ends here */
  roll_walk *state;
  value **locals, **stack; /* of the frame there */
  loom_value *results;     /* for each slot: its value behind the loop when the loop ended here */
} roll_ending;

enum { ROLL_NEVER = -1, ROLL_LEAVE = -2 }; /* of roll_ban_row.delay */

typedef enum roll_stage {
  ROLL_WATCHING, /* iterations are compared */
  ROLL_HIDDEN,   /* an iteration is evaluated with hidden contents */
  ROLL_OVER      /* it is in the graph, or goes on unrolled */
} roll_stage;

struct roll {
  roll *next;
  frame *frame;
  value *iterator;      /* of a `for`; NULL: a `while` */
  int64_t excess, wane; /* of a `while` on ints: it goes on while `excess` is positive; `wane` is
                           the step of excess per iteration */
  int32_t pc;
  bool *live;
  roll_stage stage;
  roll_walk *before;              /* the state at the loop's head, as last seen */
  roll_walk *past[ROLL_PAST + 1]; /* earlier states at the head, the latest one first */
  int period, phase; /* how many iterations one iteration of the graph's loop stands for; how many
                        of these are evaluated so far */
  bool *carried;     /* by slot of `before` */
  loom_value *inits; /* by slot: the initial value of a loop-carried value (operand of the copy that
                        hides it) */
  int64_t *bases, *steps; /* by slot, of induction variables: value in the first hidden iteration,
                             step per iteration */
  loom_value index;
  /* The symbol of the index; iterations that are left when the hidden one begins. */
  int64_t symbol, left;
  int64_t count;  /* of the loop in the graph */
  uint32_t first; /* node of the hidden iteration */
  loom_value first_value;
  int tries, delay, given; /* given: the period that an earlier attempt asked for */
  int tail;                /* iterations that are left over for unrolling behind the loop */
  uint32_t begin;          /* node count when the loop's first iteration began */
  int64_t length;          /* iterations in all; -1: not known at capture */
  const char *why;         /* why it is unrolled, or NULL */
  /* The loop is in the graph; its size in nodes when unrolled has been measured. */
  bool rolled, measured;
  bool tested;     /* a `while` on floats: the number of iterations is unknown */
  double distance; /* difference of the two compared floats, as last seen */
  loom_value started, truth, condition; /* the test in the graph: before the loop, at the hidden
                                           iteration's begin, at its end */
  roll_lists *lists;                    /* or NULL */
  bool ended;                           /* data may end the loop (roll_end.c) */
  int32_t head;                         /* of the loop in the code */
  roll_ending endings[ROLL_ENDINGS];
  int ending_count;
  roll_ending *behind; /* the ending behind which the frame goes on elsewhere than behind the loop;
                          or NULL */
  loom_value outcome;  /* a bool of the graph: `behind` has not ended the loop */
};

/* ---- roll_note.c: records and logs of what became of each loop ---- */

/* Records and logs the fate of the loop whose head is being evaluated. A later record of the same
 * loop replaces an earlier one. */
void trace_note_loop(tracer *t, loop_fate fate, int64_t count, const char *format, ...);
/* Records a loop that is unrolled because it has few iterations. */
void roll_note_short(tracer *t, const frame *f, int64_t left);
/* Records a loop over items (a list, a dictionary, a generator, ...). */
void roll_note_items(tracer *t, const frame *f, const value *iterator);
void roll_note_break(tracer *t, int reason);

/* ---- loop_flow.c: control flow and liveness, found once for each code ---- */

/* The control flow of the code. NULL when the code is too long, or a failure is pending. */
const loom_flow *flow_of(tracer *t, const loom_code *code);
/* Which locals are live at instruction `at`: a copy for the caller. NULL when a failure is pending.
 */
bool *live_of(tracer *t, const loom_code *code, int32_t at);

/* ---- roll_state.c: the evaluator's state at the head of a loop ---- */

/* Adds everything that the code from here on can see. */
void roll_walk_state(roll_walk *w);

/* ---- roll_graph.c: nodes as the body of a loop or the regions of a branch ---- */

/* A loop to be made of the nodes from `first` on. `count`: iterations. Carried value i is inits[i]
 * before the loop, before[i] at the begin of the body and after[i] at its end; roll_make_loop()
 * puts the loop's result into after[i]. */
typedef struct roll_body {
  uint32_t first; /* node */
  loom_value first_value, index;
  int64_t symbol; /* the symbol that stands for `index` in numbers */
  /* A `while`: it has no count and no index; the last carried value is its condition. */
  bool tested;
  int64_t count; /* a number of the graph */
  uint32_t carried;
  const loom_value *inits, *before;
  loom_value *after;
} roll_body;

/* An `if` to be made of nodes that are in the graph already: its two regions. */
typedef struct roll_ways {
  loom_value condition;
  uint32_t bounds[3]; /* the first node of way 0, of way 1, and behind both */
  int true_way;       /* the way that a true condition chooses */
  uint32_t count;
  const loom_value *values[2]; /* of each way: the values that differ */
  loom_value *results;
} roll_ways;

/* False: the loop cannot be made (nothing has changed), or a failure is pending. The body's nodes
 * have no meaning outside of it afterwards. */
bool roll_make_loop(tracer *t, const roll_body *body);
bool roll_make_branch(tracer *t, const roll_ways *ways);

/* ---- roll_list.c: lists that a loop body appends to ---- */

roll_lists *roll_lists_new(tracer *t, const roll_ban_row *row);
/* Adds a list to the state: all items, or, when the loop appends to it, those that were there when
 * the loop began and the last few that the body may read. */
void roll_walk_list(roll_walk *w, value *v);
/* Adds aliases of the other items to the state: which of them are reachable by other names, too. */
void roll_walk_tails(roll_walk *w);
/* Notes for each list how many items were appended between the two states. */
void roll_lists_grow(roll *r, const roll_walk *from, const roll_walk *to);
/* Hides the lists that have grown (value_hidden_list_type). False: they cannot be hidden (l->why),
 * or a failure is pending. */
bool roll_lists_hide(tracer *t, roll *r);
/* Notes what the lists hold, once all slots are hidden: roll_lists_hold() compares with that.
 * False: out of memory. */
bool roll_lists_note(tracer *t, roll *r);
/* After the hidden iteration: has each list grown as in the iterations before, by items made in
 * this iteration, with all older items unchanged? */
bool roll_lists_hold(tracer *t, roll *r, const roll_walk *now);
/* Gives hidden lists their own type back. */
void roll_lists_show(roll *r);
/* How many stacks all lists have: loop-carried arrays. */
uint32_t roll_lists_stacks(const roll *r);
/* Appends the stacks to the loop-carried values: before the loop, at the body's begin, at its end.
 */
bool roll_lists_close(tracer *t, roll *r, loom_value *inits, loom_value *before, loom_value *after);
/* Gives the lists their items behind the loop: rows of the stacks in `results`. */
bool roll_lists_leave(tracer *t, roll *r, roll_walk *now, const loom_value *results);
/* A hidden list is read, `from_end` items from its end: capture starts again
 * (loop_hooks.reads_list). */
void roll_reads_list(tracer *t, value *list, Py_ssize_t from_end);
/* How many of the last items of a hidden list may be read (loop_hooks.list_visible). */
Py_ssize_t roll_list_visible(tracer *t, const value *list);

/* ---- roll_object.c: object identity of carried numbers ---- */

/* A key for the identity of a number: equal keys, one object. NULL: no number, or a small int,
 * whose identity is no question. */
const void *roll_object(const value *v);
/* Are the numbers that alias each other after the hidden iteration the same in every iteration? */
bool roll_objects_hold(tracer *t, const roll *r, roll_walk *now);
/* Gives the carried slots their values behind the loop: the next of `results`, a number of the
 * graph, or an object that the loop has not made. *used counts the results taken. */
bool roll_objects_leave(tracer *t, const roll *r, roll_walk *now, const loom_value *results,
                        uint32_t *used);
/* 1 + the slot that holds this number; 0: none does. */
uint32_t roll_object_slot(roll_walk *w, const value *v);

/* ---- roll_ban.c: what attempts have shown of loops ---- */

/* What earlier attempts have noted about the loop or branch at this place; NULL: nothing. */
roll_ban_row *roll_row(const tracer *t, PyCodeObject *code, int32_t pc);
/* The row of roll_row() for a place, made when there is none. Capture starts again with what the
 * caller writes into it. NULL: capture starts again without rolling any loop. */
roll_ban_row *roll_learn(tracer *t, PyCodeObject *code, int32_t pc);
/* Capture starts again. It then unrolls `delay` iterations of this loop before it hides one;
 * `period` iterations become one of the graph's loop. A delay of ROLL_NEVER: this loop is unrolled.
 */
void roll_restart(tracer *t, const roll *r, int delay, int period);
/* Described in loop_hooks (core/hooks.h). */
bool roll_blames(tracer *t);

/* ---- roll.c: capturing one loop once ---- */

/* The graph's symbol for the loop's index. */
uint64_t roll_symbol(tracer *t, const roll *r);
/* Starts to watch a loop at whose head `left` iterations are left. NULL: it is not watched, or a
 * failure is pending. */
roll *roll_new(tracer *t, frame *f, value *iterator, int64_t left);
/* At the head, after an ordinary iteration that began with `left` iterations left. True: the next
 * iteration may be hidden. */
bool roll_watch(tracer *t, roll *r, int64_t left);
/* Begins the hidden iteration: the contents of all carried slots are unknown from here on. False:
 * that is impossible, or a failure is pending. */
bool roll_hide(tracer *t, roll *r, int64_t left);
/* At the head, after the hidden iteration: makes the loop of it when the state has changed in the
 * carried slots alone, else tries again. */
void roll_check(tracer *t, roll *r);
/* The loop is unrolled, for this reason. */
void roll_give_up(tracer *t, roll *r, const char *why);
/* These functions are described in loop_hooks (core/hooks.h). */
value *roll_next(tracer *t, frame *f, value *iterator);
void roll_leave_frame(tracer *t, const frame *f);
bool roll_lent(tracer *t, const value *v);
uint16_t roll_lends_here(tracer *t);
uint16_t roll_lends(tracer *t);
bool roll_lends_early(tracer *t, bool ask);
/* A 0-d constant of the graph. */
loom_value roll_number(tracer *t, loom_dtype dtype, uint64_t bits);
/* A copy node of `v`: hides its content. */
loom_value roll_copy(tracer *t, loom_value v);
/* Walks the state at the head of the loop; NULL when a failure is pending. */
roll_walk *roll_look(tracer *t, const roll *r);
/* Do two states differ in nothing but the contents of their slots? */
bool roll_alike(const roll_walk *a, const roll_walk *b);
/* Do two slots hold the same content? */
bool roll_slot_same(const roll_slot *a, const roll_slot *b);
/* Stores a value of the graph, or a number, in the place that the slot stands for. */
bool roll_put(tracer *t, roll_slot *slot, loom_value v);
bool roll_put_whole(tracer *t, roll_slot *slot, int64_t number);
/* Replaces the content of each carried slot by a copy, or by base + step * index. */
bool roll_hide_slots(tracer *t, roll *r);
/* Is each number, after the hidden iteration, what the next iteration begins with? */
bool roll_steps_hold(tracer *t, const roll *r, const roll_walk *now);

/* ---- roll_while.c: `while` loops ---- */

value *roll_test(tracer *t, frame *f, int op, value *left, value *right);

#endif
