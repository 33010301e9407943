/* Functions whose derivative the user knows: frameloom.custom_vjp (python/frameloom/_gradient.py).
 *
 * Their results become values of their own, as arguments to differentiate by do. The walk over the
 * graph (graph/gradient.c) asks the user's rule for the cotangents of the arguments when it comes
 * to these values, and capture evaluates the rule there. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/gradient_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "graph/batch.h"
#include "graph/gradient_rules.h"

#include <string.h>

/* One call of such a function. */
struct np_known {
  struct np_known *next; /* the call before */
  loom_gradient_known of;
  value **results;
  value *rule;
  /* Of a call inside of frameloom.vmap, for all elements: the call for one, and the elements. */
  const struct np_known *one;
  const loom_value *examples, *batches;
  uint32_t example_count;
  loom_dim size;
};

/* _derives(): is what runs now differentiated? */
value *np_derives(tracer *t, const np_call *c) {
  (void)c;
  return value_bool(t, t->loops.derived > 0);
}

/* _begin_checkpoint(), _end_checkpoint(begun): a derivative computes again what is between them. */
value *np_checkpoint_begin(tracer *t, const np_call *c) {
  (void)c;
  return value_bool(t, trace_checkpoint_begin(t));
}

value *np_checkpoint_end(tracer *t, const np_call *c) {
  value *p[1] = {NULL};
  if (!np_parse(t, c, "begun |", p)) return NULL;
  if (p[0]->object == Py_True) trace_checkpoint_end(t);
  return t->constants.none;
}

static bool known_operands(tracer *t, struct np_known *k, value *const *xs) {
  loom_value *nodes = trace_alloc(t, (k->of.operand_count + 1) * sizeof *nodes);
  for (uint32_t i = 0; nodes && i < k->of.operand_count; i++)
    if ((nodes[i] = np_gradient_node(t, xs[i], "an argument")) == LOOM_NO_VALUE) return false;
  k->of.operands = nodes;
  return nodes != NULL;
}

/* The copies, whose nodes follow one another. */
static bool known_results(tracer *t, struct np_known *k, value *const *ys) {
  uint32_t count = k->of.result_count;
  loom_value *nodes = trace_alloc(t, (count + 1) * sizeof *nodes);
  k->results = trace_alloc(t, (count + 1) * sizeof *k->results);
  if (!nodes || !k->results) return false;
  for (uint32_t i = 0; i < count; i++)
    if ((nodes[i] = np_gradient_node(t, ys[i], "a result")) == LOOM_NO_VALUE) return false;
  k->of.first = trace_graph(t)->node_count;
  for (uint32_t i = 0; i < count; i++)
    if ((nodes[i] = np_gradient_own(t, nodes[i])) == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < count; i++)
    if (!(k->results[i] = np_gradient_value(t, ys[i], nodes[i]))) return false;
  return true;
}

/* _known(ys, xs, rule): the tuple ys of floats and arrays as values whose cotangents `rule` pulls
 * back to those of the tuple xs. Their nodes must stay where they are: loops are unrolled, and
 * branches on data break. */
value *np_known_mark(tracer *t, const np_call *c) {
  value *p[3] = {NULL};
  struct np_known **list = np_known_calls(t), *k = list ? trace_alloc(t, sizeof *k) : NULL;
  if (!k || !np_parse(t, c, "ys xs rule |", p)) return NULL;
  if (!value_is_tuple(p[0]) || !value_is_tuple(p[1])) return np_unsupported(t, c, "of no tuples");
  if (!t->kept->bans.all) {
    t->kept->bans.all = true;
    t->state = TRACE_RESTART;
    return NULL;
  }
  *k = (struct np_known){.next = *list, .rule = p[2]};
  k->of.result_count = (uint32_t)p[0]->seq.count;
  k->of.operand_count = (uint32_t)p[1]->seq.count;
  k->of.rule = k;
  if (!known_operands(t, k, p[1]->seq.items) || !known_results(t, k, p[0]->seq.items)) return NULL;
  if (k->of.result_count) *list = k;
  return value_tuple(t, k->results, p[0]->seq.count);
}

const loom_gradient_known *np_known_rules(tracer *t, uint32_t *count) {
  struct np_known **list = np_known_calls(t);
  *count = 0;
  for (struct np_known *k = list ? *list : NULL; k; k = k->next)
    ++*count;
  loom_gradient_known *all = *count ? trace_alloc(t, *count * sizeof *all) : NULL;
  if (!all) return *count = 0, NULL;
  uint32_t at = *count;
  for (struct np_known *k = *list; k; k = k->next)
    all[--at] = k->of;
  return all;
}

/* What a rule raises is the reason why there is no derivative: plain Python calls no rule. */
static bool known_raised(const loom_gradient_step *s) {
  tracer *t = s->ask->context;
  if (t->state != TRACE_RAISING) return false;
  const char *name = ((PyTypeObject *)exception_class(t->raised))->tp_name;
  const char *message = exception_message(t->raised);
  t->state = TRACE_GOING;
  t->raised = NULL;
  loom_emit_fail(s->b, "its backward rule raises %s%s%s", name, message ? ": " : "",
                 message ? message : "");
  return false;
}

static bool known_pull(tracer *t, const loom_gradient_step *s, const struct np_known *k,
                       value **cotangents, loom_value *found);

/* The cotangent of an operand, given that for one element and, where it depends on the element, for
 * all: the sum of these where all elements have the same operand. */
static loom_value known_for_all(tracer *t, const struct np_known *k, uint32_t operand,
                                loom_value one, loom_value all) {
  const int64_t axis = 0;
  if (one == LOOM_NO_VALUE) return one;
  if (all == LOOM_NO_VALUE) {
    const loom_type type = *emit_type(t, one);
    int64_t dims[LOOM_MAX_RANK] = {k->size};
    for (int i = 0; i < type.rank && i + 1 < LOOM_MAX_RANK; i++)
      dims[i + 1] = type.dims[i];
    all = emit_broadcast_to(t, one, type.rank + 1, dims);
  }
  bool same = k->of.operands[operand] == k->one->of.operands[operand];
  return same ? emit_reduce(t, "sum", all, &axis, 1) : all;
}

/* The rule for one element, vectorised: by the elements, and by the cotangents of the results. */
static bool known_pull_batch(tracer *t, const loom_gradient_step *s, const struct np_known *k,
                             value **cotangents, loom_value *found) {
  const struct np_known *one = k->one;
  uint32_t results = one->of.result_count, operands = one->of.operand_count;
  uint32_t count = results + k->example_count;
  loom_value *examples = trace_alloc(t, (count + 1) * sizeof *examples),
             *batches = trace_alloc(t, (count + 1) * sizeof *batches),
             *given = trace_alloc(t, (operands + 1) * sizeof *given),
             *wanted = trace_alloc(t, (operands + 1) * sizeof *wanted),
             *out = trace_alloc(t, (operands + 1) * sizeof *out);
  value **ones = trace_alloc(t, (results + 1) * sizeof *ones);
  if (!examples || !batches || !given || !wanted || !out || !ones) return false;
  for (uint32_t i = 0; i < results; i++) {
    batches[i] = np_read(t, np_array_of(cotangents[i]));
    examples[i] = np_example_of(t, batches[i]);
    if (examples[i] == LOOM_NO_VALUE) return false;
    if (!(ones[i] = np_gradient_value(t, one->results[i], examples[i]))) return false;
  }
  memcpy(examples + results, k->examples, k->example_count * sizeof *examples);
  memcpy(batches + results, k->batches, k->example_count * sizeof *batches);
  if (!known_pull(t, s, one, ones, given)) return false;
  loom_batch_ask ask = {
      .size = k->size, .examples = examples, .batches = batches, .count = count, .of = wanted};
  for (uint32_t i = 0; i < operands; i++)
    if (given[i] != LOOM_NO_VALUE) wanted[ask.of_count++] = given[i];
  if (!np_batch_emit(t, &ask, out, s->b)) return false;
  for (uint32_t i = 0, n = 0; i < operands; i++)
    found[i] =
        known_for_all(t, k, i, given[i], given[i] == LOOM_NO_VALUE ? LOOM_NO_VALUE : out[n++]);
  return !trace_pending(t);
}

static bool known_pull(tracer *t, const loom_gradient_step *s, const struct np_known *k,
                       value **cotangents, loom_value *found) {
  if (k->one) return known_pull_batch(t, s, k, cotangents, found);
  value *given = trace_call(t, k->rule, cotangents, k->of.result_count, NULL);
  if (!given) return known_raised(s);
  if (!value_is_tuple(given) || given->seq.count != k->of.operand_count)
    return loom_emit_fail(s->b, "a rule gives no tuple of cotangents"), false;
  for (uint32_t i = 0; i < k->of.operand_count; i++) {
    found[i] =
        np_gradient_given(t, s->b, "frameloom.custom_vjp", k->of.operands[i], given->seq.items[i]);
    if (trace_pending(t) || s->b->failed) return known_raised(s);
  }
  return true;
}

bool np_known_rule(const loom_gradient_step *s, const loom_gradient_known *known,
                   loom_value *found) {
  tracer *t = s->ask->context;
  const struct np_known *k = known->rule;
  value **cotangents = trace_alloc(t, (known->result_count + 1) * sizeof *cotangents);
  if (!cotangents) return false;
  for (uint32_t i = 0; i < known->result_count; i++) {
    const loom_type type = *emit_type(t, s->result + (loom_value)i);
    loom_value g = s->cotangents[i];
    if (g == LOOM_NO_VALUE) g = loom_emit_int(s->b, &type, 0);
    if (!(cotangents[i] = np_gradient_value(t, k->results[i], g))) return false;
  }
  return known_pull(t, s, k, cotangents, found);
}

/* ---- inside of frameloom.vmap ---- */

struct np_known **np_known_inside(tracer *t, loom_value first, uint32_t *count, uint32_t *values) {
  /* Nothing comes back to a batch of which no derivative is taken. */
  struct np_known **list = t->loops.derived > 1 ? np_known_calls(t) : NULL;
  const loom_graph *graph = trace_graph(t);
  *count = *values = 0;
  for (struct np_known *k = list ? *list : NULL; k; k = k->next)
    if ((int32_t)k->of.first > graph->values[first].node) ++*count;
  struct np_known **found = trace_alloc(t, (*count + 1) * sizeof *found);
  uint32_t at = *count;
  for (struct np_known *k = list ? *list : NULL; found && k && at; k = k->next) {
    found[--at] = k;
    *values += k->of.result_count + k->of.operand_count;
  }
  return found;
}

uint32_t np_known_values(tracer *t, const struct np_known *k, loom_value *out) {
  const loom_graph *graph = trace_graph(t);
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->of.result_count; i++)
    out[n++] = graph->nodes[k->of.first + i].first_result;
  for (uint32_t i = 0; i < k->of.operand_count; i++)
    out[n++] = k->of.operands[i];
  return n;
}

/* The results of the batch, whose nodes follow one another. */
static bool known_batched_results(tracer *t, struct np_known *all, const loom_value *found) {
  const loom_graph *graph = trace_graph(t);
  uint32_t count = all->of.result_count;
  all->of.first = (uint32_t)graph->values[found[0]].node;
  all->results = trace_alloc(t, (count + 1) * sizeof *all->results);
  for (uint32_t i = 0; all->results && i < count; i++) {
    bool next =
        found[i] != LOOM_NO_VALUE && (uint32_t)graph->values[found[i]].node == all->of.first + i;
    if (!next)
      return trace_break(t, BREAK_VMAP,
                         "a frameloom.custom_vjp only some results of which differ "
                         "between elements, inside of a derivative") != NULL;
    if (!(all->results[i] = np_fresh(t, found[i], NULL))) return false;
  }
  return all->results != NULL;
}

bool np_known_batch(tracer *t, const struct np_known *one, const loom_value *found,
                    const loom_batch_ask *ask) {
  struct np_known **list = np_known_calls(t), *all = list ? trace_alloc(t, sizeof *all) : NULL;
  uint32_t count = one->of.result_count, operands = one->of.operand_count;
  loom_value *nodes = all ? trace_alloc(t, (operands + 1) * sizeof *nodes) : NULL;
  if (!nodes) return false;
  if (found[0] == LOOM_NO_VALUE) return true; /* the same for all elements */
  *all = (struct np_known){.next = *list,
                           .of = {.result_count = count, .operand_count = operands},
                           .one = one,
                           .examples = ask->examples,
                           .batches = ask->batches,
                           .example_count = ask->count,
                           .size = ask->size};
  all->of.rule = all;
  all->of.operands = nodes;
  for (uint32_t i = 0; i < operands; i++)
    nodes[i] = found[count + i] == LOOM_NO_VALUE ? one->of.operands[i] : found[count + i];
  if (!known_batched_results(t, all, found)) return false;
  *list = all;
  return true;
}
