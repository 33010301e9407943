/* Decisions on data, with capture_data_dependent: branches (branch.c) and loops that data ends
 * (roll_end.c). */
#ifndef LOOM_FRONTEND_LOOPS_BRANCH_INTERNAL_H
#define LOOM_FRONTEND_LOOPS_BRANCH_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* Where a frame goes on. */
typedef struct branch_way {
  int32_t pc, sp;
} branch_way;

/* A branch both of whose ways are being evaluated, one after the other. */
struct branch {
  branch *outer;
  PyCodeObject *code;
  int32_t pc;  /* of the jump */
  roll *rolls; /* the innermost loop that was begun before the branch */
};

/* A conditional jump: where it goes when the condition holds, and when not. */
typedef struct branch_jumps {
  int32_t pc; /* of the jump itself */
  loom_value condition;
  branch_way ways[2];
  int stays;   /* the way that stays in a loop that the other one leaves; -1: neither leaves one */
  int first;   /* the way that is evaluated first */
  roll *ended; /* the first way starts with the state in which this loop ended; or NULL */
} branch_jumps;

/* ---- roll_end.c: loops that data may end ---- */

/* Is this jump one that may end a loop? */
typedef enum roll_end { ROLL_END_NONE, ROLL_END_TAKEN, ROLL_END_REFUSED } roll_end;

/* These two are described in loop_hooks (core/hooks.h): end_behind, end_counts. */
bool roll_end_behind(tracer *t, frame *f, int32_t head, step *out);
bool roll_end_counts(tracer *t, int64_t number);
roll_end roll_end_jump(tracer *t, frame *f, branch_jumps *jumps, step *out);
/* The frame goes on with the state in which the loop was ended. */
bool roll_end_enter(tracer *t, roll *r);
/* At the head of a loop that data may end: begins the hidden iteration, with `left` iterations
 * left. */
bool roll_end_begin(tracer *t, roll *r, int64_t left);
/* At the head, after the hidden iteration of such a loop. */
void roll_end_check(tracer *t, roll *r);
/* Locals that are live at the head of such a loop. */
bool *roll_end_live(tracer *t, const frame *f, int32_t head);
/* Is the frame in the hidden iteration of such a loop, with a test of that loop in front of it? */
bool roll_end_has(tracer *t, const frame *f);

/* ---- branch.c: branches on data ---- */

/* Evaluates both ways up to their join, and goes on there with values that the condition selects.
 * False: a failure is pending, or there is no join. */
bool branch_both(tracer *t, frame *f, const branch_jumps *jumps, step *out);
/* Capture starts again, and does not evaluate both ways of this branch any more. */
void branch_ban(tracer *t, PyCodeObject *code, int32_t pc);
/* Wraps the arrays and numbers that the frame holds and that capture has not looked at yet.
 * Otherwise only one way might look at them. */
bool branch_realise(tracer *t, frame *f);
/* Described in loop_hooks (core/hooks.h) */
bool branch_jump(tracer *t, frame *f, const loom_instr *in, bool when, step *out);
/* A copy of `count` values, in the tracer's arena. */
value **branch_copy(tracer *t, value **from, int32_t count);

#endif
