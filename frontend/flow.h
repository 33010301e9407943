/* Where code goes (joins of its branches, and its loops), and what it reads there. */
#ifndef LOOM_FLOW_H
#define LOOM_FLOW_H

#include "frontend/value/value.h"

/* ---- flow.c ---- */

typedef struct loom_flow loom_flow;

/* Of this code; NULL: out of memory. The sets of code longer than FLOW_LONGEST instructions would
 * take megabytes. */
#define FLOW_LONGEST 4096
const loom_flow *flow_new(loom_arena *arena, const loom_code *code);
/* The first instruction that is come to both from `a` and from `b`, whatever happens in between but
 * exceptions; the number of instructions: they only meet where the function returns. -1: nowhere.
 */
int32_t flow_join(const loom_flow *flow, int32_t a, int32_t b);
/* The head of the innermost loop around an instruction, or -1. */
int32_t flow_loop(const loom_flow *flow, int32_t at);
/* Is it in the loop with this head? */
bool flow_within(const loom_flow *flow, int32_t head, int32_t at);
/* Where execution goes on that comes to this instruction: behind jumps. */
int32_t flow_settle(const loom_code *code, int32_t at);

/* ---- live.c ---- */

/* For each instruction of a code: which locals may be read from there on before they are assigned. */
typedef struct live_locals live_locals;
live_locals *live_locals_new(loom_arena *arena, const loom_code *code); /* NULL: out of memory */
/* Whether each local is, from instruction `at` on. */
void live_from(const live_locals *l, int32_t at, bool *out);

/* ---- the same for the code of a frame, worked out once for each capture (loop_flow.c) ---- */

/* NULL when the code is too long, or something is pending. */
const loom_flow *flow_of(tracer *t, const loom_code *code);
/* The caller's own copy, or NULL when something is pending. */
bool *live_of(tracer *t, const loom_code *code, int32_t at);

#endif
