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
#include "graph/gradient_rules.h"

/* One call of such a function. */
struct np_known {
  struct np_known *next; /* the call before */
  loom_gradient_known of;
  value **results;
  value *rule;
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
  value *given = trace_call(t, k->rule, cotangents, known->result_count, NULL);
  if (!given) return known_raised(s);
  if (!value_is_tuple(given) || given->seq.count != known->operand_count)
    return loom_emit_fail(s->b, "a rule gives no tuple of cotangents"), false;
  for (uint32_t i = 0; i < known->operand_count; i++) {
    found[i] =
        np_gradient_given(t, s->b, "frameloom.custom_vjp", known->operands[i], given->seq.items[i]);
    if (trace_pending(t) || s->b->failed) return known_raised(s);
  }
  return true;
}
