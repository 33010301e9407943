/* Where code goes (joins of its branches, and its loops), and what it reads there. */
#ifndef LOOM_FLOW_H
#define LOOM_FLOW_H

#include "frontend/value/value.h"

/* ---- flow.c ---- */

typedef struct loom_flow loom_flow;

/* Of this code, worked out once for each capture; NULL when the code is too long, or something is
 * pending. */
const loom_flow *flow_of(tracer *t, const loom_code *code);
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

/* Which locals may be read, from instruction `at` of the code on, before they are assigned: the
 * caller's own copy, or NULL when something is pending. */
bool *live_from(tracer *t, const loom_code *code, int32_t at);

#endif
