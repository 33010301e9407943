/* frameloom.vmap inside of a capture: the functions of python/frameloom/_vmap.py that plain Python
 * cannot compute.
 *
 * An element of a batch is a value of its own (a copy of the first one that compiled code does not
 * make), for which the mapped function is evaluated. Then what depends on it is computed anew for
 * the whole batch (graph/batch.h), and nothing else may use it (core/examples.c). */
#include "graph/batch.h"
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/gradient_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_control.h"

#include <stdlib.h>
#include <string.h>

value *np_vectorises(tracer *t, const np_call *c) {
  (void)c;
  return value_bool(t, true);
}

/* The number behind an array or number; LOOM_NO_VALUE with nothing pending: it is known, or none.
 */
static loom_value batch_node(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a) return np_read(t, a);
  if (value_is_const(v) || !value_is_number(v) || number_is_size(v)) return LOOM_NO_VALUE;
  return number_node(t, v);
}

/* ---- elements ---- */

/* The array that a function with one parameter gets, and its node; LOOM_NO_VALUE: raised or broken.
 */
static loom_value batch_argument(tracer *t, const np_call *c, const char *format, np_array **out) {
  value *p[1] = {NULL};
  if (!np_parse(t, c, format, p)) return LOOM_NO_VALUE;
  *out = np_array_of(p[0]);
  if (!*out) np_unsupported(t, c, "of no array");
  return *out ? np_read(t, *out) : LOOM_NO_VALUE;
}

loom_value np_example_of(tracer *t, loom_value batch) {
  loom_emitter b = {.graph = trace_graph(t), .location = trace_location(t)};
  loom_value v = loom_emit_row(&b, batch, 0);
  if (b.failed) return trace_break(t, BREAK_VMAP, "%s", b.err.message), LOOM_NO_VALUE;
  v = np_gradient_own(t, v);
  return v != LOOM_NO_VALUE && trace_example(t, v) ? v : LOOM_NO_VALUE;
}

value *np_example(tracer *t, const np_call *c) {
  np_array *a;
  loom_value batch = batch_argument(t, c, "batch |", &a);
  loom_value v = batch == LOOM_NO_VALUE ? batch : np_example_of(t, batch);
  return v == LOOM_NO_VALUE ? NULL : np_result(t, v, NULL);
}

value *np_example_whole(tracer *t, const np_call *c) {
  np_array *a;
  loom_value v = batch_argument(t, c, "x |", &a);
  if (v == LOOM_NO_VALUE) return NULL;
  return a->scalar ? np_result(t, v, NULL) : np_fresh(t, v, NULL);
}

/* ---- calls of the library ---- */

/* The arguments of a call for element number `i`. */
static bool batch_arguments(tracer *t, const loom_batch_step *s, const np_derived *d, int64_t i,
                            value **args) {
  for (Py_ssize_t k = 0; k < d->total; k++) {
    args[k] = d->args[k];
    loom_value of = d->read[k] == LOOM_NO_VALUE ? LOOM_NO_VALUE : s->walk->batch[d->read[k]];
    if (of == LOOM_NO_VALUE) continue;
    loom_value row = loom_emit_row(s->b, of, i);
    if (row == LOOM_NO_VALUE) return false;
    args[k] = np_array_of(d->args[k])->scalar ? np_result(t, row, NULL) : np_fresh(t, row, NULL);
    if (!args[k]) return false;
  }
  return true;
}

/* Calls for all elements; rows[k * size + i]: result k of element i. */
static bool batch_calls(tracer *t, const loom_batch_step *s, const np_derived *d, int64_t size,
                        loom_value *rows) {
  value *function = np_derived_function(t, d->callee), *args[DERIVED_ARRAYS];
  for (int64_t i = 0; i < size; i++) {
    np_derived made = {0};
    if (!function || !batch_arguments(t, s, d, i, args)) return false;
    value *result = trace_call(t, function, args, d->count, d->kwnames);
    if (!result) return false;
    if (!np_derived_leaves(result, &made) || made.result_count != d->result_count)
      return loom_emit_fail(s->b, "%s gives something else for another element", d->name), false;
    for (uint32_t k = 0; k < made.result_count; k++) {
      loom_value row = loom_emit_as_row(s->b, np_read(t, np_array_of(made.results[k])));
      if (row == LOOM_NO_VALUE) return false;
      rows[k * (uint32_t)size + (uint32_t)i] = row;
    }
  }
  return true;
}

/* The batch of the buffer that a result lies in. */
static bool batch_buffer(tracer *t, const loom_batch_step *s, value *result, loom_value batch,
                         loom_value *out) {
  const loom_attr *turned;
  int64_t number = np_derived_buffer(t, &s->node, result, &turned), perm[LOOM_MAX_RANK] = {0};
  if (number < 0)
    return loom_emit_fail(s->b, "a part of a result of the library cannot be vectorised"), false;
  for (int i = 0; turned && i < turned->count; i++)
    perm[turned->ints[i] + 1] = i + 1;
  out[number] = turned ? loom_emit_transpose(s->b, batch, perm) : batch;
  return true;
}

static bool batch_host(void *context, const loom_batch_step *s, loom_value *out) {
  tracer *t = context;
  const np_derived *d = np_derived_of(t, s->number);
  int64_t size = s->walk->ask->size;
  if (!d || !d->whole)
    return loom_emit_fail(s->b, "a call of the library cannot be vectorised"), false;
  if (LOOM_DIM_IS_SYM(size) || size > LOOM_BATCH_REPEATED)
    return loom_emit_fail(s->b, "%s would be called for each of more than %d elements", d->name,
                          LOOM_BATCH_REPEATED),
           false;
  for (uint32_t i = 0; i < s->node.operand_count; i++)
    if (s->walk->batch[s->node.operands[i]] != LOOM_NO_VALUE &&
        !np_derived_reads(d, s->node.operands[i]))
      return loom_emit_fail(s->b, "%s of arrays in a list cannot be vectorised", d->name), false;
  loom_value *rows = trace_alloc(t, (size_t)size * (d->result_count + 1) * sizeof *rows);
  if (!rows || !batch_calls(t, s, d, size, rows)) return false;
  for (uint32_t i = 0; i < s->node.result_count; i++)
    out[i] = LOOM_NO_VALUE;
  for (uint32_t k = 0; k < d->result_count; k++) {
    loom_value batch = loom_emit_concatenate(s->b, rows + k * (uint32_t)size, (uint32_t)size, 0);
    if (!batch_buffer(t, s, d->results[k], batch, out)) return false;
  }
  for (uint32_t i = 0; i < s->node.result_count; i++)
    if (out[i] == LOOM_NO_VALUE)
      return loom_emit_fail(s->b, "a result of %s cannot be vectorised", d->name), false;
  return !s->b->failed;
}

/* The calls for the element itself are not made. */
static bool batch_drop_calls(tracer *t, const loom_value *examples, uint32_t count) {
  loom_graph *graph = trace_graph(t);
  bool *marks = trace_examples_mark(t, examples, count);
  for (uint32_t n = 0; marks && n < graph->node_count; n++) {
    loom_node *node = &graph->nodes[n];
    bool any = false;
    for (uint32_t i = 0; node->op == LOOM_OP_HOST_CALL && i < node->operand_count; i++)
      any |= marks[node->operands[i]];
    if (any) node->attrs[1].str = "pure";
  }
  free(marks);
  return marks != NULL;
}

/* ---- the batch ---- */

/* The nodes of a tuple of arrays. */
static loom_value *batch_nodes(tracer *t, const np_call *c, value *tuple) {
  if (!value_is_tuple(tuple)) return np_unsupported(t, c, "of what is no tuple"), NULL;
  loom_value *nodes = trace_alloc(t, ((size_t)tuple->seq.count + 1) * sizeof *nodes);
  for (Py_ssize_t i = 0; nodes && i < tuple->seq.count; i++) {
    nodes[i] = batch_node(t, tuple->seq.items[i]);
    if (trace_pending(t)) return NULL;
  }
  return nodes;
}

bool np_batch_emit(tracer *t, loom_batch_ask *ask, loom_value *out, loom_emitter *b) {
  loom_location at = trace_location(t);
  loom_error err = {0};
  ask->host = batch_host;
  ask->context = t;
  if (!loom_batch(trace_graph(t), ask, out, &at, &err))
    return loom_emit_fail(b, "%s", err.message), false;
  return batch_drop_calls(t, ask->examples, ask->count);
}

/* _batch(results, examples, batches): a tuple of arrays, or None where a result depends on no
 * example. */
value *np_batch(tracer *t, const np_call *c) {
  value *p[3] = {NULL};
  if (!np_parse(t, c, "results examples batches |", p)) return NULL;
  loom_value *of = batch_nodes(t, c, p[0]), *examples = of ? batch_nodes(t, c, p[1]) : NULL,
             *batches = examples ? batch_nodes(t, c, p[2]) : NULL;
  uint32_t results = (uint32_t)p[0]->seq.count, count = batches ? (uint32_t)p[1]->seq.count : 0;
  if (!count || count != (uint32_t)p[2]->seq.count) return NULL;
  uint32_t calls, more; /* of functions whose derivative the user knows */
  struct np_known **known = np_known_inside(t, examples[0], &calls, &more);
  loom_value *wanted = trace_alloc(t, (results + more + 1) * sizeof *wanted),
             *found = trace_alloc(t, (results + more + 1) * sizeof *found);
  value **out = trace_alloc(t, (results + 1) * sizeof *out);
  if (!known || !wanted || !found || !out) return NULL;
  loom_batch_ask ask = {.size = loom_graph_type(trace_graph(t), batches[0])->dims[0],
                        .examples = examples,
                        .batches = batches,
                        .count = count,
                        .of = wanted,
                        .host = batch_host,
                        .context = t};
  for (uint32_t i = 0; i < results; i++)
    if (of[i] != LOOM_NO_VALUE) wanted[ask.of_count++] = of[i];
  uint32_t next = ask.of_count;
  for (uint32_t i = 0; i < calls; i++)
    ask.of_count += np_known_values(t, known[i], wanted + ask.of_count);
  loom_location at = trace_location(t);
  loom_error err = {0};
  if (!loom_batch(trace_graph(t), &ask, found, &at, &err))
    return np_gradient_failed(t, BREAK_VMAP, &at, &err);
  if (!batch_drop_calls(t, examples, count)) return NULL;
  for (uint32_t i = 0; i < calls; i++) {
    if (!np_known_batch(t, known[i], found + next, &ask)) return NULL;
    next += np_known_values(t, known[i], wanted);
  }
  for (uint32_t i = 0, n = 0; i < results; i++) {
    loom_value v = of[i] == LOOM_NO_VALUE ? LOOM_NO_VALUE : found[n++];
    out[i] = v == LOOM_NO_VALUE ? t->constants.none : np_fresh(t, v, NULL);
    if (!out[i]) return NULL;
  }
  return value_tuple(t, out, results);
}
