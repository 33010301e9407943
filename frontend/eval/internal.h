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

#endif
