/* Loops that are captured once, and branches on data. */
#ifndef LOOM_FRONTEND_LOOPS_LOOPS_H
#define LOOM_FRONTEND_LOOPS_LOOPS_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"

/* ---- roll_ban.c: what attempts have shown of loops ---- */

/* Has the function returned in the middle of a hidden iteration? Then capture starts again. */
bool roll_is_open(tracer *t);
void trace_loops_init(trace_loops *loops);
void roll_bans_fini(roll_bans *bans);

/* ---- loops.c: the loop hooks of core/hooks.h ---- */

void loops_init(void);

#endif
