/* Decisions on data, under the option: branches (branch.c) and loops that they end (roll_end.c). */
#ifndef LOOM_FRONTEND_LOOPS_BRANCH_H
#define LOOM_FRONTEND_LOOPS_BRANCH_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

/* Where a frame goes on. */
typedef struct branch_way {
  int32_t pc, sp;
} branch_way;

/* A branch that is being evaluated both ways. */
struct branch {
  branch *outer;
  PyCodeObject *code;
  int32_t pc;  /* of the jump */
  roll *rolls; /* loops that were begun before */
};

/* A conditional jump: where it goes when the condition holds, and when not. */
typedef struct branch_jumps {
  int32_t pc; /* of the jump itself */
  loom_value condition;
  branch_way ways[2];
  int stays;   /* which of them stays in a loop that the other leaves; -1: there is none */
  int first;   /* which of them is evaluated first: one that leaves a loop */
  roll *ended; /* or NULL: the first way starts from where this loop was ended */
} branch_jumps;

/* ---- roll_end.c: loops that data may end ---- */

/* roll_end.c: is this jump one that ends a loop? ROLL_END_TAKEN: the frame goes on where it has to.
 */
typedef enum roll_end { ROLL_END_NONE, ROLL_END_TAKEN, ROLL_END_REFUSED } roll_end;

bool roll_end_behind(tracer *t, frame *f, int32_t head, step *out);
bool roll_end_counts(tracer *t, int64_t number);
roll_end roll_end_jump(tracer *t, frame *f, branch_jumps *jumps, step *out);
/* The frame stands, from here on, where the loop was ended in the middle. */
bool roll_end_enter(tracer *t, roll *r);
/* At the head of a `for` that data may end: the next iteration is to stand for all; it has. */
bool roll_end_begin(tracer *t, roll *r, int64_t left);
void roll_end_check(tracer *t, roll *r);
/* Locals that matter at the head of such a loop. */
bool *roll_end_live(tracer *t, const frame *f, int32_t head);
/* Is the frame in the hidden iteration of such a loop, and at a test of its own? */
bool roll_end_has(tracer *t, const frame *f);

/* ---- branch.c: branches on data ---- */

/* Evaluates both ways up to where they meet, and goes on from there with what the condition
 * chooses. False: something is pending, or they have no such place. */
bool branch_both(tracer *t, frame *f, const branch_jumps *jumps, step *out);
/* Capture starts again, and leaves this branch alone. */
void branch_ban(tracer *t, PyCodeObject *code, int32_t pc);
/* Looks at the arrays and numbers that the frame holds, so that it is not done on one way only. */
bool branch_realise(tracer *t, frame *f);
bool branch_jump(tracer *t, frame *f, const loom_instr *in, bool when,
                 step *out); /* see loop_hooks */
value **branch_copy(tracer *t, value **from, int32_t count);

#endif
