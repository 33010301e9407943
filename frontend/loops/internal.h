/* Loops captured once: what the evaluator stands at the head of one. */
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
  const value_type *type;  /* while it is hidden, what it is otherwise; else NULL */
  Py_ssize_t base, each;   /* items when the loop began; that an iteration appends */
  Py_ssize_t first, start; /* its rows begin here, the hidden iteration's there */
  Py_ssize_t deep;         /* so many of its last items can be come to in other ways */
  rows *rows;
  value **leaves;             /* arrays and numbers of the last group in front of it */
  loom_value *inits, *before; /* stacks, in front of the loop and in the hidden iteration */
} roll_list;

typedef struct roll_content { /* what is in the list in front of the hidden iteration */
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
  const char *why; /* they cannot be hidden */
} roll_lists;

/* What attempts at a loop that data may end have shown of it. */
#define ROLL_LEARNT 512

typedef struct roll_learnt {
  int peeled;                 /* iterations that are evaluated before one that stands for all */
  bool carried[ROLL_LEARNT];  /* slots that an iteration changes */
  int64_t steps[ROLL_LEARNT]; /* by how much, numbers */
} roll_learnt;

#define ROLL_ENDINGS 4

typedef struct roll_ending { /* a place in the hidden iteration where data may end the loop */
  loom_value stays;          /* it does not */
  int32_t pc, sp;            /* where the frame goes on when it does */
  roll_walk *state;
  value **locals, **stack; /* of the frame there */
  loom_value *results;     /* for each slot: what it holds behind the loop when it was ended here */
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
  value *iterator;      /* of a `for`; NULL: a `while`, which goes on as long as */
  int64_t excess, wane; /* a number is positive, which grows by so much from one to the next */
  int32_t pc;
  bool *live;
  roll_stage stage;
  roll_walk *before;              /* the state at the head, the last time */
  roll_walk *past[ROLL_PAST + 1]; /* as often as it was watched, the last time first */
  int period, phase;      /* iterations that are one in the graph; how many of them were hidden */
  bool *carried;          /* by slot of `before` */
  loom_value *inits;      /* what is hidden behind the copies */
  int64_t *bases, *steps; /* of numbers: in the first hidden iteration, and from one to the next */
  loom_value index;
  int64_t symbol, left; /* the index; how many iterations there are from here on */
  int64_t count;        /* of the loop in the graph */
  uint32_t first;       /* node of the hidden iteration */
  loom_value first_value;
  int tries, delay, given; /* given: a period that was asked for */
  int tail;                /* iterations left for the end */
  uint32_t begin;          /* node, at the first iteration */
  int64_t length;          /* iterations in all; -1: not known at capture */
  const char *why;         /* it is unrolled, or NULL */
  bool rolled, measured;   /* it is in the graph; it is known how large it is unrolled */
  bool tested;             /* a `while` on floats, whose number of iterations nobody knows */
  double distance;         /* of its floats, the last time */
  loom_value started, truth, condition; /* its test in the graph: at first, as it was, as it is */
  roll_lists *lists;                    /* or NULL */
  bool ended;                           /* by data (roll_end.c): */
  int32_t head;                         /* of the loop in the code */
  roll_ending endings[ROLL_ENDINGS];
  int ending_count;
  roll_ending *behind; /* behind the loop the frame goes on elsewhere when this has ended it: */
  loom_value outcome;  /* it has not, as a bool */
};

/* ---- roll_note.c: records and logs of what became of each loop ---- */

/* Notes, and logs, what became of the loop whose head is now being evaluated: the last word on a
 * place holds. */
void trace_note_loop(tracer *t, loop_fate fate, int64_t count, const char *format, ...);
/* A loop of so few iterations that it is unrolled. */
void roll_note_short(tracer *t, const frame *f, int64_t left);
/* One over a list, a dictionary, a generator, ... */
void roll_note_items(tracer *t, const frame *f, const value *iterator);
void roll_note_break(tracer *t, int reason);

/* ---- loop_flow.c: control flow and liveness, found once for each code ---- */

/* NULL when the code is too long, or something is pending. */
const loom_flow *flow_of(tracer *t, const loom_code *code);
/* The caller's own copy, or NULL when something is pending. */
bool *live_of(tracer *t, const loom_code *code, int32_t at);

/* ---- roll_state.c: the evaluator's state at the head of a loop ---- */

/* Looks at everything that the code from here on can see. */
void roll_walk_state(roll_walk *w);

/* ---- roll_graph.c: nodes as the body of a loop or the regions of a branch ---- */

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

/* Nodes as the two regions of an `if` of the graph. */
typedef struct roll_ways {
  loom_value condition;
  uint32_t bounds[3]; /* the first nodes of one way and of the other, and of what comes behind */
  int true_way;       /* which of them a true condition chooses */
  uint32_t count;
  const loom_value *values[2]; /* of each way */
  loom_value *results;
} roll_ways;

bool roll_make_loop(tracer *t, const roll_body *body);
bool roll_make_branch(tracer *t, const roll_ways *ways);

/* ---- roll_list.c: lists that a loop body appends to ---- */

roll_lists *roll_lists_new(tracer *t, const roll_ban_row *row);
/* Walks what may be read of a list: all of it, unless the loop appends to it. */
void roll_walk_list(roll_walk *w, value *v);
/* The items that may not be read: who else knows them. */
void roll_walk_tails(roll_walk *w);
/* How many items are appended from one state to the other. */
void roll_lists_grow(roll *r, const roll_walk *from, const roll_walk *to);
/* Hides what has grown; `count` iterations of the graph's follow. False: they cannot be hidden. */
bool roll_lists_hide(tracer *t, roll *r);
bool roll_lists_note(tracer *t, roll *r); /* everything else is hidden now */
/* Behind the hidden iteration: did each append what it did before, and leave the rest alone? */
bool roll_lists_hold(tracer *t, roll *r, const roll_walk *now);
void roll_lists_show(roll *r);
uint32_t roll_lists_stacks(const roll *r);
bool roll_lists_close(tracer *t, roll *r, loom_value *inits, loom_value *before, loom_value *after);
/* The list behind the loop, with what the stacks are then. */
bool roll_lists_leave(tracer *t, roll *r, roll_walk *now, const loom_value *results);
void roll_reads_list(tracer *t, value *list, Py_ssize_t from_end);
Py_ssize_t roll_list_visible(tracer *t, const value *list);

/* ---- roll_object.c: object identity of carried numbers ---- */

/* Tells of a number's value which object it is; NULL: that is nothing to ask. */
const void *roll_object(const value *v);
/* Are the numbers that are one object, behind the hidden iteration, one behind all, and no others?
 */
bool roll_objects_hold(tracer *t, const roll *r, roll_walk *now);
/* All numbers are what they are behind the loop: carried ones, slot by slot, `results`; *used: how
 * many of these. */
bool roll_objects_leave(tracer *t, const roll *r, roll_walk *now, const loom_value *results,
                        uint32_t *used);
/* The slot that holds this number, from 1 on; 0: none does. */
uint32_t roll_object_slot(roll_walk *w, const value *v);

/* ---- roll.c: capturing one loop once ---- */

uint64_t roll_symbol(tracer *t, const roll *r);
roll_ban_row *roll_row(roll_bans *bans, PyCodeObject *code, int32_t pc);
/* The row of a place, made when there is none: capture starts again with what is written there.
 * NULL: without any loop captured once. */
roll_ban_row *roll_learn(tracer *t, PyCodeObject *code, int32_t pc);
/* Capture starts again, and looks at `delay` iterations of this loop before it takes one, or
 * `period` of them, for all. */
void roll_restart(tracer *t, const roll *r, int delay, int period);
/* A loop that is not known yet, in front of whose head there are `left` iterations; NULL when it is
 * not looked at, or something is pending. */
roll *roll_new(tracer *t, frame *f, value *iterator, int64_t left);
/* At the head, after an iteration like any other, before which there were `left`. True: the next
 * one may stand for all. */
bool roll_watch(tracer *t, roll *r, int64_t left);
/* The contents of what is carried are unknown from here on; false: they cannot be. */
bool roll_hide(tracer *t, roll *r, int64_t left);
/* At the head, after the hidden iteration. */
void roll_check(tracer *t, roll *r);
void roll_give_up(tracer *t, roll *r, const char *why);
value *roll_next(tracer *t, frame *f, value *iterator);
void roll_leave_frame(tracer *t, const frame *f);
bool roll_blames(tracer *t);
bool roll_lent(tracer *t, const value *v);
uint16_t roll_lends_here(tracer *t);
uint16_t roll_lends(tracer *t);
bool roll_lends_early(tracer *t, bool ask);
loom_value roll_number(tracer *t, loom_dtype dtype, uint64_t bits);
loom_value roll_copy(tracer *t, loom_value v);
roll_walk *roll_look(tracer *t, const roll *r);
bool roll_alike(const roll_walk *a, const roll_walk *b);
bool roll_slot_same(const roll_slot *a, const roll_slot *b);
bool roll_put(tracer *t, roll_slot *slot, loom_value v);
bool roll_put_whole(tracer *t, roll_slot *slot, int64_t number);
bool roll_hide_slots(tracer *t, roll *r);
bool roll_is_looped(tracer *t, const roll *r, const roll_walk *now);
bool roll_steps_hold(tracer *t, const roll *r, const roll_walk *now);

/* ---- roll_while.c: `while` loops ---- */

value *roll_test(tracer *t, frame *f, int op, value *left, value *right);

#endif
