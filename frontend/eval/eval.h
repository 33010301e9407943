/* The evaluator of bytecode. */
#ifndef LOOM_FRONTEND_EVAL_EVAL_H
#define LOOM_FRONTEND_EVAL_EVAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* ---- trace.c: the loop of the evaluator ---- */

/* Evaluates the frame that is being evaluated until it comes to instruction `end`: *met; or
 * returns. */
value *frame_until(tracer *t, frame *f, int32_t end, bool *met);
/* Runs a frame until it returns, yields or fails: NULL after trace_raise() or trace_break(). */
value *frame_run(tracer *t, frame *f, bool *yielded);

/* ---- trace_call.c: calls, inlining, new frames ---- */

frame *frame_new(tracer *t, function_data *function);
void eval_init(void);

#endif
