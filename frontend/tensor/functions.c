/* What models of torch's functions ask capture for (_tensor_modelling.py), and calls of
 * torch.autograd.Function, as their model has them (_tensor_functions.py): the operations of the
 * class's backward() are noted apart from those of the function. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* Of _tensor_functions.py. */
static struct {
  PyObject *begin, *end, *once, *watch, *watched, *known, *attach, *refuse, *enter, *leave, *inside,
      *followed, *noted, *zeros_like, *drawn;
} functions_python;

/* What tensor_state had before a call of backward(), whose operations go into another list. */
struct tensor_section {
  struct tensor_section *around;
  PyObject *calls, *elements;
  uint64_t changes;         /* trace_live.changes */
  uint32_t foreign, values; /* of the state; of the graph */
  uint32_t effects;         /* of the capture */
  const np_storage *memory; /* what was there */
  uint64_t writes;          /* so many writes into it */
  bool once;                /* the gradients have no derivative */
};

/* A piece of code that torch may run more often than capture: what was there before it. */
struct tensor_watch {
  struct tensor_watch *around;
  uint32_t effects;         /* of the capture */
  const np_storage *memory; /* what was there */
  uint64_t writes;          /* so many writes into it */
  Py_ssize_t calls;         /* so many operations were noted */
};

bool tensor_functions_init(void) {
  static const tensor_name names[] = {
      {"begin_backward", &functions_python.begin}, {"end_backward", &functions_python.end},
      {"begin_watch", &functions_python.watch},    {"end_watch", &functions_python.watched},
      {"is_known", &functions_python.known},       {"only_once", &functions_python.once},
      {"attach", &functions_python.attach},        {"Noted", &functions_python.noted},
      {"have_drawn", &functions_python.drawn},

      {"ZEROS_LIKE", &functions_python.zeros_like}};
  static const tensor_name modelling[] = {{"refuse", &functions_python.refuse},
                                          {"enter_transform", &functions_python.enter},
                                          {"leave_transform", &functions_python.leave},
                                          {"is_transformed", &functions_python.inside},
                                          {"is_followed", &functions_python.followed}};
  return tensor_import("frameloom._tensor_modelling", modelling,
                       sizeof modelling / sizeof *modelling) &&
         tensor_import("frameloom._tensor_functions", names, sizeof names / sizeof *names);
}

bool tensor_is_function_part(const PyObject *callee) {
  return callee == functions_python.begin || callee == functions_python.end ||
         callee == functions_python.once || callee == functions_python.watch ||
         callee == functions_python.watched || callee == functions_python.known ||
         callee == functions_python.refuse || callee == functions_python.enter ||
         callee == functions_python.leave || callee == functions_python.inside ||
         callee == functions_python.followed;
}

bool tensor_is_function_end(const PyObject *function) {
  return function == functions_python.attach;
}

void tensor_function_ended(tracer *t, const value *results) {
  const tensor_state *state = tensor_state_of(t);
  for (Py_ssize_t i = 0; state && i < results->seq.count; i++) {
    np_array *a = tensor_is(results->seq.items[i]) ? np_layout_of(results->seq.items[i]) : NULL;
    if (a && a->kind != VIEW_ROOT && tensor_is_recorded(pointer_map_get(&state->metas, a)))
      a->detached = WITH_OWN_HISTORY;
  }
}

/* A stand-in for the gradient of a result. Nothing is known of its elements. */
static value *functions_tangent(tracer *t, value *output) {
  if (!tensor_is(output)) return t->constants.none;
  value *made = tensor_call(t, functions_python.zeros_like, &output, 1);
  PyObject *meta = made && tensor_is(made) ? tensor_meta(t, made) : NULL;
  if (!meta) return NULL;
  loom_dtype dtype = np_layout_of(made)->type.dtype;
  if (!loom_dtype_is_float(dtype) && !loom_dtype_is_complex(dtype)) return made;
  PyObject *done = PyObject_CallMethod(meta, "requires_grad_", NULL);
  if (!done) return trace_raise_live(t);
  Py_DECREF(done);
  return made;
}

/* Writes into this memory and what was made before it. */
static uint64_t functions_writes(const np_storage *memory) {
  uint64_t writes = 0;
  for (const np_storage *s = memory; s; s = s->next)
    writes += s->version;
  return writes;
}

static value *functions_begin(tracer *t, tensor_state *state, value *const *args,
                              Py_ssize_t count) {
  if (PyList_GET_SIZE(state->levels))
    return trace_break(t, BREAK_TENSOR, "a torch.autograd.Function inside of vmap");
  const np_storage *memory = np_storages(t);
  Py_ssize_t before = PyList_GET_SIZE(state->calls);
  uint32_t values = trace_graph(t)->value_count;
  value **tangents = trace_alloc(t, sizeof *tangents * (size_t)(count + 1));
  struct tensor_section *section = trace_alloc(t, sizeof *section);
  if (!tangents || !section) return trace_fail(t);
  for (Py_ssize_t i = 0; i < count; i++)
    if (!(tangents[i] = functions_tangent(t, args[i]))) return NULL;
  /* What made the stand-ins is no operation of the function. */
  if (PyList_SetSlice(state->calls, before, PY_SSIZE_T_MAX, NULL) < 0) return trace_raise_live(t);
  if (!aside_begin(t))
    return trace_break(t, BREAK_TENSOR,
                       "backward() of a torch.autograd.Function reads what is changed later");
  *section = (struct tensor_section){.around = state->section,
                                     .effects = t->capture->effect_count,
                                     .memory = memory,
                                     .writes = functions_writes(memory),
                                     .calls = state->calls,
                                     .elements = state->elements,
                                     .changes = t->live.changes,
                                     .foreign = state->foreign_count,
                                     .values = values};
  state->section = section;
  state->elements = NULL;
  state->calls = trace_keep(t, PyList_GetSlice(section->calls, 0, before));
  return state->calls ? value_tuple(t, tangents, count) : trace_raise_live(t);
}

/* Has backward() made a number, or an array, of what it was given? Its operations do not say how.
 */
static bool functions_leaves_tensors(tracer *t, const tensor_state *state,
                                     const struct tensor_section *section) {
  for (uint32_t i = section->foreign; i < state->foreign_count; i++) {
    loom_value made = np_layout_of(state->foreign[i].tensor)->storage->current;
    bool input = trace_graph(t)->values[made].node < 0;
    if (made >= section->values && !input) return true;
  }
  return false;
}

static value *functions_end(tracer *t, tensor_state *state) {
  struct tensor_section *section = state->section;
  if (!section) return trace_break(t, BREAK_TENSOR, "a backward() that has not begun");
  aside_end(t);
  if (section->changes != t->live.changes || section->effects != t->capture->effect_count ||
      section->writes != functions_writes(section->memory))
    return trace_break(t, BREAK_TENSOR,
                       "backward() of a torch.autograd.Function changes an object");
  if (functions_leaves_tensors(t, state, section))
    return trace_break(t, BREAK_TENSOR,
                       "backward() of a torch.autograd.Function makes a number or an array");
  PyObject *own = PyList_GetSlice(state->calls, PyList_GET_SIZE(section->calls), PY_SSIZE_T_MAX);
  PyObject *noted =
      own ? trace_keep(t, PyObject_CallFunctionObjArgs(functions_python.noted, own,
                                                       section->once ? Py_True : Py_False, NULL))
          : NULL;
  Py_XDECREF(own);
  state->calls = section->calls;
  state->elements = section->elements;
  state->section = section->around;
  return noted ? value_const(t, noted) : trace_raise_live(t);
}

static value *functions_watch(tracer *t, tensor_state *state) {
  const np_storage *memory = np_storages(t);
  struct tensor_watch *watch = trace_alloc(t, sizeof *watch);
  if (!watch || !live_span_begin(t)) return trace_fail(t);
  *watch = (struct tensor_watch){.around = state->watch,
                                 .effects = t->capture->effect_count,
                                 .memory = memory,
                                 .writes = functions_writes(memory),
                                 .calls = PyList_GET_SIZE(state->calls)};
  state->watch = watch;
  return t->constants.none;
}

static value *functions_watched(tracer *t, tensor_state *state) {
  const struct tensor_watch *watch = state->watch;
  if (!watch) return trace_break(t, BREAK_TENSOR, "a watch that has not begun");
  state->watch = watch->around;
  bool changed = live_span_end(t);
  PyObject *made = PyList_GetSlice(state->calls, watch->calls, PY_SSIZE_T_MAX);
  PyObject *drawn = made ? PyObject_CallOneArg(functions_python.drawn, made) : NULL;
  Py_XDECREF(made);
  if (!drawn) return trace_raise_live(t);
  changed |= drawn == Py_True;
  Py_DECREF(drawn);
  return value_bool(t, changed || watch->effects != t->capture->effect_count ||
                           watch->writes != functions_writes(watch->memory));
}

value *tensor_function_part(tracer *t, const PyObject *callee, value *const *args,
                            Py_ssize_t count) {
  tensor_state *state = tensor_state_of(t);
  if (!state) return NULL;
  if (callee == functions_python.begin) return functions_begin(t, state, args, count);
  if (callee == functions_python.end) return functions_end(t, state);
  if (callee == functions_python.once) {
    if (state->section) state->section->once = true;
    return t->constants.none;
  }
  if (callee == functions_python.watch) return functions_watch(t, state);
  if (callee == functions_python.watched) return functions_watched(t, state);
  if (callee == functions_python.known)
    return value_bool(t, count == 1 &&
                             !(value_is_number(args[0]) && args[0]->number.node != LOOM_NO_VALUE));
  if (callee == functions_python.followed) return t->constants.true_value;
  if (callee == functions_python.inside)
    return value_bool(t, state->transforms > 0 || PyList_GET_SIZE(state->levels) > 0);
  if (callee != functions_python.refuse) {
    state->transforms += callee == functions_python.enter ? 1 : -1;
    return t->constants.none;
  }
  PyObject *why = count == 1 ? value_str_object(args[0]) : NULL;
  return trace_break(t, BREAK_TENSOR, "%.160s", why ? PyUnicode_AsUTF8(why) : "such a call");
}
