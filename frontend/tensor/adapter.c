/* Live tensors become values: inputs of the graph with a guard on dtype, sizes and strides. One
 * guard compares torch's modes. */
#include "frontend/captured/adapter.h"
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/internal.h"
#include "frontend/tensor/tensor.h"

loom_adapter loom_tensor_adapter;

tensor_state *tensor_state_of(tracer *t) {
  void **slot = trace_state(t, &loom_tensor_adapter);
  tensor_state *state = *slot;
  if (state) return state;
  if (!(state = trace_alloc(t, sizeof *state))) return NULL;
  torch_modes_read(&state->modes);
  state->records = state->modes.records;
  if (!torch_modes_are_plain(&state->modes))
    return trace_break(t, BREAK_TENSOR,
                       "hooks of saved tensors, or a mode or transformation of torch's is active");
  tensor_guard wanted = {.modes = state->modes};
  if (!trace_guard_payload(t, GUARD_CUSTOM, NULL, &loom_tensor_adapter, &wanted, sizeof wanted))
    return NULL;
  state->calls = trace_keep(t, PyList_New(0));
  state->numbers = trace_keep(t, PyList_New(0));
  state->levels = trace_keep(t, PyList_New(0));
  state->autocast = trace_keep(t, tensor_autocast_new());
  if (!state->calls || !state->numbers || !state->levels || !state->autocast)
    return trace_raise_live(t);
  t->capture->adapter = &loom_tensor_adapter;
  *slot = state;
  return state;
}

bool tensor_requires(tracer *t, PyObject *live, const source *s) {
  tensor_guard wanted = {.of_tensor = true, .requires = torch_requires_grad(live)};
  tensor_state *state = tensor_state_of(t);
  if (!state || pointer_map_get(&state->asked, s)) return wanted.requires;
  if (trace_map_set(t, &state->asked, s, live))
    trace_guard_payload(t, GUARD_CUSTOM, s, &loom_tensor_adapter, &wanted, sizeof wanted);
  return wanted.requires;
}

/* Is it a parameter or a buffer of a module, and no argument of the function? */
static bool adapter_is_of_model(PyObject *object, const source *s) {
  if (s->kind == SOURCE_ARG) return false;
  if (tensor_is_parameter_class((PyObject *)Py_TYPE(object))) return true;
  const source *holder = s->kind == SOURCE_ITEM ? s->base : NULL;
  return holder && holder->kind == SOURCE_ATTR && PyUnicode_Check(holder->key) &&
         !PyUnicode_CompareWithASCIIString(holder->key, "_buffers");
}

static value *adapter_tensor(tracer *t, PyObject *object, const source *s) {
  numpy_array_payload p;
  if (!tensor_state_of(t)) return NULL;
  if (!s) return trace_break(t, BREAK_TENSOR, "a tensor that a call at capture has made");
  if (!tensor_describe(object, &p))
    return trace_break(t, BREAK_UNSUPPORTED_DTYPE,
                       "a tensor that is not strided, not on the CPU, misaligned, or of a dtype "
                       "that is not compiled");
  if (p.flags & NUMPY_INFERENCE && !tensor_state_of(t)->modes.inference)
    return trace_break(t, BREAK_TENSOR, "a tensor of inference mode outside of it");
  loom_type type;
  int64_t elements[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  if (adapter_is_of_model(object, s) && !size_hold(t, s, p.nd)) return NULL;
  if (!size_apply_marks(t, object, s) || !np_sizes_read(t, s, &p, &type, strides)) return NULL;
  for (int i = 0; i < p.nd; i++)
    elements[i] = np_in_elements(t, strides[i], p.dtype);
  if (!trace_guard_payload(t, GUARD_ARRAY, s, &loom_tensor_adapter, &p, sizeof p)) return NULL;
  value *v = tensor_new(t, trace_input(t, LOOM_INPUT_ARRAY, &type, elements, s, NULL), strides);
  if (!v) return NULL;
  np_layout_of(v)->storage->source = s;
  np_layout_of(v)->storage->live = object;
  v->source = s;
  return v;
}

static value *adapter_wrap(tracer *t, PyObject *object, const source *s) {
  if (!tensor_ready()) return NULL;
  if (torch_is_exact(object))
    return trace_keep(t, Py_NewRef(object)) ? adapter_tensor(t, object, s) : NULL;
  if (torch_is_tensor(object))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a tensor of type %.100s",
                       Py_TYPE(object)->tp_name);
  return NULL;
}

static bool adapter_names(const tracer *t, const char *name) {
  PyObject *names = t->outer.frame->code->object->co_names;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name)) return true;
  return false;
}

/* Results of a part of a function have no edges between them in autograd's graph. So a function
 * that asks for gradients of tensors that it makes itself, or hooks them, is not left behind such.
 */
static bool adapter_may_be_left(tracer *t, const tensor_state *state) {
  if (!t->outer.stopped || !state->records || !PyList_GET_SIZE(state->calls)) return true;
  if (!adapter_names(t, "register_hook") && !adapter_names(t, "retain_grad") &&
      !(adapter_names(t, "autograd") && adapter_names(t, "grad")))
    return true;
  trace_break(t, BREAK_TENSOR, "a break in a function that asks for gradients of what it makes");
  return false;
}

/* A part of a function ends only where gradients are recorded, and autocast is, as they were at its
 * begin. */
static bool adapter_finish(tracer *t) {
  const tensor_state *state = *trace_state(t, &loom_tensor_adapter);
  if (!state) return true;
  if (!adapter_may_be_left(t, state)) return false;
  if (PyList_GET_SIZE(state->levels))
    return trace_break(t, BREAK_TENSOR, "a part of a function ends inside of vmap") != NULL;
  bool cast = tensor_autocast_is_as_before(state);
  if (cast && state->records == state->modes.records) return tensor_gradient_check_writes(t);
  trace_break(t, BREAK_TENSOR, "%s is switched on or off, and stays so",
              cast ? "recording of gradients" : "autocast");
  return false;
}

static bool adapter_immutable(PyObject *object) {
  return tensor_ready() && tensor_is_constant(object);
}

static bool adapter_same_key(PyObject *a, PyObject *b) {
  return tensor_ready() && tensor_is_device(a) && tensor_is_device(b) &&
         PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

bool tensor_init(void) {
  tensor_fill_live(&loom_tensor_adapter);
  loom_tensor_adapter.wrap = adapter_wrap;
  loom_tensor_adapter.finish = adapter_finish;
  loom_tensor_adapter.complete = tensor_gradient_complete;
  loom_tensor_adapter.immutable = adapter_immutable;
  loom_tensor_adapter.same_key = adapter_same_key;
  loom_tensor_adapter.has_row = tensor_has_row;
  loom_tensor_adapter.call = tensor_call_object;
  return loom_adapter_register(&loom_tensor_adapter);
}
