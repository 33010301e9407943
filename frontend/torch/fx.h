/* FX graphs: what an import sees of one. */
#ifndef LOOM_FRONTEND_TORCH_FX_H
#define LOOM_FRONTEND_TORCH_FX_H

#include "frontend/base/base.h"
#include "frontend/torch/torch.h"
#include "graph/emit.h"
#include "graph/graph.h"

typedef struct fx_value {
  enum { FX_NOTHING, FX_TENSOR, FX_MANY, FX_SIZE, FX_REAL, FX_OBJECT } kind;
  loom_value value;       /* TENSOR; REAL: a symbolic float, float64 of rank 0 */
  loom_value wide;        /* TENSOR of halves: its float32 value before it was rounded; or none */
  int32_t placeholder;    /* TENSOR: which one it is, or -1 */
  bool tangent;           /* TENSOR: the gradient of a result, of a backward graph */
  struct fx_value *items; /* MANY; in the import's arena */
  uint32_t count;
  int64_t number;   /* SIZE: maybe symbolic */
  PyObject *object; /* OBJECT: anything else, borrowed from the graph */
  PyObject *meta;   /* TENSOR: the FakeTensor that describes it, borrowed from the graph */
  uint64_t storage; /* TENSOR: which storage it has; 0: not asked yet */
} fx_value;

#define FX_MAX_SYMBOLS LOOM_MAX_SYMBOLS

/* Parts of an import that only its own files read (fx_internal.h). */
typedef struct fx_input fx_input;
typedef struct fx_symbols fx_symbols;
typedef struct fx_scalar fx_scalar;

typedef struct fx_import {
  loom_graph *graph;
  loom_emitter builder;
  int64_t visible;           /* how many results, from the first on, the caller may write to */
  torch_place place;         /* of the graph's tensors */
  PyObject *own;             /* a set: numbers of results that are returned without a copy */
  PyObject *frozen;          /* dict: number of a placeholder -> the tensor that is bound to it */
  const fx_symbols *symbols; /* of the module */
  const int64_t *values_of_symbols; /* their values, or NULL: they become symbols of the graph */
  PyObject *sizes;                  /* dict: name of a symbol of torch's -> the number that it is */
  int64_t hints[FX_MAX_SYMBOLS];    /* of the graph's symbols */
  fx_scalar *scalars;               /* in the order of the graph's SCALAR inputs; malloc'ed */
  uint32_t scalar_count;
  fx_input *inputs; /* by placeholder; malloc'ed */
  uint32_t input_count;
  PyObject *index;  /* dict: node -> number in `values` */
  fx_value *values; /* malloc'ed */
  uint32_t value_count, value_capacity;
  PyObject *module;       /* borrowed */
  PyObject *constants;    /* list of tensors: data of the CONST inputs, in their order */
  PyObject *hosts;        /* list, by slot: see host.c */
  PyObject *host_reasons; /* list of (op, reason) */
  PyObject *host_places;  /* for each: "file:line" of the model, or "" */
  /* Of imports of single calls, where sizes are symbols of a capture; or NULL: what a symbolic int
   * is, and a number as an int64 without axes. */
  bool (*number_of)(PyObject *object, int64_t *out);
  loom_value (*number_data)(void *user, int64_t number);
  void *user;
  uint32_t ops;        /* call_function nodes with an array result */
  bool keeps_refusals; /* an op runs for what it refuses, even if nothing reads its result */
  bool checks;         /* some op checks a value, for which eager torch would raise */
} fx_import;

/* ---- fx.c: importing an FX graph ---- */

void fx_import_fini(fx_import *im);
bool fx_read_spec(fx_import *im, PyObject *meta, torch_spec *out);
/* The same of a symbolic int: an object that has a hash. */
bool fx_define_number(fx_import *im, PyObject *object, int64_t number);
/* An operand of a call that is no node: a tensor without memory describes and stands for it. False
 * with an exception. */
bool fx_define_tensor(fx_import *im, PyObject *tensor, loom_value value);

/* ---- fx_call.c: one call of an operation ---- */

typedef struct fx_call fx_call; /* emit.h */

/* One call: through its emitter or through torch. False with an exception. */
bool fx_emit_call(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *values);

#endif
