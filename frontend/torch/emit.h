/* One call of an operation of torch's, which an emitter makes nodes of. */
#ifndef LOOM_FRONTEND_TORCH_EMIT_H
#define LOOM_FRONTEND_TORCH_EMIT_H

#include "frontend/base/base.h"
#include "frontend/torch/fx.h"
#include "graph/emit.h"
#include "graph/graph.h"

#define FX_MAX_ARGS 20
#define FX_MAX_RESULTS 128

struct fx_call {
  fx_import *im;
  loom_emitter *b;
  PyObject *target, *node, *meta; /* the op, the node, its FakeTensor(s); borrowed */
  PyObject *args[FX_MAX_ARGS];    /* in the schema's order, defaults filled in; borrowed */
  PyObject *kept[FX_MAX_ARGS];    /* those of them that are owned */
  int count;
  loom_type types[FX_MAX_RESULTS]; /* of the tensor results, as torch declares them */
  bool present[FX_MAX_RESULTS];    /* is this result a tensor? */
  uint32_t result_count;
  loom_value wide[FX_MAX_RESULTS]; /* by result: the value before fx_round() rounded it */
  bool rounded;                    /* operands are read after rounding, not before */
  loom_opcode op;                  /* of the row in aten.def */
  const char *text;                /* of the row: a direction, a kind */
  char why[160];                   /* the reason, once it was declined */
};

/* ---- foreach.c: ops over lists of tensors ---- */

/* False with an exception; `*is_one`: the op was one of foreach.def, its results are in `out`. */
bool fx_foreach(fx_call *c, PyObject *args, PyObject *kwargs, fx_value *out, bool *is_one);

#endif
