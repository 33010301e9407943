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
  struct fx_value *items; /* MANY; in the import's arena */
  uint32_t count;
  int64_t number;   /* SIZE: maybe symbolic */
  PyObject *object; /* OBJECT: anything else, borrowed from the graph */
  PyObject *meta;   /* TENSOR: the FakeTensor that describes it, borrowed from the graph */
} fx_value;

/* How one result of the graph is made. */
typedef struct fx_result {
  enum {
    FX_RESULT_OUTPUT,
    FX_RESULT_INPUT,
    FX_RESULT_PART, /* of an input's memory */
    FX_RESULT_VIEW, /* of another result */
    FX_RESULT_SIZE,
    FX_RESULT_OBJECT
  } kind;
  uint32_t number;  /* OUTPUT: of the graph; INPUT, PART: the argument; VIEW: the other result */
  int64_t offset;   /* PART, VIEW: in elements, maybe symbolic; PART: from where the input begins */
  int64_t size;     /* SIZE: the number */
  PyObject *object; /* owned */
  torch_spec spec;  /* OUTPUT: the tensor that is allocated */
  torch_spec view;  /* PART, VIEW: the tensor; OUTPUT that is expanded: with its full sizes */
  bool expanded;
  bool conjugate, negative; /* PART, VIEW: of what it is a view of */
} fx_result;

/* What a placeholder is bound to in a call. */
typedef struct fx_input {
  enum { FX_INPUT_TENSOR, FX_INPUT_SIZE, FX_INPUT_OBJECT } kind;
  uint32_t number; /* TENSOR: of the graph's inputs */
  torch_spec spec; /* TENSOR */
  bool whole;   /* TENSOR: it has to be the whole of its storage, since an op reads the storage */
  int64_t size; /* SIZE: the number, maybe symbolic */
} fx_input;

#define FX_MAX_SYMBOLS LOOM_MAX_SYMBOLS

/* A symbol of torch's: where a call finds its value, and what is known of it. */
typedef struct fx_symbol {
  PyObject *name; /* owned */
  uint32_t place; /* the placeholder that tells it */
  int32_t axis;   /* its size there; -1: the int itself */
  int64_t factor; /* the size or int there is `factor` times the symbol */
  /* `unit` divides the symbol; `hint` is its value in the call that was captured. */
  int64_t min, max, unit, hint;
  bool hinted;
} fx_symbol;

typedef struct fx_symbols {
  fx_symbol rows[FX_MAX_SYMBOLS];
  uint32_t count;
} fx_symbols;

/* A SCALAR input of the graph whose value is a size. */
typedef struct fx_scalar {
  loom_value value; /* while it is imported: pruning renumbers values */
  uint32_t input;
  int64_t number;
} fx_scalar;

typedef struct fx_import {
  loom_graph *graph;
  loom_emitter builder;
  int64_t visible;           /* how many results, from the first on, the caller may write to */
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
  uint32_t ops;           /* call_function nodes with an array result */
  bool checks;            /* some op checks a value, for which eager torch would raise */
} fx_import;

/* ---- fx.c: importing an FX graph ---- */

typedef struct fx_call fx_call; /* one call of an operation of torch's (emit.h) */

/* The whole graph module: inputs in the order of its placeholders, results in that of its output.
 * False with an exception. `results` and `im->inputs` are the caller's to free. */
bool fx_import_module(fx_import *im, PyObject *module, fx_result **results, uint32_t *result_count);
/* What the placeholders of a module are, before anything is imported: malloc'ed; NULL with an
 * exception. */
fx_input *fx_placeholders(PyObject *module, uint32_t *count, fx_symbols *symbols);
void fx_import_fini(fx_import *im);
/* The type of a FakeTensor; false (with an exception or not) when it is of no supported kind. */
bool fx_read_type(fx_import *im, PyObject *meta, loom_type *out);
bool fx_read_spec(fx_import *im, PyObject *meta, torch_spec *out);
fx_value *fx_value_of(fx_import *im, PyObject *node);
/* An operand of a call that is no node: a tensor without memory describes and stands for it. False
 * with an exception. */
bool fx_define_tensor(fx_import *im, PyObject *tensor, loom_value value);
bool fx_is_fake_tensor(PyObject *meta);
/* A tensor as a value of the graph: its data is bound to the plan. LOOM_NO_VALUE with an exception.
 */
loom_value fx_constant(fx_import *im, PyObject *tensor, const loom_type *type);
/* The tensor that fx_constant() has bound to a value, borrowed; NULL for other values. */
PyObject *fx_bound(const fx_import *im, loom_value value);
/* The arguments of a call by its schema; false when declined or with an exception. */
bool fx_bind(fx_call *c, PyObject *args, PyObject *kwargs);
void fx_release(fx_call *c); /* frees what fx_bind() has made */
/* One call: through its emitter or through torch. False with an exception. */
bool fx_emit_call(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *values);

/* ---- fx_size.c: symbolic sizes of torch ---- */

/* The symbols of a module, by what its placeholders tell (`metas`, one for each). */
bool fx_find_symbols(const fx_input *inputs, uint32_t count, PyObject *const *metas,
                     fx_symbols *out);
void fx_symbols_fini(fx_symbols *s);
/* Do these values satisfy what is known of the symbols (range, divisor)? */
bool fx_symbols_fit(const fx_symbols *s, const int64_t *values);
/* Makes the numbers of the graph for torch's symbols in an import. */
bool fx_bind_symbols(fx_import *im);
/* An int or SymInt as a number; as a size of a type. False with an exception. */
bool fx_read_number(fx_import *im, PyObject *number, int64_t *out);
bool fx_read_dim(fx_import *im, PyObject *number, loom_dim *out);
/* The value of a number in the call that was captured. */
int64_t fx_hint(const fx_import *im, int64_t number);
/* Is a size 0 or 1? A symbolic one is neither. */
bool fx_one(int64_t size);
/* A spec for these values of the graph's symbols; false when a size overflows. */
bool fx_spec_at(const loom_graph *graph, const torch_spec *spec, const int64_t *symbols,
                torch_spec *out);
/* The strides of `spec`, written to `out`, as strides of a dense array with permuted axes (an axis
 * of size 1 gets a stride that fits). Where they are no such strides, both become C order. False:
 * that cannot be expressed. */
bool fx_spec_dense(fx_import *im, torch_spec *spec, int64_t *out);
/* The axes by their strides in the captured call, the largest first, equal ones as they come. */
void fx_spec_order(const fx_import *im, const torch_spec *spec, int64_t *out);

/* ---- fx_result.c: results of an FX graph ---- */

/* Where a tensor lies in its storage, in elements: numbers of the graph. */
typedef struct fx_place {
  PyObject *storage; /* an int that identifies it; owned */
  int64_t offset, end, size;
  bool sized; /* is `size` known? It may be made of symbols that no argument tells */
  bool empty;
} fx_place;

bool fx_read_place(fx_import *im, PyObject *meta, const torch_spec *spec, fx_place *out);
/* In a graph without symbols: does a value lie in the memory of `input`, a placeholder? If so,
 * *view is it as a tensor, *offset how many elements behind the input's begin it begins. */
bool fx_part_of(fx_import *im, const fx_value *v, const fx_value *input, torch_spec *view,
                int64_t *offset);
/* The results of an output node, malloc'ed. */
bool fx_output(fx_import *im, PyObject *node, fx_result **results, uint32_t *count);

#endif
