/* Ops that torch runs inside the plan: what is made of them at import (host.c), and what the plan
 * reads when it runs (host_run.c). */
#ifndef LOOM_FRONTEND_TORCH_HOST_INTERNAL_H
#define LOOM_FRONTEND_TORCH_HOST_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/torch/torch.h"

/* What stands for a tensor among the arguments. Borrowed. */
PyObject *host_hole(void);

/* Lists and tuples made again, with `leaf` for what lies in them. A new reference. */
typedef PyObject *(*host_leaf)(void *user, PyObject *o);
PyObject *host_map(PyObject *o, host_leaf leaf, void *user);

/* An operand that is a part of a buffer: where it lies in that, in elements. */
typedef struct host_part {
  torch_spec spec;
  int64_t offset;
} host_part;

#endif
