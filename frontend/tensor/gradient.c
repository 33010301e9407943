/* Results that require a gradient.
 *
 * The tensors without memory that stand for the user's (call.c) have a history of autograd. When
 * all results are known, autograd computes their gradients on these tensors, and capture notes the
 * operations of the backward. They become nodes after those of the function. This joint graph is
 * cut in two (graph/partition.h): the forward gets outputs for the values that the backward reads,
 * and the backward is a graph of its own, compiled when it is first called. A run attaches its
 * results to one node of autograd (_tensor_gradients.py), by a recipe that all of them share. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "graph/partition.h"

#include <stdlib.h>
#include <string.h>

/* Of _tensor_gradients.py. */
static struct {
  PyObject *gradients, *program, *apply, *record, *sized;
} gradient_python;

bool tensor_gradient_init(void) {
  static const tensor_name names[] = {{"gradients", &gradient_python.gradients},
                                      {"Program", &gradient_python.program},
                                      {"apply", &gradient_python.apply},
                                      {"record", &gradient_python.record},
                                      {"Sized", &gradient_python.sized}};
  return tensor_import("frameloom._tensor_gradients", names, sizeof names / sizeof *names);
}

/* ---- what requires one ------------------------------------------------------------------------
 */

bool tensor_is_recorded(PyObject *meta) {
  PyObject *answer = meta ? PyObject_GetAttrString(meta, "requires_grad") : NULL;
  bool recorded = answer == Py_True;
  error_drop();
  Py_XDECREF(answer);
  return recorded;
}

/* Has autograd a history of the tensor? */
static bool gradient_has_history(PyObject *meta) {
  PyObject *node = PyObject_GetAttrString(meta, "grad_fn");
  bool has = node && node != Py_None;
  error_drop();
  Py_XDECREF(node);
  return has;
}

bool tensor_gradient_leaf(tracer *t, value *v, PyObject *meta) {
  tensor_state *state = tensor_state_of(t);
  PyObject *done = PyObject_CallMethod(meta, "requires_grad_", NULL);
  Py_XDECREF(done);
  if (!done) return trace_raise_live(t) != NULL;
  state->leaves = trace_more(t, state->leaves, state->leaf_count, &state->leaf_room, sizeof v);
  if (!state->leaves) return trace_fail(t) != NULL;
  state->leaves[state->leaf_count++] = v;
  return true;
}

bool tensor_gradient_check_writes(tracer *t) {
  const tensor_state *state = tensor_state_of(t);
  for (const np_storage *s = np_storages(t); state && s; s = s->next) {
    PyObject *meta = pointer_map_get(&state->metas, np_layout_of(s->root));
    if (!s->source || !s->written_count || !meta || !gradient_has_history(meta)) continue;
    trace_break(t, BREAK_TENSOR_GRADIENT,
                "what is written into an argument is differentiated as well");
    return false;
  }
  return state != NULL;
}

/* ---- recipes --------------------------------------------------------------------------------- */

static recipe *gradient_source(tracer *t, const source *s) {
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = s;
  return r;
}

recipe *tensor_recipe_items(tracer *t, recipe_kind kind, uint32_t count) {
  recipe *r = trace_recipe(t, kind);
  if (r && !(r->items = calloc((size_t)count + 1, sizeof(recipe *)))) return trace_fail(t);
  return r;
}

bool tensor_recipe_append(recipe *r, recipe *item) {
  if (!r || !item) return false;
  r->items[r->count++] = item;
  return true;
}

/* ---- the joint graph --------------------------------------------------------------------------
 */

typedef struct gradient {
  tensor_state *state;
  uint32_t nodes, values, inputs; /* of the forward */
  loom_value *wanted, *results;   /* gradients that are not zero; roots of results */
  const int64_t **strides;        /* of the gradients, in elements; NULL: C order */
  int *places;                    /* of the gradients: the numbers of their leaves */
  uint64_t *needs; /* of the gradients: bit i for the tangent of result i (63: and all behind) */
  uint32_t count;
  bool sized;        /* some sizes are symbols */
  bool *held, *made; /* by input; made: it is a number of the sizes */
  loom_graph backward;
  loom_saved saved;
  const int64_t *numbers; /* of the backward's SCALAR inputs */
  PyObject *constants;    /* data of the backward's constants */
  PyObject *ends;         /* of gradients() (borrowed): in which errors gradients of results end */
  bool ended;             /* so do all */
} gradient;

PyObject *tensor_metas(tracer *t, value *const *tensors, uint32_t count) {
  PyObject *all = PyTuple_New(count);
  for (uint32_t i = 0; all && i < count; i++) {
    PyObject *meta = tensor_meta(t, tensors[i]);
    if (!meta) Py_CLEAR(all);
    if (meta) PyTuple_SET_ITEM(all, i, Py_NewRef(meta));
  }
  return all;
}

static PyObject *gradient_outputs_of(tracer *t, const tensor_state *state) {
  value **roots = trace_alloc(t, sizeof *roots * (state->result_count + 1));
  for (uint32_t i = 0; roots && i < state->result_count; i++)
    roots[i] = state->results[i].v;
  return roots ? tensor_metas(t, roots, state->result_count) : NULL;
}

static bool gradient_inputs(tracer *t, PyObject *tangents) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tangents); i++)
    if (!tensor_emit_input(t, PyTuple_GET_ITEM(tangents, i))) return false;
  return true;
}

/* Do the elements of a view fill memory in some order of its axes? Known sizes only. */
static bool gradient_is_dense(const np_array *a) {
  int64_t step = (int64_t)loom_dtype_size(a->type.dtype);
  uint32_t done = 0;
  for (int left = a->type.rank; left > 0; left--) {
    int next = -1;
    for (int i = 0; i < a->type.rank; i++)
      if (!(done >> i & 1) && (a->type.dims[i] == 1 || (next < 0 && a->strides[i] == step)))
        next = i;
    if (next < 0) return false;
    done |= UINT32_C(1) << next;
    if (a->type.dims[next] > 1) step *= a->type.dims[next];
  }
  return true;
}

/* The strides that torch says of a gradient, where its elements fill memory. */
static const int64_t *gradient_strides(tracer *t, const np_array *a) {
  bool empty = false, symbolic = false;
  for (int i = 0; i < a->type.rank; i++) {
    empty |= a->type.dims[i] == 0;
    symbolic |= LOOM_DIM_IS_SYM(a->type.dims[i]);
  }
  if (empty || (a->kind != VIEW_ROOT && (symbolic || !gradient_is_dense(a)))) return NULL;
  int64_t *made = trace_alloc(t, sizeof *made * LOOM_MAX_RANK);
  for (int i = 0; made && i < a->type.rank; i++)
    made[i] = np_in_elements(t, a->strides[i], a->type.dtype);
  return made;
}

static bool gradient_wanted(tracer *t, gradient *g, PyObject *gradients) {
  Py_ssize_t count = PyTuple_GET_SIZE(gradients);
  g->wanted = trace_alloc(t, sizeof *g->wanted * (size_t)(count + 1));
  g->places = trace_alloc(t, sizeof *g->places * (size_t)(count + 1));
  g->strides = trace_alloc(t, sizeof *g->strides * (size_t)(count + 1));
  if (!g->wanted || !g->places || !g->strides) return trace_fail(t) != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *meta = PyTuple_GET_ITEM(gradients, i);
    value *v = meta != Py_None ? tensor_of_meta(t, meta) : NULL;
    if (meta == Py_None) continue;
    if (!v) return trace_break(t, BREAK_TENSOR, "a gradient that torch made otherwise") != NULL;
    g->places[g->count] = (int)i;
    g->strides[g->count] = gradient_strides(t, np_layout_of(v));
    g->wanted[g->count] = np_read(t, np_layout_of(v));
    if (g->wanted[g->count++] == LOOM_NO_VALUE) return false;
  }
  return true;
}

/* The operations of the backward as nodes behind those of the function. */
static bool gradient_emit(tracer *t, gradient *g, PyObject *outputs, PyObject *leaves) {
  tracer *before = tensor_sizes_enter(t);
  PyObject *made = PyObject_CallFunctionObjArgs(gradient_python.gradients, outputs, leaves,
                                                g->state->ran_backward ? Py_True : Py_False, NULL);
  tensor_sizes_leave(before);
  if (trace_pending(t)) return error_drop(), Py_XDECREF(made), false;
  if (!made) return tensor_call_failed(t, gradient_python.gradients), false;
  PyObject *calls = PyTuple_GET_ITEM(made, 2);
  bool good = trace_keep(t, made) && gradient_inputs(t, PyTuple_GET_ITEM(made, 0));
  g->ends = PyTuple_GET_ITEM(made, 3);
  g->ended = calls == Py_None;
  if (g->ended) return good;
  good = good && tensor_emit_all(t, calls);
  return good && gradient_wanted(t, g, PyTuple_GET_ITEM(made, 1)) && !trace_pending(t);
}

/* Which tangents each gradient is computed of: without any of them it is no gradient at all. */
static bool gradient_needs(tracer *t, gradient *g) {
  const loom_graph *graph = trace_graph(t);
  uint64_t *of = calloc(graph->value_count + 1, sizeof *of);
  g->needs = trace_alloc(t, sizeof *g->needs * (g->count + 1));
  if (!of || !g->needs) {
    free(of);
    return trace_fail(t) != NULL;
  }
  for (uint32_t i = 0; i < g->state->result_count; i++)
    of[graph->inputs[g->inputs + i].value] = (uint64_t)1 << (i < 63 ? i : 63);
  for (uint32_t n = g->nodes; n < graph->node_count; n++) {
    const loom_node *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->operand_count; i++)
      for (uint32_t k = 0; k < node->result_count; k++)
        of[node->first_result + k] |= of[node->operands[i]];
  }
  for (uint32_t i = 0; i < g->count; i++)
    g->needs[i] = of[g->wanted[i]];
  free(of);
  return true;
}

/* Who holds an input until the backward runs? Tensors that nothing writes are handed to autograd,
 * which finds out if somebody does so later. */
static bool gradient_held(tracer *t, gradient *g) {
  const capture *c = t->capture;
  g->held = trace_alloc(t, g->inputs + 1);
  if (!g->held) return trace_fail(t) != NULL;
  for (uint32_t i = 0; i < g->inputs; i++)
    g->held[i] = c->inputs[i].constant && torch_is_exact(c->inputs[i].constant);
  for (const np_storage *s = np_storages(t); s; s = s->next) {
    if (!s->source || s->written_count || !tensor_is(s->root)) continue;
    for (uint32_t i = 0; i < g->inputs; i++)
      g->held[i] |= c->inputs[i].source == s->source;
  }
  return true;
}

/* Which inputs are numbers of the sizes? Those that the backward needs it computes itself. */
static bool gradient_numbers(tracer *t, gradient *g) {
  const capture *c = t->capture;
  if (!g->sized) return true;
  g->made = trace_alloc(t, c->input_count + 1);
  for (uint32_t i = 0; g->made && i < c->input_count; i++)
    g->made[i] = c->graph.inputs[i].kind == LOOM_INPUT_SCALAR && !c->inputs[i].source &&
                 !c->inputs[i].constant && !c->inputs[i].formula;
  return g->made || trace_fail(t);
}

static loom_value gradient_elements(const tensor_result *result) {
  return result->node != LOOM_NO_VALUE ? result->node : np_layout_of(result->v)->storage->current;
}

static bool gradient_cut(tracer *t, gradient *g) {
  const tensor_state *state = g->state;
  loom_error err = {0};
  if (!gradient_numbers(t, g)) return false;
  g->results = trace_alloc(t, sizeof *g->results * (state->result_count + 1));
  if (!g->results || !gradient_held(t, g)) return false;
  for (uint32_t i = 0; i < state->result_count; i++)
    g->results[i] = gradient_elements(&state->results[i]);
  loom_joint joint = {.graph = trace_graph(t),
                      .nodes = g->nodes,
                      .inputs = g->inputs,
                      .held = g->held,
                      .made = g->made,
                      .results = g->results,
                      .result_count = state->result_count,
                      .gradients = g->wanted,
                      .gradient_strides = g->strides,
                      .gradient_count = g->count};
  if (loom_graph_partition(&joint, &g->backward, &g->saved, &err)) return true;
  return trace_break(t, BREAK_COMPILER, "the gradient: %s", err.message) != NULL;
}

/* Takes what belongs to the backward away from the graph; its constants go into a list. */
static bool gradient_shrink(tracer *t, gradient *g) {
  capture *c = t->capture;
  loom_graph *graph = trace_graph(t);
  bool good = (g->constants = PyList_New(0)) != NULL;
  int64_t *numbers = trace_alloc(t, sizeof *numbers * (g->saved.number_count + 1));
  if (!numbers) good = false;
  for (uint32_t i = 0; numbers && i < g->saved.number_count; i++)
    numbers[i] = c->inputs[g->saved.numbers[i]].size;
  g->numbers = numbers;
  while (c->input_count > g->inputs) {
    PyObject *constant = c->inputs[--c->input_count].constant;
    if (constant && good) good = PyList_Insert(g->constants, 0, constant) == 0;
    Py_XDECREF(constant);
  }
  graph->input_count = g->inputs;
  graph->node_count = g->nodes;
  graph->value_count = g->values;
  return good || trace_raise_live(t);
}

/* ---- what a run hands over --------------------------------------------------------------------
 */

/* An output for a saved value: that of a result where it is one, so that it is there once. */
static recipe *gradient_saved(tracer *t, gradient *g, uint32_t number) {
  loom_value v = g->saved.values[number];
  const loom_value_info *info = &trace_graph(t)->values[v];
  const struct capture_input *input = info->node < 0 ? &t->capture->inputs[info->index] : NULL;
  bool copied = g->saved.copied[number];
  if (input && g->held[info->index] && !copied)
    return input->constant ? trace_rebuild_const(t, Py_NewRef(input->constant))
                           : gradient_source(t, input->source);
  for (uint32_t i = 0; i < g->state->result_count; i++) {
    const recipe *output = g->state->results[i].output;
    if (g->results[i] != v || copied || g->state->results[i].node != LOOM_NO_VALUE) continue;
    memcpy(g->backward.inputs[number].strides, trace_graph(t)->outputs[output->number].strides,
           sizeof g->backward.inputs[number].strides);
    return g->state->results[i].output;
  }
  value *made = tensor_new(t, v, NULL);
  return made ? np_rebuild(t, made) : NULL;
}

static recipe *gradient_all_saved(tracer *t, gradient *g) {
  recipe *all = tensor_recipe_items(t, RECIPE_TUPLE, g->saved.count);
  for (uint32_t i = 0; all && i < g->saved.count; i++)
    if (!tensor_recipe_append(all, gradient_saved(t, g, i))) return NULL;
  return all;
}

static recipe *gradient_outputs(tracer *t, const gradient *g) {
  recipe *all = tensor_recipe_items(t, RECIPE_TUPLE, g->state->result_count);
  for (uint32_t i = 0; all && i < g->state->result_count; i++)
    if (!tensor_recipe_append(all, g->state->results[i].output)) return NULL;
  return all;
}

/* A tensor from before the call as it was then: a copy where the function writes it. */
static recipe *gradient_given(tracer *t, const np_storage *s) {
  const capture *c = t->capture;
  loom_value before = LOOM_NO_VALUE;
  if (!s->written_count) return gradient_source(t, s->source);
  for (uint32_t i = 0; i < c->input_count; i++)
    if (c->inputs[i].source == s->source) before = c->graph.inputs[i].value;
  value *copy = tensor_new(t, before, np_layout_of(s->root)->strides);
  return copy ? np_rebuild(t, copy) : NULL;
}

static bool gradient_add_argument(tracer *t, recipe *all, PyObject *metas, value *v,
                                  recipe *given) {
  PyObject *meta = tensor_meta(t, v);
  if (!meta || !tensor_recipe_append(all, given)) return false;
  return PyList_Append(metas, meta) == 0 || trace_raise_live(t) != NULL;
}

/* Tensors from before the call and those that no operation makes, in the order of *metas, a new
 * list of what stands for them: the call is made again with them where its gradient is
 * differentiated.
 */
static recipe *gradient_arguments(tracer *t, const gradient *g, PyObject **metas) {
  const tensor_state *state = g->state;
  uint32_t count = state->foreign_count;
  for (const np_storage *s = np_storages(t); s; s = s->next)
    count += s->source && tensor_is(s->root);
  recipe *all = tensor_recipe_items(t, RECIPE_TUPLE, g->ended ? 0 : count);
  *metas = PyList_New(0);
  if (!all || !*metas || g->ended) return *metas ? all : NULL;
  for (const np_storage *s = np_storages(t); s; s = s->next)
    if (s->source && tensor_is(s->root) &&
        !gradient_add_argument(t, all, *metas, s->root, gradient_given(t, s)))
      return NULL;
  for (uint32_t i = 0; i < state->foreign_count; i++) {
    value *v = state->foreign[i].tensor, *copy;
    np_array *a = np_layout_of(v);
    if (a->storage->version != state->foreign[i].version) continue; /* written since */
    copy = tensor_new(t, np_read(t, a), a->strides);
    if (!copy || !gradient_add_argument(t, all, *metas, v, np_rebuild(t, copy))) return NULL;
  }
  return all;
}

/* Pairs of a leaf and the tangents that its gradient needs, for each gradient. */
static PyObject *gradient_places(const gradient *g) {
  PyObject *all = PyTuple_New(g->count);
  for (uint32_t i = 0; all && i < g->count; i++) {
    PyObject *place = Py_BuildValue("(iK)", g->places[i], (unsigned long long)g->needs[i]);
    if (!place) Py_CLEAR(all);
    if (place) PyTuple_SET_ITEM(all, i, place);
  }
  return all;
}

static PyObject *gradient_name(const tracer *t) {
  const frame *f = t->outer.frame;
  return PyUnicode_FromFormat("%U, backward", f->code->object->co_qualname);
}

/* The numbers of the graph that its symbols are. The index of a loop is none outside of it. */
static PyObject *gradient_symbols(tracer *t, const gradient *g) {
  const loom_graph *graph = trace_graph(t);
  PyObject *all = PyTuple_New(g->sized ? graph->symbol_count : 0);
  for (uint32_t i = 0; all && g->sized && i < graph->symbol_count; i++) {
    loom_dim dim;
    PyObject *number = NULL;
    if (loom_dim_of_symbol(trace_graph(t), i, &dim)) {
      int64_t code = loom_stride_of_dim(dim);
      number = PyLong_FromLongLong(size_is_looped(t, code) ? 0 : code);
    }
    if (!number) Py_CLEAR(all);
    if (number) PyTuple_SET_ITEM(all, i, number);
  }
  return all;
}

/* Has the function written into a tensor by NumPy, which the operations of torch do not tell of? */
static bool gradient_is_crossed(tracer *t) {
  for (const np_storage *s = np_storages(t); s; s = s->next)
    if (s->crossed) return true;
  return false;
}

/* The object that a run's node of autograd's computes gradients with. */
static PyObject *gradient_program(tracer *t, gradient *g, PyObject *outputs, PyObject *leaves,
                                  PyObject *arguments) {
  PyObject *hosts = t->capture->hosts ? Py_NewRef(t->capture->hosts) : PyList_New(0);
  PyObject *name = gradient_name(t), *places = gradient_places(g), *program = NULL;
  PyObject *made = tensor_metas(t, g->state->made, g->state->made_count);
  PyObject *symbols = gradient_symbols(t, g);
  if (hosts && name && places && made && symbols)
    program =
        PyObject_CallFunctionObjArgs(gradient_python.program, name, outputs, leaves, arguments,
                                     g->state->calls, places, g->ends, made, symbols, NULL);
  Py_XDECREF(symbols);
  Py_XDECREF(made);
  if (program && gradient_is_crossed(t) && PyObject_SetAttrString(program, "crossed", Py_True) < 0)
    Py_CLEAR(program);
  PyObject *backward = program && !g->ended ? torch_program_new(&g->backward, name, g->constants,
                                                                g->numbers, hosts, program)
                                            : NULL;
  if (program && !g->ended &&
      (!backward || PyObject_SetAttrString(program, "backward", backward) < 0))
    Py_CLEAR(program);
  Py_XDECREF(backward);
  Py_XDECREF(places);
  Py_XDECREF(name);
  Py_XDECREF(hosts);
  return program;
}

/* The program for the sizes of a run, of which it needs some `numbers`. */
static recipe *gradient_sized(tracer *t, PyObject *program) {
  recipe *of = trace_rebuild_const(t, Py_NewRef(program));
  PyObject *numbers = PyObject_GetAttrString(program, "numbers");
  Py_ssize_t count = numbers && PyTuple_Check(numbers) ? PyTuple_GET_SIZE(numbers) : 0;
  error_drop();
  recipe *all = count ? tensor_recipe_items(t, RECIPE_TUPLE, (uint32_t)count) : NULL;
  recipe *call = all ? tensor_recipe_items(t, RECIPE_CALL, 3) : NULL;
  for (Py_ssize_t i = 0; call && i < count; i++) {
    int64_t number = PyLong_AsLongLong(PyTuple_GET_ITEM(numbers, i));
    recipe *size = size_exists(t, number) ? trace_recipe(t, RECIPE_SIZE) : NULL;
    if (size) size->number = number;
    if (!tensor_recipe_append(all, size)) call = NULL;
  }
  Py_XDECREF(numbers);
  if (!count || !call) return count ? NULL : of;
  bool good =
      tensor_recipe_append(call, trace_rebuild_const(t, Py_NewRef(gradient_python.sized))) &&
      tensor_recipe_append(call, of) && tensor_recipe_append(call, all);
  return good ? call : NULL;
}

static bool gradient_attach(tracer *t, gradient *g, PyObject *outputs, PyObject *leaves) {
  tensor_state *state = g->state;
  recipe *call = state->attached, *saved = gradient_all_saved(t, g);
  PyObject *arguments = NULL,
           *apply = state->modes.records ? gradient_python.record : gradient_python.apply;
  recipe *given = saved ? gradient_arguments(t, g, &arguments) : NULL;
  PyObject *program = given ? gradient_program(t, g, outputs, leaves, arguments) : NULL;
  Py_XDECREF(arguments);
  call->items = calloc(state->leaf_count + 6, sizeof *call->items);
  bool good = program && call->items &&
              tensor_recipe_append(call, trace_rebuild_const(t, Py_NewRef(apply))) &&
              tensor_recipe_append(call, tensor_watched(t, gradient_sized(t, program))) &&
              tensor_recipe_append(call, gradient_outputs(t, g)) &&
              tensor_recipe_append(call, saved) && tensor_recipe_append(call, given);
  for (uint32_t i = 0; good && i < state->leaf_count; i++)
    good = tensor_recipe_append(call, gradient_source(t, state->leaves[i]->source));
  Py_XDECREF(program);
  return good;
}

static bool gradient_make(tracer *t, gradient *g) {
  PyObject *outputs = gradient_outputs_of(t, g->state);
  PyObject *leaves = outputs ? tensor_metas(t, g->state->leaves, g->state->leaf_count) : NULL;
  bool good = leaves && gradient_emit(t, g, outputs, leaves);
  if (good && !g->ended) good = gradient_needs(t, g) && gradient_cut(t, g);
  good = good && gradient_shrink(t, g) && gradient_attach(t, g, outputs, leaves);
  Py_XDECREF(leaves);
  Py_XDECREF(outputs);
  return good;
}

bool tensor_gradient_complete(tracer *t) {
  const loom_graph *graph = trace_graph(t);
  gradient g = {.state = *trace_state(t, &loom_tensor_adapter),
                .nodes = graph->node_count,
                .values = graph->value_count,
                .inputs = graph->input_count};
  if (g.state && !tensor_copies_stand_apart(t, g.state)) return false;
  if (!g.state || !g.state->result_count) return true;
  if (!g.state->leaf_count)
    return trace_break(t, BREAK_TENSOR, "a result of a leaf that the function has made") != NULL;
  loom_graph_init(&g.backward);
  g.sized = tensor_has_sizes(t);
  t->capture->derived = true;
  bool good = gradient_make(t, &g);
  if (!good && !trace_pending(t)) trace_fail(t);
  loom_graph_fini(&g.backward);
  loom_saved_fini(&g.saved);
  Py_XDECREF(g.constants);
  return good;
}
