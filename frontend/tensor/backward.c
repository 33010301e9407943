/* backward() inside of a captured function, and the gradients that tensors from before the call
 * keep.
 *
 * Autograd computes the gradients on the tensors without memory, and capture notes the operations,
 * as at the end of a capture (gradient.c). Here the operations become nodes at once. The gradient
 * of a leaf becomes its attribute `grad`, or is added to the tensor in `grad`. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

/* Of _tensor_gradients.py: `backward`, the functions of torch's that it stands for, and others of
 * torch's. */
static struct {
  PyObject *backward, *of_tensor, *of_all, *clone, *gradient, *require;
} backward_python;

static PyObject *backward_grad, *backward_history; /* "grad", "grad_fn" */

/* The gradient, and what is None where autograd does nothing else with it. */
#define BACKWARD_MEMBERS 4
static const PyGetSetDef *backward_members[BACKWARD_MEMBERS];

static bool backward_find_members(void) {
  static const char *const names[BACKWARD_MEMBERS] = {"grad", "grad_fn", "_backward_hooks",
                                                      "_post_accumulate_grad_hooks"};
  for (int i = 0; i < BACKWARD_MEMBERS; i++) {
    PyObject *name = PyUnicode_InternFromString(names[i]);
    PyObject *member = name ? _PyType_Lookup(torch_tensor_type(), name) : NULL;
    Py_XDECREF(name);
    if (!member || !Py_IS_TYPE(member, &PyGetSetDescr_Type)) return false;
    backward_members[i] = ((PyGetSetDescrObject *)member)->d_getset;
  }
  return true;
}

bool tensor_backward_init(void) {
  static const tensor_name names[] = {
      {"backward", &backward_python.backward}, {"OF_TENSOR", &backward_python.of_tensor},
      {"OF_ALL", &backward_python.of_all},     {"CLONE", &backward_python.clone},
      {"GRADIENT", &backward_python.gradient}, {"REQUIRE", &backward_python.require}};
  backward_grad = PyUnicode_InternFromString("grad");
  backward_history = PyUnicode_InternFromString("grad_fn");
  return backward_grad && backward_history &&
         tensor_import("frameloom._tensor_gradients", names, sizeof names / sizeof *names) &&
         backward_find_members();
}

bool tensor_is_backward(const PyObject *function) {
  return function == backward_python.of_tensor || function == backward_python.of_all;
}

/* ---- leaves that the function makes ---------------------------------------------------------- */

bool tensor_is_gradient(const PyObject *function) { return function == backward_python.gradient; }

bool tensor_is_leaf_maker(const PyObject *function) { return function == backward_python.require; }

bool tensor_is_made_leaf(const tensor_state *state, const value *v) {
  const np_array *a = np_layout_of(v);
  for (uint32_t i = 0; i < state->made_count; i++) {
    const np_array *leaf = np_layout_of(state->made[i]);
    if (leaf == a || (leaf->kind == VIEW_ROOT && leaf->storage == a->storage)) return true;
  }
  return false;
}

value *tensor_make_leaf(tracer *t, value *v) {
  tensor_state *state = tensor_state_of(t);
  PyObject *live = tensor_live(v), *meta = state ? tensor_meta(t, v) : NULL;
  if (!meta) return NULL;
  if (live && tensor_requires(t, live, np_layout_of(v)->storage->source)) return v;
  if (live)
    return trace_break(t, BREAK_TENSOR, "a tensor from before the call is to require a gradient");
  if (tensor_is_recorded(meta)) return v;
  PyObject *done = PyObject_CallMethod(meta, "requires_grad_", NULL);
  if (!done) return tensor_call_failed(t, backward_python.require);
  Py_DECREF(done);
  state->made = trace_more(t, state->made, state->made_count, &state->made_room, sizeof v);
  if (!state->made) return trace_fail(t);
  state->made[state->made_count++] = v;
  return v;
}

/* Exactly such a leaf, no view of it. */
static bool backward_is_made(const tensor_state *state, const value *v) {
  for (uint32_t i = 0; i < state->made_count; i++)
    if (np_layout_of(state->made[i]) == np_layout_of(v)) return true;
  return false;
}

/* ---- the attribute `grad` ---------------------------------------------------------------------
 */

/* What torch's own code in C reads, without a search through the classes: guards ask each time. */
static PyObject *backward_read(PyObject *object, const PyGetSetDef *member) {
  PyObject *item = member->get(object, member->closure);
  if (!item) error_drop();
  return item;
}

static bool backward_is_none(PyObject *object, const PyGetSetDef *member) {
  PyObject *item = backward_read(object, member);
  Py_XDECREF(item);
  return item == Py_None;
}

/* A SOURCE_DERIVED `grad` of a tensor: nothing where autograd has a history of it, or calls
 * functions of the user's with its gradient. A derived `grad_fn`: None, or nothing where there is
 * such a history. */
PyObject *tensor_derived(PyObject *base, PyObject *key) {
  if (!torch_is_exact(base)) return NULL;
  if (key == backward_history)
    return backward_is_none(base, backward_members[1]) ? Py_NewRef(Py_None) : NULL;
  if (key != backward_grad) return NULL;
  for (int i = 1; i < BACKWARD_MEMBERS; i++)
    if (!backward_is_none(base, backward_members[i])) return NULL;
  return backward_read(base, backward_members[0]);
}

static value *backward_grad_of_live(tracer *t, value *v, PyObject *live) {
  const overlay_slot *changed = overlay_find(overlay_of(t, live, true), backward_grad);
  if (changed) return changed->item;
  const source *s =
      trace_source(t, SOURCE_DERIVED, np_layout_of(v)->storage->source, NULL, backward_grad, 0);
  PyObject *grad = trace_keep(t, tensor_derived(live, backward_grad));
  if (!grad)
    return trace_break(t, BREAK_TENSOR,
                       "the gradient of a tensor that has a history, or hooks of autograd's");
  if (!s) return NULL;
  if (grad != Py_None) return value_wrap(t, grad, s);
  guard_simple(t, GUARD_IDENTITY, s, Py_None, 0);
  return t->constants.none;
}

value *tensor_grad(tracer *t, value *v) {
  PyObject *live = tensor_live(v), *meta = tensor_meta(t, v);
  if (live) return backward_grad_of_live(t, v, live);
  value *kept = meta ? pointer_map_get(&tensor_state_of(t)->grads, np_layout_of(v)) : NULL;
  if (kept) return kept;
  if (meta && (!tensor_is_recorded(meta) || backward_is_made(tensor_state_of(t), v)))
    return t->constants.none;
  return trace_break(t, BREAK_TENSOR, "the gradient of a tensor that has a history");
}

/* A tensor of the same type that has no history. */
static bool backward_fits(tracer *t, value *v, value *item) {
  if (value_is_none(item)) return true;
  PyObject *meta = tensor_is(item) ? tensor_meta(t, item) : NULL;
  return meta && !tensor_is_recorded(meta) &&
         loom_type_equal(&np_layout_of(v)->type, &np_layout_of(item)->type);
}

bool tensor_set_grad(tracer *t, value *v, value *item) {
  PyObject *live = tensor_live(v);
  tensor_state *state = tensor_state_of(t);
  bool made = state && backward_is_made(state, v);
  bool itself = item && tensor_is(item) && np_layout_of(item) == np_layout_of(v);
  if ((!live && !made) || !item || itself || !backward_fits(t, v, item)) {
    trace_break(t, BREAK_TENSOR, "setting the attribute grad of a tensor");
    return false;
  }
  if (made) return trace_map_set(t, &state->grads, np_layout_of(v), item);
  if (!backward_grad_of_live(t, v, live)) return false; /* guards what is there */
  overlay *o = overlay_open(t, live, np_layout_of(v)->storage->source, true);
  return o && overlay_put(t, o, backward_grad, item);
}

/* ---- torch.autograd.grad() ---------------------------------------------------------------------
 */

static bool backward_asks_for(PyObject *inputs, const PyObject *meta) {
  if (inputs == meta) return true;
  bool many = inputs && (PyList_Check(inputs) || PyTuple_Check(inputs));
  for (Py_ssize_t i = 0; many && i < PySequence_Fast_GET_SIZE(inputs); i++)
    if (PySequence_Fast_GET_ITEM(inputs, i) == meta) return true;
  return false;
}

static bool backward_has_no_history(tracer *t, value *v) {
  PyObject *live = tensor_live(v);
  const source *s =
      trace_source(t, SOURCE_DERIVED, np_layout_of(v)->storage->source, NULL, backward_history, 0);
  PyObject *none = live ? tensor_derived(live, backward_history) : NULL;
  Py_XDECREF(none);
  if (none) guard_simple(t, GUARD_IDENTITY, s, Py_None, 0);
  if (!none) trace_break(t, BREAK_TENSOR, "a gradient that passes through a tensor with a history");
  return none && s;
}

value *tensor_is_leaf(tracer *t, value *v, PyObject *name) {
  PyObject *live = tensor_live(v);
  if (!live) return tensor_attribute(t, v, name);
  if (tensor_requires(t, live, np_layout_of(v)->storage->source) && !backward_has_no_history(t, v))
    return NULL;
  return t->constants.true_value;
}

bool tensor_gradient_stays_inside(tracer *t, PyObject *args, PyObject *kwargs) {
  const tensor_state *state = tensor_state_of(t);
  PyObject *inputs = PySequence_Fast_GET_SIZE(args) > 1 ? PySequence_Fast_GET_ITEM(args, 1)
                                                        : PyDict_GetItemString(kwargs, "inputs");
  uint32_t asked = 0;
  for (uint32_t i = 0; i < state->leaf_count; i++)
    asked += backward_asks_for(inputs, tensor_meta(t, state->leaves[i]));
  for (uint32_t i = 0; asked && i < state->leaf_count; i++) {
    bool only = asked == 1 && backward_asks_for(inputs, tensor_meta(t, state->leaves[i]));
    if (!only && !backward_has_no_history(t, state->leaves[i])) return false;
  }
  return true;
}

/* ---- backward() -------------------------------------------------------------------------------
 */

/* Do the elements fill the memory from the first to the last one, each at a place of its own? */
static bool backward_is_dense(const np_array *a) {
  int64_t next = (int64_t)loom_dtype_size(a->type.dtype);
  uint32_t seen = 0;
  for (int k = 0; k < a->type.rank; k++) {
    int axis = -1;
    for (int i = 0; i < a->type.rank && axis < 0; i++)
      if (!(seen >> i & 1) && (a->type.dims[i] == 1 || a->strides[i] == next)) axis = i;
    if (axis < 0) return false;
    seen |= 1u << axis;
    next *= a->type.dims[axis];
  }
  return true;
}

/* The gradient as a tensor of its own, which lies as the leaf does where that is dense: a copy, as
 * far as the operations tell that are called. */
static value *backward_laid_out(tracer *t, value *leaf, value *gradient) {
  const np_array *a = np_layout_of(leaf);
  loom_value node = np_read(t, np_layout_of(gradient));
  value *made = tensor_new(t, node, backward_is_dense(a) ? a->strides : NULL);
  PyObject *of = tensor_meta(t, gradient), *meta = made ? tensor_meta(t, made) : NULL;
  PyObject *call =
      of && meta ? Py_BuildValue("(O(O){}OO)", backward_python.clone, of, meta, Py_False) : NULL;
  bool good = call && PyList_Append(tensor_state_of(t)->calls, call) == 0;
  Py_XDECREF(call);
  return good || trace_pending(t) ? made : trace_raise_live(t);
}

/* A leaf that autograd comes to has no history beyond the call. `meta`: its gradient, or None. */
static bool backward_accumulate(tracer *t, value *leaf, PyObject *meta) {
  value *before = tensor_grad(t, leaf), *gradient;
  if (!before || meta == Py_None) return before != NULL;
  if (!(gradient = tensor_of_meta(t, meta)))
    return trace_break(t, BREAK_TENSOR, "a gradient that torch made otherwise") != NULL;
  if (tensor_is(before)) return trace_method(t, before, "add_", &gradient, 1) != NULL;
  value *made = backward_laid_out(t, leaf, gradient);
  return made && tensor_set_grad(t, leaf, made);
}

/* What is `made`: gradients for each leaf, the operations, and these as they are called. */
static bool backward_take(tracer *t, tensor_state *state, PyObject *made, value *const *leaves,
                          uint32_t count) {
  PyObject *gradients = PyTuple_GET_ITEM(made, 0);
  bool records = state->records;
  if (!tensor_take_calls(t, PyTuple_GET_ITEM(made, 1), PyTuple_GET_ITEM(made, 2))) return false;
  state->records = false; /* as autograd's own writes are */
  bool good = true;
  for (uint32_t i = 0; good && i < count; i++)
    if (PyTuple_GET_ITEM(gradients, i) != Py_False)
      good = backward_accumulate(t, leaves[i], PyTuple_GET_ITEM(gradients, i));
  state->records = records;
  return good && !trace_pending(t);
}

/* Leaves from before the call, and those that the function has made. */
static value **backward_leaves(tracer *t, const tensor_state *state, uint32_t *count) {
  *count = state->leaf_count + state->made_count;
  value **all = trace_alloc(t, sizeof *all * ((size_t)*count + 1));
  if (!all) return NULL;
  if (state->leaf_count) memcpy(all, state->leaves, sizeof *all * state->leaf_count);
  if (state->made_count)
    memcpy(all + state->leaf_count, state->made, sizeof *all * state->made_count);
  return all;
}

value *tensor_backward(tracer *t, PyObject *function, PyObject *args, PyObject *kwargs) {
  tensor_state *state = tensor_state_of(t);
  uint32_t count = 0;
  value **all = state ? backward_leaves(t, state, &count) : NULL;
  PyObject *leaves = all ? tensor_metas(t, all, count) : NULL;
  if (!leaves) return trace_pending(t) ? NULL : trace_raise_live(t);
  PyObject *made = PyObject_CallFunctionObjArgs(backward_python.backward, function, leaves, args,
                                                kwargs, state->autocast, NULL);
  Py_DECREF(leaves);
  if (!made) return tensor_call_failed(t, function);
  state->ran_backward = true;
  bool good = trace_keep(t, made) && backward_take(t, state, made, all, count);
  return good ? t->constants.none : NULL;
}
