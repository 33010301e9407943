/* Tensors from C, ops that torch or the extension runs inside of a plan, reports: what the files of
 * this folder share. */
#ifndef LOOM_FRONTEND_TORCH_TORCH_INTERNAL_H
#define LOOM_FRONTEND_TORCH_TORCH_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/torch/torch.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

/* A strided array of the plan's. */
typedef struct torch_array {
  torch_spec spec;
  void *data;
} torch_array;

#define TORCH_HOST_OTHER                                                                           \
  2 /* the call has to be made by eager torch: results of other sizes than                         \
       declared, wrong data */
#define TORCH_NATIVE_NUMBERS 4
/* 0, TORCH_HOST_OTHER or, with an exception, 1. */
typedef int (*torch_native_fn)(const torch_array *operands, torch_array *results,
                               const int64_t *numbers);

/* ---- tensor.c: tensors from C ---- */

/* Is it a conjugate or negative view, or a tensor of zeros without memory? The memory of such a
 * tensor does not hold its elements. */
bool torch_is_lazy(PyObject *tensor);
PyObject *torch_resolve(PyObject *tensor); /* the elements of such a tensor, in memory of its own */
/* False with an exception: not a strided tensor there. */
bool torch_read(torch_place place, PyObject *tensor, torch_view *out);
/* Has it the dtype and the sizes of `spec`? `*strides`: its strides too, where there are several
 * elements. */
bool torch_matches(const torch_view *t, const torch_spec *spec, bool *strides);
/* torch_empty() and torch_over() of tensors elsewhere; addresses of a device are not to be read. */
PyObject *torch_empty_on(torch_place place, const torch_spec *spec, void **data);
PyObject *torch_over_on(torch_place place, const torch_spec *spec, void *data);
/* The stream on which torch orders its work on a device in this thread. False with an exception. */
bool torch_stream(torch_place place, void **out);
/* One of torch's own shared objects, for dlsym(); NULL: it is not loaded. */
void *torch_library(PyObject *module, const char *name);
/* Is the tensor the whole of its storage: does it begin there, and has the storage so many bytes?
 */
bool torch_is_whole(PyObject *tensor, int64_t bytes);
/* A tensor over another one's memory, `offset` elements behind its begin. Autograd does not know it
 * as a view. */
PyObject *torch_part(PyObject *tensor, const torch_spec *spec, int64_t offset);
/* out = l @ r by torch's own product of matrices, if there is one; false with an exception. */
bool torch_has_product(void);
bool torch_product(const torch_array *l, const torch_array *r, const torch_array *out);

/* ---- host.c: ops that torch runs inside the plan ---- */

typedef struct fx_call fx_call; /* one call of an operation of torch's (emit.h) */

/* Appends a host call for the node; its results. False with an exception. */
bool torch_host_emit(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *out);
/* Appends the call of `run` for these arguments of the op, which have to be tensors. */
bool torch_native_emit(fx_call *c, torch_native_fn run, const int *arguments, int count,
                       const int64_t *numbers, int number_count, loom_value *out);

/* ---- refusals.c: what eager torch refuses because of elements ---- */

/* Does an op raise for some elements of its arguments, and is it to run for that? */
bool host_refuses_elements(const fx_call *c);

/* ---- native.c: ops that the extension computes itself ---- */

/* The object for such an op in a slot of hosts: a function and its numbers. */
PyObject *torch_native_op(torch_native_fn run, const int64_t *numbers, int count);
bool torch_is_native(PyObject *op);
int torch_native_run(PyObject *op, PyObject *specs, PyObject *results, const loom_graph *graph,
                     const loom_host_call *call);

/* ---- native_topk.c: topk ---- */

int torch_topk(const torch_array *operands, torch_array *results, const int64_t *numbers);

/* ---- native_grouped.c: grouped matrix products ---- */

int torch_grouped_rows(const torch_array *in, torch_array *out, const int64_t *numbers);
int torch_grouped_sums(const torch_array *in, torch_array *out, const int64_t *numbers);
int torch_grouped_gradients(const torch_array *in, torch_array *out, const int64_t *numbers);

/* ---- native_triangular.c: triangular systems of equations ---- */

int torch_triangular(const torch_array *in, torch_array *out, const int64_t *numbers);

/* ---- describe.c: reports and logs of a compiled graph ---- */

typedef struct torch_description {
  const loom_graph *graph;
  const loom_plan *plan; /* NULL: the interpreter */
  const loom_compile_report *report;
  const char *device;                   /* "cuda:0"; NULL: the CPU */
  PyObject *host_reasons, *host_places; /* as in fx_import; borrowed */
  uint32_t ops;
  PyObject *name; /* a str; borrowed */
} torch_description;

PyObject *torch_describe(const torch_description *d); /* a new dict */
void torch_log(const torch_description *d);
PyObject *torch_graph_text(const loom_graph *graph); /* as MLIR */

/* ---- modes.c ---- */

/* Ends autocast in this thread, that of the CPU or of devices. Was it active? */
bool torch_autocast_pause(torch_place place);
void torch_autocast_resume(torch_place place, bool paused);

#endif
