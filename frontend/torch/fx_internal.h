/* Of imports of FX graphs: what the files of this folder share. */
#ifndef LOOM_FRONTEND_TORCH_FX_INTERNAL_H
#define LOOM_FRONTEND_TORCH_FX_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/torch.h"
#include "graph/graph.h"

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
  bool host;                /* OUTPUT: a copy on the CPU, of a graph of a device */
  bool conjugate, negative; /* PART, VIEW: of what it is a view of */
} fx_result;

/* What a placeholder is bound to in a call. */
struct fx_input {
  enum { FX_INPUT_TENSOR, FX_INPUT_SIZE, FX_INPUT_OBJECT } kind;
  uint32_t number; /* TENSOR: of the graph's inputs */
  torch_spec spec; /* TENSOR */
  bool whole;   /* TENSOR: it has to be the whole of its storage, since an op reads the storage */
  bool host;    /* TENSOR: on the CPU, without axes, in a graph of a device */
  int64_t size; /* SIZE: the number, maybe symbolic */
};

/* A symbol of torch's: where a call finds its value, and what is known of it. */
typedef struct fx_symbol {
  PyObject *name; /* owned */
  uint32_t place; /* the placeholder that it is read from */
  int32_t axis;   /* its size there; -1: the int itself */
  int64_t factor; /* the size or int there is `factor` times the symbol */
  /* `unit` divides the symbol; `hint` is its value in the call that was captured. */
  int64_t min, max, unit, hint;
  bool hinted;
} fx_symbol;

struct fx_symbols {
  fx_symbol rows[FX_MAX_SYMBOLS];
  uint32_t count;
};

/* A SCALAR input of the graph whose value is a size. */
struct fx_scalar {
  loom_value value; /* while it is imported: pruning renumbers values */
  uint32_t input;
  int64_t number;
};

/* ---- fx.c: importing an FX graph ---- */

/* The whole graph module: inputs in the order of its placeholders, results in that of its output.
 * False with an exception. `results` and `im->inputs` are the caller's to free. */
bool fx_import_module(fx_import *im, PyObject *module, fx_result **results, uint32_t *result_count);
/* What the placeholders of a module are, before anything is imported: malloc'ed; NULL with an
 * exception. */
fx_input *fx_placeholders(PyObject *module, uint32_t *count, fx_symbols *symbols);
/* The type of a FakeTensor; false (with an exception or not) when it is of no supported kind. */
bool fx_read_type(fx_import *im, PyObject *meta, loom_type *out);
fx_value *fx_value_of(fx_import *im, PyObject *node);
bool fx_is_fake_tensor(PyObject *meta);
bool fx_is_on_host(PyObject *meta); /* is a tensor on the CPU? */
/* A tensor as a value of the graph: its data is bound to the plan. LOOM_NO_VALUE with an exception.
 */
loom_value fx_constant(fx_import *im, PyObject *tensor, const loom_type *type);
/* The tensor that fx_constant() has bound to a value, borrowed; NULL for other values. */
PyObject *fx_bound(const fx_import *im, loom_value value);

/* ---- fx_call.c: one call of an operation ---- */

/* The arguments of a call by its schema; false when declined or with an exception. */
bool fx_bind(fx_call *c, PyObject *args, PyObject *kwargs);
void fx_release(fx_call *c); /* frees what fx_bind() has made */
/* The types that torch declares for the results; false when declined. */
bool fx_declared(fx_call *c);

/* ---- fx_size.c: symbolic sizes of torch ---- */

/* Finds the symbols of a module in the types of its placeholders (`metas`, one for each). */
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
  int64_t offset, end, size;
  bool sized; /* is `size` known? It may depend on symbols that no argument has */
  bool empty;
} fx_place;

/* Have two tensors one storage? Each is asked for it once: results are compared with all inputs. -1
 * with an exception. */
int fx_share(fx_value *a, fx_value *b);
bool fx_read_place(fx_import *im, PyObject *meta, const torch_spec *spec, fx_place *out);
/* In a graph without symbols: does a value lie in the memory of `input`, a placeholder? If so,
 * *view is it as a tensor, *offset how many elements behind the input's begin it begins. */
bool fx_part_of(fx_import *im, fx_value *v, fx_value *input, torch_spec *view, int64_t *offset);
/* The results of an output node, malloc'ed. */
bool fx_output(fx_import *im, PyObject *node, fx_result **results, uint32_t *count);

#endif
