/* The callable for one FX graph, and its versions. */
#ifndef LOOM_FRONTEND_TORCH_COMPILED_INTERNAL_H
#define LOOM_FRONTEND_TORCH_COMPILED_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch_internal.h"
#include "graph/graph.h"
#include "runtime/device.h"

/* One compiled version: immutable once made. */
typedef struct version {
  struct version *next;
  uint32_t refs;
  bool general;         /* for all sizes: its graph has symbols */
  void **constant_data; /* of the CONST inputs, by input */
  int64_t *sizes;       /* the values of torch's symbols, in order; NULL: general */
  loom_graph graph;
  loom_plan *plan;          /* NULL: the interpreter */
  loom_device_plan *placed; /* the plan on a device; NULL: on the CPU */
  fx_input *inputs;
  fx_result *results;
  fx_scalar *scalars; /* sizes that are data */
  uint32_t scalar_count, result_count, ops;
  bool release_gil;
  bool checks;           /* a failed check of a value has the call run again in eager torch */
  bool lends;            /* some tensors are made and dropped during a run, as the next two fields
                            say */
  uint32_t *made_by;     /* by output: 1 + the number of its result, set when it is first written */
  uint32_t *placeholder; /* by input: 1 + the argument, dropped when it has been read */
  PyObject *constants, *hosts, *host_reasons, *host_places;
  loom_compile_report report;
} version;

typedef struct compiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *module; /* the FX graph module */
  PyObject *name;   /* of the graph, for people: a str */
  PyObject *own;    /* a set: numbers of results that are handed on as they are */
  PyObject *frozen; /* dict: number of an argument -> the tensor that it is taken to be */
  fx_input *inputs; /* kinds */
  fx_symbols symbols;
  uint32_t input_count;
  bool interpret, fastmath, gradients, tf32;
  bool graphs;     /* on a device: launches as graphs of the driver */
  bool is_program; /* made of a graph of ours: there is one version (program.c) */
  long long visible;
  char cpu[16];
  torch_place place;
  loom_device *device;  /* of the place; NULL: the CPU */
  version *pending;     /* not compiled before it is called; or NULL */
  version *general;     /* or NULL */
  version *versions;    /* for known sizes, last used first */
  uint32_t known;       /* how many of these have been made */
  bool no_general;      /* no general plan: making one has failed */
  bool per_size;        /* plans for given sizes are better than the general one */
  PyObject *why_static; /* why there is no general version, or why versions for given sizes are
                           better; or NULL */
  PyObject *weak;
  PyObject *dict; /* attributes: AOTAutograd's wrappers copy them */
} compiled;

/* ---- compiled.c: the callable ---- */

compiled *compiled_new(void); /* without anything; NULL with an exception */

/* ---- version.c: how a version is made ---- */

/* The graph for these values of torch's symbols; NULL: for all of them. NULL with an exception. */
version *version_new(const compiled *c, const int64_t *sizes);
/* Compiles it; takes `v` over (NULL: an exception is set already). */
version *version_finish(const compiled *c, version *v);
void version_unref(version *v);
/* Has running the graph neither results nor effects? */
bool version_is_idle(const version *v);
torch_description version_description(const compiled *c, const version *v);

/* ---- version_run.c: a call of a version ---- */

/* NULL without an exception: the call is another one than the version was made for. */
PyObject *version_run(const compiled *c, version *v, PyObject *const *args, PyObject *boxed,
                      const int64_t *symbols);

/* ---- version_device.c: versions whose tensors lie on a device ---- */

/* Compiles the graph of a version for the device, and loads the plan there. */
bool version_compile_placed(const compiled *c, version *v);
/* A run on torch's current stream: its status in *status. False with an exception. */
bool version_run_placed(const compiled *c, const version *v, const loom_call *call,
                        uint32_t *status);

#endif
