/* How results are made again: which of them are results of the call that autograd knows
 * (gradient.c), and which are copies. */
#include "frontend/base/base.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

static PyObject *results_depends; /* of _tensor_gradients.py */

bool tensor_results_init(void) {
  static const tensor_name names[] = {{"depends", &results_depends}};
  return tensor_import("frameloom._tensor_gradients", names, 1);
}

/* Result number `number` of the call that all results come from. */
static recipe *results_item(tracer *t, tensor_state *state, int64_t number) {
  if (!state->attached && !(state->attached = trace_recipe(t, RECIPE_CALL))) return NULL;
  recipe *item = tensor_recipe_items(t, RECIPE_ITEM, 1);
  if (!tensor_recipe_append(item, trace_share(t, state->attached))) return NULL;
  item->number = number;
  return item;
}

/* Is it a variable of a function of torch.func (_tensor_transforms.py)? */
static bool results_is_variable(PyObject *meta) {
  return meta && PyObject_HasAttrString(meta, "is_variable");
}

static recipe *results_result(tracer *t, tensor_state *state, tensor_result result) {
  state->results = trace_more(t, state->results, state->result_count, &state->result_room,
                              sizeof *state->results);
  if (!state->results) return trace_fail(t);
  state->results[state->result_count] = result;
  return results_item(t, state, state->result_count++);
}

/* A copy of a tensor, of which a result is made. */
static value *results_copy(tracer *t, tensor_state *state, value *v, loom_value node) {
  state->copies = trace_more(t, state->copies, state->copy_count, &state->copy_room, sizeof v);
  if (!state->copies) return trace_fail(t);
  state->copies[state->copy_count++] = v;
  return tensor_new(t, node, np_layout_of(v)->strides);
}

/* A view with a history of its own: of the memory of a tensor from before the call, or else a copy.
 */
static recipe *results_rebuild_apart(tracer *t, tensor_state *state, value *v, recipe *view) {
  const np_array *a = np_layout_of(v);
  loom_value node = np_read(t, np_layout_of(v));
  if (node == LOOM_NO_VALUE) return NULL;
  if (a->storage->source)
    return results_result(t, state, (tensor_result){.v = v, .output = view, .node = node});
  PyObject *meta = tensor_meta(t, v);
  value *copy = results_copy(t, state, v, node);
  if (!copy || !trace_map_set(t, &state->metas, np_layout_of(copy), meta)) return NULL;
  recipe *r = np_rebuild(t, copy);
  return r ? results_result(t, state, (tensor_result){copy, r, LOOM_NO_VALUE}) : NULL;
}

/* Is it a detached view of what was computed of leaves that the function has made, and of no
 * others? Those are unknown to code behind the call. */
static bool results_is_made_alone(tracer *t, const tensor_state *state, const np_array *a) {
  PyObject *meta = pointer_map_get(&state->metas, np_layout_of(a->storage->root));
  if (a->kind == VIEW_ROOT || a->storage->source || !state->made_count || !tensor_is_recorded(meta))
    return false;
  PyObject *leaves = tensor_metas(t, state->leaves, state->leaf_count);
  PyObject *found =
      leaves ? PyObject_CallFunctionObjArgs(results_depends, meta, leaves, NULL) : NULL;
  Py_XDECREF(leaves);
  if (!found && !trace_pending(t)) trace_raise_live(t);
  Py_XDECREF(found);
  return found == Py_False;
}

/* The root of the view as a tensor without a history, the same one for all views of it. */
static value *results_root(tracer *t, tensor_state *state, value *root) {
  value *copy = pointer_map_get(&state->roots, root);
  np_array *a = np_layout_of(root);
  loom_value node = copy ? LOOM_NO_VALUE : np_read(t, a);
  if (copy || node == LOOM_NO_VALUE) return copy;
  copy = results_copy(t, state, root, node);
  return copy && trace_map_set(t, &state->roots, root, copy) ? copy : NULL;
}

static recipe *results_rebuild_made(tracer *t, tensor_state *state, value *v) {
  const np_array *a = np_layout_of(v);
  value *root = results_root(t, state, a->storage->root);
  value *view = root ? np_view_same(t, np_layout_of(root)) : NULL;
  if (!view) return NULL;
  np_array *made = np_layout_of(view);
  np_storage *storage = made->storage;
  *made = *a;
  made->storage = storage;
  return np_rebuild(t, view);
}

bool tensor_copies_stand_apart(tracer *t, const tensor_state *state) {
  for (uint32_t i = 0; i < state->copy_count; i++) {
    const np_storage *of = np_layout_of(state->copies[i])->storage;
    bool shared = pointer_map_get(&t->known.rebuilt, of->root) != NULL;
    for (uint32_t k = 0; k < i; k++)
      shared |= np_layout_of(state->copies[k])->storage == of;
    if (shared)
      return trace_break(t, BREAK_TENSOR_GRADIENT,
                         "results with histories of their own share memory") != NULL;
  }
  return true;
}

recipe *tensor_rebuild(tracer *t, value *v) {
  tensor_state *state = tensor_state_of(t);
  np_array *a = np_layout_of(v);
  PyObject *meta = state ? pointer_map_get(&state->metas, a) : NULL;
  if (a->storage->root->lent && loom_loops->lent(t, a->storage->root)) return NULL;
  bool recorded = meta && tensor_is_recorded(meta), view = a->kind != VIEW_ROOT;
  if (view && results_is_variable(meta))
    return trace_break(t, BREAK_TENSOR, "an argument of a function of torch.func leaves it");
  if (view && tensor_made_type(t, v) != torch_tensor_type())
    return trace_break(t, BREAK_TENSOR, "a parameter that the function has made is a result");
  if (state && meta && !recorded && results_is_made_alone(t, state, a))
    return results_rebuild_made(t, state, v);
  bool apart = recorded && view && a->detached, copies = apart && !a->storage->source;
  recipe *r = !state ? NULL : copies ? NULL : np_rebuild(t, v);
  if ((!r && !copies) || !recorded || (r && r->kind == RECIPE_SOURCE)) return r;
  if (tensor_is_made_leaf(state, v))
    return trace_break(t, BREAK_TENSOR, "a leaf that the function has made is a result");
  if (apart && a->detached != WITH_OWN_HISTORY)
    return trace_break(t, BREAK_TENSOR_GRADIENT, "a detached tensor gets a history by a write");
  if (apart && !copies && a->storage->version)
    return trace_break(t, BREAK_TENSOR_GRADIENT,
                       "a part of an argument that is written has a history of its own");
  if (apart) return results_rebuild_apart(t, state, v, r);
  if (view && state->modes.records) return r; /* torch's view of its base */
  if (view)
    return trace_break(t, BREAK_TENSOR_GRADIENT,
                       "a view that requires a gradient is returned to code that records none");
  return results_result(t, state, (tensor_result){v, r, LOOM_NO_VALUE});
}
