/* The torch adapter. */
#ifndef LOOM_FRONTEND_TORCH_TORCH_H
#define LOOM_FRONTEND_TORCH_TORCH_H

#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

/* What a compiled graph expects of a tensor, or makes. Strides are in elements. In an import and in
 * what it gives sizes and strides may be symbolic numbers of the graph (fx_spec_at). */
typedef struct torch_spec {
  loom_dtype dtype;
  int32_t rank;
  int64_t sizes[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
} torch_spec;

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

/* A strided tensor on the CPU, dense in its bits (no conjugate or negative view): its data, sizes
 * and strides. The arrays live as long as the tensor's metadata. */
typedef struct torch_view {
  void *data;
  int64_t *sizes, *strides;
  int64_t rank;
  int32_t dtype; /* torch's ScalarType */
} torch_view;

/* Finds torch's C interface; false with an exception when torch is not imported or too different.
 */
bool torch_init(void);
/* Is it a conjugate or negative view, or a tensor of zeros without memory? The memory of such a
 * tensor does not hold its elements. */
bool torch_is_lazy(PyObject *tensor);
PyObject *torch_resolve(PyObject *tensor); /* the elements of such a tensor, in memory of its own */
bool torch_read(PyObject *tensor, torch_view *out); /* false with an exception: not such a tensor */
/* One of torch's own shared objects, for dlsym(); NULL: it is not loaded. */
void *torch_library(PyObject *module, const char *name);
/* Is it a torch.Tensor or Parameter, not of a subclass? torch_is_tensor(): of any class. False
 * before torch_init(). */
bool torch_is_exact(const PyObject *object);
bool torch_is_tensor(PyObject *object);
PyTypeObject *torch_tensor_type(void); /* torch.Tensor; borrowed */
/* Reads an exact, strided tensor on the CPU that autograd may follow, as almost all are. False,
 * without an exception: it is another one. */
bool torch_look(PyObject *tensor, torch_view *out);
bool torch_requires_grad(PyObject *tensor); /* of an exact one */
/* How often each tensor of a tuple has been written, as autograd counts it: bytes, four for each.
 * METH_O. */
PyObject *torch_py_write_counts(PyObject *module, PyObject *tensors);
/* Tells autograd that an exact tensor is written. False: this torch's counter was not found. */
bool torch_count_write(PyObject *tensor);
bool torch_offset(PyObject *tensor, int64_t *out);      /* of its first element in its storage */
bool torch_dtype(int32_t scalar_type, loom_dtype *out); /* false: none of ours */
/* Is the tensor the whole of its storage: does it begin there, and has the storage so many bytes?
 */
bool torch_is_whole(PyObject *tensor, int64_t bytes);
/* A new tensor from torch's own allocator; its data. NULL with an exception. */
PyObject *torch_empty(const torch_spec *spec, void **data);
/* A tensor over another one's memory, `offset` elements behind its begin. Autograd does not know it
 * as a view. */
PyObject *torch_part(PyObject *tensor, const torch_spec *spec, int64_t offset);
/* A tensor over memory that the caller keeps alive. */
PyObject *torch_over(const torch_spec *spec, void *data);
int32_t torch_scalar_type(loom_dtype dtype);
/* out = l @ r by torch's own product of matrices, if there is one; false with an exception. */
bool torch_has_product(void);
bool torch_product(const torch_array *l, const torch_array *r, const torch_array *out);

/* ---- modes.c: the state of the thread that changes what torch's functions do ---- */

typedef struct torch_modes {
  uint64_t included, excluded; /* dispatch keys of this thread: autocast, modes, torch.func */
  int64_t function_modes;      /* that are active */
  int8_t dtype;                /* the default one */
  bool records;                /* gradients are recorded */
} torch_modes;

bool torch_modes_init(void); /* false with an exception: this torch does not tell them */
void torch_modes_read(torch_modes *out);
/* Has nothing been changed but the default dtype and whether gradients are recorded? */
bool torch_modes_are_plain(const torch_modes *m);
bool torch_modes_equal(const torch_modes *a, const torch_modes *b);

/* ---- host.c: ops that torch runs inside the plan ---- */

typedef struct fx_call fx_call; /* one call of an operation of torch's (emit.h) */

/* Appends a host call for the node; its results. False with an exception. */
bool torch_host_emit(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *out);
int torch_host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call);
/* Appends the call of `run` for these arguments of the op, which have to be tensors. */
bool torch_native_emit(fx_call *c, torch_native_fn run, const int *arguments, int count,
                       const int64_t *numbers, int number_count, loom_value *out);

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
  PyObject *host_reasons, *host_places; /* as in fx_import; borrowed */
  uint32_t ops;
  PyObject *name; /* a str; borrowed */
} torch_description;

PyObject *torch_describe(const torch_description *d); /* a new dict */
void torch_log(const torch_description *d);
PyObject *torch_graph_text(const loom_graph *graph); /* as MLIR */

/* ---- compiled.c: the callable for one FX graph ---- */

/* (graph module, options dict) -> callable with one list of inputs. METH_VARARGS. */
PyObject *torch_py_init(PyObject *module, PyObject *unused);
PyObject *torch_py_compile(PyObject *module, PyObject *args);
bool torch_compiled_init(PyObject *module);

/* ---- program.c: a graph that is no FX graph ---- */

/* A callable for a graph of tensors of known sizes, which it takes over: its arguments are the
 * inputs that are no constants. `constants`: a list of tensors, the others; `hosts`: by slot, what
 * its host calls run; `eager`: what is called in its place where it cannot run. A new object. */
PyObject *torch_program_new(loom_graph *graph, PyObject *name, PyObject *constants, PyObject *hosts,
                            PyObject *eager);

/* ---- aten.c: the table of operations ---- */

PyObject *torch_py_has_row(PyObject *module, PyObject *name);

#endif
