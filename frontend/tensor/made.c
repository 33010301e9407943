/* What Python makes of tensors: torch.nn.Parameter(), copy.copy() and copy.deepcopy(); bools of
 * torch.equal() and torch.allclose(). */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* Of torch, the class; of _tensor_made.py, functions that capture calls instead. */
static struct {
  PyObject *parameter, *shared, *copied, *decisions;
} made_python;

bool tensor_made_init(void) {
  static const tensor_name classes[] = {{"Parameter", &made_python.parameter}};
  static const tensor_name names[] = {{"shared", &made_python.shared},
                                      {"copied", &made_python.copied},
                                      {"DECISIONS", &made_python.decisions}};
  return tensor_import("torch.nn", classes, 1) &&
         tensor_import("frameloom._tensor_made", names, sizeof names / sizeof *names);
}

/* ---- parameters ---- */

bool tensor_is_parameter_class(const PyObject *callee) { return callee == made_python.parameter; }

PyTypeObject *tensor_made_type(tracer *t, const value *v) {
  const tensor_state *state = tensor_state_of(t);
  bool parameter = state && pointer_map_get(&state->parameters, np_layout_of(v));
  return parameter ? (PyTypeObject *)made_python.parameter : torch_tensor_type();
}

/* Parameter(data, requires_grad=True): a leaf with the memory of `data`. */
value *tensor_parameter(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames) {
  tensor_state *state = tensor_state_of(t);
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  value *given[2] = {NULL, NULL};
  if (!state) return NULL;
  for (Py_ssize_t i = 0; i < count && i < 2; i++)
    given[i] = args[i];
  bool fits = count <= 2;
  for (Py_ssize_t i = 0; i < named; i++) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i);
    bool data = !PyUnicode_CompareWithASCIIString(name, "data");
    fits &= (data || !PyUnicode_CompareWithASCIIString(name, "requires_grad")) && !given[!data];
    given[!data] = args[count + i];
  }
  bool requires = !given[1] || given[1]->object == Py_True;
  if (!fits || !tensor_is(given[0]) || (!requires && given[1]->object != Py_False))
    return trace_break(t, BREAK_TENSOR, "such a call of torch.nn.Parameter()");
  value *made = tensor_call(t, made_python.shared, given, 1);
  if (!made || (requires && !tensor_make_leaf(t, made))) return NULL;
  return trace_map_set(t, &state->parameters, np_layout_of(made), made) ? made : NULL;
}

/* ---- copies ---- */

value *tensor_copy(tracer *t, value *v, struct copy_memo *memo) {
  PyObject *live = tensor_live(v), *meta = tensor_meta(t, v);
  if (!meta) return NULL;
  if (tensor_is_recorded(meta) || (live && tensor_requires(t, live, v->source)))
    return trace_break(t, BREAK_TENSOR, "a copy of a tensor that requires a gradient");
  if (value_type_of(t, v) != (PyObject *)torch_tensor_type())
    return trace_break(t, BREAK_TENSOR, "a copy of a parameter");
  if (live && v->source && !object_beside_none(t, live, v->source))
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_TENSOR, "a copy of a tensor with attributes");
  return tensor_call(t, memo ? made_python.copied : made_python.shared, &v, 1);
}

/* ---- decisions ---- */

PyObject *tensor_decision(PyObject *function) {
  PyObject *found = PyDict_GetItemWithError(made_python.decisions, function);
  if (!found) error_drop(); /* not hashable */
  return found;
}

value *tensor_decided(tracer *t, value *v) {
  if (tensor_is_batched(v))
    return trace_break(t, BREAK_DATA_DEPENDENT, "a bool of tensors inside of vmap");
  if (!tensor_is(v)) return v;
  PyObject *known = tensor_elements(t, v);
  int truth = known ? PyObject_IsTrue(known) : -1;
  if (truth >= 0 || trace_pending(t)) return truth >= 0 ? value_bool(t, truth) : NULL;
  return np_python_number(t, np_read(t, np_layout_of(v)));
}
