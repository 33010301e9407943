/* What the files of the evaluator share. */
#ifndef LOOM_FRONTEND_EVAL_INTERNAL_H
#define LOOM_FRONTEND_EVAL_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

#define LOOM_BYTECODE(NAME, REACH) step step_##NAME(tracer *t, frame *f, const loom_instr *in);
#include "frontend/bytecode/bytecode.def"
#undef LOOM_BYTECODE

/* ---- trace.c ---- */

/* Breaks capture at bytecode that makes no sense, for the reason `what`. */
step step_bad(tracer *t, const char *what);
/* For instructions that pop N items. */
#define NEED(N)                                                                                    \
  if (f->sp < (N)) return step_bad(t, "the bytecode pops an empty stack")
/* Item `index` of a code object's tuple of names or constants; NULL when it is not there. */
PyObject *step_item(PyObject *tuple, int32_t index);

#endif
