/* The torch backend: tensors from C, the state of torch's modes, callables for graphs. */
#ifndef LOOM_FRONTEND_TORCH_TORCH_H
#define LOOM_FRONTEND_TORCH_TORCH_H

#include "frontend/base/base.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

/* What a compiled graph expects of a tensor, or makes. Strides are in elements. In an import and in
 * what it gives sizes and strides may be symbolic numbers of the graph (fx_spec_at). */
typedef struct torch_spec {
  loom_dtype dtype;
  int32_t rank;
  int64_t sizes[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
} torch_spec;

/* ---- tensor.c: tensors from C ---- */

/* A strided tensor on the CPU, dense in its bits (no conjugate or negative view): its data, sizes
 * and strides. The arrays live as long as the tensor's metadata. */
typedef struct torch_view {
  void *data;
  int64_t *sizes, *strides;
  int64_t rank;
  int32_t dtype;  /* torch's ScalarType */
  bool inference; /* made in inference mode */
} torch_view;

/* Finds torch's C interface; false with an exception when torch is not imported or too different.
 */
bool torch_init(void);
/* Is it a torch.Tensor or Parameter, not of a subclass? torch_is_tensor(): of any class. False
 * before torch_init(). */
bool torch_is_exact(const PyObject *object);
bool torch_is_tensor(PyObject *object);
PyTypeObject *torch_tensor_type(void); /* torch.Tensor; borrowed */
/* Reads an exact, strided tensor on the CPU that autograd may follow, as almost all are. False,
 * without an exception: it is another one. */
bool torch_look(PyObject *tensor, torch_view *out);
bool torch_requires_grad(PyObject *tensor); /* of an exact one */
int torch_threads(void); /* the most that kernels on tensors use: torch's number and the setting */
/* How often each tensor of a tuple has been written, as autograd counts it: bytes, four for each.
 * METH_O. */
PyObject *torch_py_write_counts(PyObject *module, PyObject *tensors);
/* Tells autograd that an exact tensor is written. False: this torch's counter was not found. */
bool torch_count_write(PyObject *tensor);
bool torch_offset(PyObject *tensor, int64_t *out);      /* of its first element in its storage */
bool torch_dtype(int32_t scalar_type, loom_dtype *out); /* false: none of ours */
/* A new tensor on the CPU from torch's own allocator; its data. NULL with an exception. */
PyObject *torch_empty(const torch_spec *spec, void **data);
/* A tensor over memory that the caller keeps alive. */
PyObject *torch_over(const torch_spec *spec, void *data);
int32_t torch_scalar_type(loom_dtype dtype);

/* Where tensors lie: the CPU, or 1 + the number of a device that torch calls "cuda" (AMD's GPUs,
 * too). */
typedef int32_t torch_place;
#define TORCH_CPU 0

/* ---- modes.c: the state of the thread that changes what torch's functions do ---- */

typedef struct torch_modes {
  uint64_t included, excluded; /* dispatch keys of this thread: autocast, modes, torch.func */
  int64_t function_modes;      /* that are active */
  int8_t dtype;                /* the default one */
  int8_t cast_dtype;           /* of autocast on the CPU, whether or not it is active */
  bool records;                /* gradients are recorded */
  bool inference;              /* nothing is recorded, and writes are not counted */
  bool hooks;                  /* torch.autograd.graph.saved_tensors_hooks(), or a checkpoint */
  bool casts;                  /* autocast on the CPU */
  bool keeps_casts;            /* it keeps casts of leaves */
  bool dual;                   /* tensors may have tangents: torch.autograd.forward_ad */
  bool anomaly, checks_nan;    /* torch.autograd.set_detect_anomaly(): is it on, does it check */
  uint32_t switches;           /* of the process: a bit for each row of switches.def */
} torch_modes;

bool torch_modes_init(void); /* false with an exception: they cannot be read in this torch */
void torch_modes_read(torch_modes *out);
/* Has nothing been changed but the default dtype, whether gradients are recorded, inference mode,
 * and autocast on the CPU? */
bool torch_modes_are_plain(const torch_modes *m);
bool torch_modes_equal(const torch_modes *a, const torch_modes *b);

/* ---- host_run.c: ops that torch runs inside the plan ---- */

/* Makes a host call of a plan: 0, TORCH_HOST_OTHER (torch_internal.h) or, with an exception, 1. */
int torch_host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call,
                   torch_place place);

/* ---- compiled.c: the callable for one FX graph ---- */

/* (graph module, options dict) -> callable with one list of inputs. METH_VARARGS. */
PyObject *torch_py_init(PyObject *module, PyObject *unused);
PyObject *torch_py_compile(PyObject *module, PyObject *args);
bool torch_compiled_init(PyObject *module);

/* ---- program.c: a graph that is no FX graph ---- */

/* A callable for a graph of tensors, which it takes over: its arguments are the inputs that are
 * neither constants nor numbers. `constants`: a list of tensors; `numbers`: what the SCALAR inputs
 * are, in their order; `hosts`: by slot, what its host calls run; `eager`: what is called in its
 * place where it cannot run. The values of the graph's symbols, as ints, are arguments behind the
 * tensors. A new object. */
PyObject *torch_program_new(loom_graph *graph, PyObject *name, PyObject *constants,
                            const int64_t *numbers, PyObject *hosts, PyObject *eager);

/* ---- aten.c: the table of operations ---- */

PyObject *torch_py_has_row(PyObject *module, PyObject *name);

#endif
