/* Ops that functions of the extension compute. The plan calls these functions like ops of torch,
 * but with memory instead of tensors. They are ops that depend on the data too much for a kernel of
 * loops, and whose results have to be those of eager torch.
 *
 * Operands lie as they do in torch where they are dense there (host.c), else in C order. */
#include "frontend/base/base.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <string.h>

#define NATIVE_MAX 8 /* operands and results */

/* What a slot of a graph holds in place of the op. */
typedef struct native_entry {
  torch_native_fn run;
  int64_t numbers[TORCH_NATIVE_NUMBERS];
} native_entry;

bool torch_is_native(PyObject *op) { return PyBytes_CheckExact(op); }

PyObject *torch_native_op(torch_native_fn run, const int64_t *numbers, int count) {
  native_entry entry = {.run = run};
  for (int i = 0; i < count && i < TORCH_NATIVE_NUMBERS; i++)
    entry.numbers[i] = numbers[i];
  return PyBytes_FromStringAndSize((const char *)&entry, sizeof entry);
}

static bool native_spec(torch_array *out, PyObject *spec, void *data, const loom_graph *graph,
                        const int64_t *symbols) {
  torch_spec general;
  memcpy(&general, PyBytes_AS_STRING(spec), sizeof general);
  out->data = data;
  if (fx_spec_at(graph, &general, symbols, &out->spec)) return true;
  PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows");
  return false;
}

int torch_native_run(PyObject *op, PyObject *specs, PyObject *results, const loom_graph *graph,
                     const loom_host_call *call) {
  torch_array arrays[NATIVE_MAX];
  native_entry entry;
  Py_ssize_t in = PyList_GET_SIZE(specs), out = PyList_GET_SIZE(results);
  if (in + out > NATIVE_MAX || call->count != (uint32_t)(in + out)) return 1;
  memcpy(&entry, PyBytes_AS_STRING(op), sizeof entry);
  for (Py_ssize_t i = 0; i < in + out; i++) {
    PyObject *spec = i < in ? PyList_GET_ITEM(specs, i) : PyList_GET_ITEM(results, i - in);
    if (!native_spec(&arrays[i], spec, call->buffers[i], graph, call->symbols)) return 1;
  }
  return entry.run(arrays, arrays + in, entry.numbers);
}
