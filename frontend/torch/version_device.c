/* Versions of an FX graph whose tensors lie on a device: the plan is compiled for its architecture,
 * and runs on torch's current stream there, so that it comes behind what torch has ordered before
 * and before what torch orders next. */
#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/compile/placed.h"
#include "frontend/torch/compiled_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"
#include "runtime/device.h"

#include <stdlib.h>
#include <string.h>

bool version_compile_placed(const compiled *c, version *v) {
  loom_error err = {0};
  const char *title = PyUnicode_AsUTF8(c->name);
  char *trace = compile_trace_folder(title);
  loom_compile_options options = {.device = loom_device_architecture(c->device),
                                  .simulated = loom_device_is_simulated(c->device),
                                  .trace_dir = trace,
                                  .fastmath = c->fastmath,
                                  .open_sums = c->gradients,
                                  .tf32 = c->tf32,
                                  .quick = !loom_config.optimize,
                                  .quiet = true};
  bool good;
  error_drop();
  Py_BEGIN_ALLOW_THREADS good =
      loom_compile_plan(&v->graph, &options, title ? title : "a graph",
                        loom_config.cache != 0 && !trace, &v->plan, &v->report, &err) &&
      loom_device_plan_load(c->device, v->plan, &v->placed, &err);
  Py_END_ALLOW_THREADS if (PyErr_Occurred()) good = false; /* raised by a signal handler */
  else if (!good) PyErr_SetString(PyExc_NotImplementedError, err.message);
  free(trace);
  return good && loom_warn_notices();
}

#define PLACED_FEW 64 /* inputs and outputs that need no allocation */

/* What torch's allocator has made for a run: tensors by their addresses; NULL: nothing yet. */
typedef struct placed_memory {
  torch_place place;
  PyObject *tensors;
} placed_memory;

static loom_address placed_allocate(void *context, size_t size) {
  placed_memory *memory = context;
  void *data = NULL;
  torch_spec spec = {.dtype = LOOM_U8, .rank = 1, .sizes = {(int64_t)size}, .strides = {1}};
  PyGILState_STATE state = PyGILState_Ensure();
  if (!memory->tensors) memory->tensors = PyDict_New();
  PyObject *tensor = memory->tensors ? torch_empty_on(memory->place, &spec, &data) : NULL;
  PyObject *address = tensor ? PyLong_FromVoidPtr(data) : NULL;
  bool kept = address && !PyDict_SetItem(memory->tensors, address, tensor);
  Py_XDECREF(address);
  Py_XDECREF(tensor);
  PyGILState_Release(state);
  return kept ? (uintptr_t)data : 0;
}

/* An exception of the run stays. What is not found here goes at the run's end. */
static void placed_release(void *context, loom_address at) {
  placed_memory *memory = context;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *address = PyLong_FromVoidPtr((void *)(uintptr_t)at);
  if (!address || PyDict_DelItem(memory->tensors, address)) error_drop();
  Py_XDECREF(address);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
}

typedef struct placed_lending {
  const loom_call *call;
  loom_address *outputs;
} placed_lending;

static bool placed_lend(void *context, uint32_t output) {
  placed_lending *l = context;
  if (!l->call->lend(l->call->host_context, output)) return false;
  l->outputs[output] = (uint64_t)(uintptr_t)l->call->outputs[output];
  return true;
}

/* In the order of the stream: torch's allocator gives the memory to what is ordered later. */
static void placed_give_up(void *context, uint32_t input) {
  placed_lending *l = context;
  l->call->release(l->call->host_context, input);
}

static bool placed_run(const compiled *c, const version *v, const loom_call *call,
                       loom_address *addresses, uint32_t *status) {
  uint32_t inputs = v->graph.input_count, outputs = v->graph.output_count;
  loom_error err = {0};
  placed_memory memory = {.place = c->place};
  void *stream = NULL;
  if (placed_raise_reported(c->device) || !torch_stream(c->place, &stream)) return false;
  for (uint32_t i = 0; i < inputs; i++)
    addresses[i] = (uint64_t)(uintptr_t)call->inputs[i];
  for (uint32_t i = 0; i < outputs; i++)
    addresses[inputs + i] = (uint64_t)(uintptr_t)call->outputs[i];
  placed_lending lending = {.call = call, .outputs = addresses + inputs};
  loom_device_call placed = {.inputs = addresses,
                             .outputs = addresses + inputs,
                             .scalars = call->scalars,
                             .symbols = call->symbols,
                             .graphs = c->graphs,
                             .defers = !v->checks,
                             .title = PyUnicode_AsUTF8(c->name),
                             .poll = loom_poll_signals,
                             .host = call->host,
                             .host_context = call->host_context,
                             .allocate = placed_allocate,
                             .release = placed_release,
                             .memory_context = &memory,
                             .lend = call->lend ? placed_lend : NULL,
                             .give_up = call->release ? placed_give_up : NULL,
                             .lend_context = &lending};
  bool good;
  Py_BEGIN_ALLOW_THREADS placed.on = loom_device_on(c->device, stream, &err);
  good = placed.on && loom_device_plan_run(v->placed, &placed, status, &err);
  Py_END_ALLOW_THREADS if (!good && !PyErr_Occurred())
      error_raise_own("DeviceError", "%s", err.message);
  Py_XDECREF(memory.tensors);
  return good;
}

bool version_run_placed(const compiled *c, const version *v, const loom_call *call,
                        uint32_t *status) {
  loom_address few[PLACED_FEW];
  size_t count = (size_t)v->graph.input_count + v->graph.output_count;
  loom_address *addresses = count <= PLACED_FEW ? few : malloc(count * sizeof *addresses);
  if (!addresses) return PyErr_NoMemory(), false;
  bool good = placed_run(c, v, call, addresses, status);
  if (addresses != few) free(addresses);
  return good;
}
