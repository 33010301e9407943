/* Derivatives of loops of a known length.
 *
 *   c = for i < n { c' = body(i, c, outside) }
 * becomes, besides the loop itself,
 *   states = for i < n { states[i] = c; c' = body(i, c, outside) }
 *   g, a = for k < n {
 *     i = n - 1 - k
 *     c = states[i]
 *     g', b = cotangents of c and outside in body(i, c, outside), given g
 *     a' = a + b
 *   }
 * where g starts as the cotangent of the loop's result and ends as that of its initial value, and a
 * is the cotangent of what is read from outside. The states take n times the memory of what is
 * carried.
 */
#include "graph/gradient_rules.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_shapes.h"

#include <stdlib.h>

typedef struct loop_job {
  const loom_gradient_step *s;
  const bool *active; /* of the operands */
  const loom_graph *body;
  uint32_t carried, outside;
  int64_t length, symbol; /* of the loop; -1: its body does not ask for the index */
  int64_t forth, back;    /* symbols of the two new loops */
  loom_value states;      /* the first of them: one for each carried value */
  loom_error *err;
} loop_job;

static loom_value loop_operand(const loop_job *j, uint32_t i) { return j->s->node.operands[i]; }

static const loom_type *loop_type(const loop_job *j, uint32_t input) {
  return &j->body->values[j->body->inputs[input].value].type;
}

static bool loop_is_smooth(const loop_job *j, uint32_t input) {
  return loom_dtype_is_inexact(loop_type(j, input)->dtype);
}

/* ---- numbers with the index in them ---- */

static bool loop_expr_has(const loom_graph *graph, uint32_t index, int64_t symbol) {
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_CONST) return false;
  if (e->kind == LOOM_EXPR_SYMBOL) return e->value == symbol;
  return loop_expr_has(graph, e->lhs, symbol) || loop_expr_has(graph, e->rhs, symbol);
}

static bool loop_attr_has(const loom_graph *graph, const loom_attr *attr, int64_t symbol) {
  for (int32_t i = 0; attr->kind == LOOM_ATTR_I64S && i < attr->count; i++)
    if (LOOM_STRIDE_IS_SYM(attr->ints[i]) &&
        loop_expr_has(graph, LOOM_STRIDE_EXPR(attr->ints[i]), symbol))
      return true;
  return false;
}

/* Does a node inside of a region of the body ask for the index? `table`: the graph of the sizes. */
static bool loop_inner_has(const loom_graph *table, const loom_graph *graph, int64_t symbol,
                           bool inner) {
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const loom_node *node = &graph->nodes[n];
    for (int i = 0; inner && i < LOOM_MAX_ATTRS; i++)
      if (loop_attr_has(table, &node->attrs[i], symbol)) return true;
    for (int r = 0; node->regions && r < loom_op_table[node->op].regions; r++)
      if (loop_inner_has(table, node->regions[r], symbol, true)) return true;
  }
  return false;
}

/* The number with `by` in place of the symbol. */
static bool loop_replace(loom_graph *graph, uint32_t index, int64_t symbol, int64_t by,
                         int64_t *out) {
  const loom_expr e = graph->exprs[index];
  int64_t lhs, rhs;
  loom_dim dim;
  if (e.kind == LOOM_EXPR_CONST) return *out = e.value, true;
  if (e.kind == LOOM_EXPR_SYMBOL && e.value == symbol) return *out = by, true;
  if (e.kind == LOOM_EXPR_SYMBOL) {
    if (!loom_dim_of_symbol(graph, (uint32_t)e.value, &dim)) return false;
    return *out = loom_stride_of_dim(dim), true;
  }
  return loop_replace(graph, e.lhs, symbol, by, &lhs) &&
         loop_replace(graph, e.rhs, symbol, by, &rhs) &&
         loom_stride_combine(graph, e.kind, lhs, rhs, out);
}

/* The attribute with another index. */
static bool loop_attr(loom_graph *graph, const loop_job *j, int64_t by, loom_attr *attr) {
  if (j->symbol < 0 || !loop_attr_has(graph, attr, j->symbol)) return true;
  int64_t *ints = loom_arena_alloc(&graph->arena, (size_t)attr->count * sizeof *ints);
  for (int32_t i = 0; ints && i < attr->count; i++) {
    ints[i] = attr->ints[i];
    if (LOOM_STRIDE_IS_SYM(ints[i]) &&
        !loop_replace(graph, LOOM_STRIDE_EXPR(attr->ints[i]), j->symbol, by, &ints[i]))
      return loom_fail(j->err, "a position cannot be expressed");
  }
  attr->ints = ints;
  return ints || loom_fail(j->err, "out of memory");
}

/* ---- regions ---- */

/* The nodes of the body, with the index `by` (a number). */
static bool loop_body(const loop_job *j, loom_graph *to, loom_value *map, int64_t by) {
  for (uint32_t n = 0; n < j->body->node_count; n++) {
    loom_node node = j->body->nodes[n];
    for (int i = 0; i < LOOM_MAX_ATTRS; i++)
      if (!loop_attr(to, j, by, &node.attrs[i])) return false;
    if (!loom_graph_copy_node(j->body, &node, to, map, j->err)) return false;
  }
  return true;
}

static loom_value loop_input(const loop_job *j, loom_graph *to, const loom_type *type) {
  const loom_type copy = *type;
  loom_value v = loom_graph_input(to, LOOM_INPUT_ARRAY, &copy, NULL);
  if (v == LOOM_NO_VALUE) loom_fail(j->err, "out of memory");
  return v;
}

static loom_type loop_stack_type(const loop_job *j, uint32_t input, int64_t rows) {
  const loom_type *one = loop_type(j, input);
  loom_type type = {.dtype = one->dtype, .rank = one->rank + 1, .dims = {rows}};
  for (int i = 0; i < one->rank; i++)
    type.dims[i + 1] = one->dims[i];
  return type;
}

/* Attributes that take one row of a stack, at a number. */
typedef struct loop_row {
  int64_t starts[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  loom_attr attrs[3];
} loop_row;

static void loop_row_at(loop_row *r, const loom_type *stack, int64_t at) {
  for (int i = 0; i < stack->rank; i++) {
    r->starts[i] = i ? 0 : at;
    r->sizes[i] = !i ? 1 : LOOM_DIM_IS_SYM(stack->dims[i]) ? -1 : stack->dims[i];
    r->steps[i] = 1;
  }
  r->attrs[0] = (loom_attr){.kind = LOOM_ATTR_I64S, .ints = r->starts, .count = stack->rank};
  r->attrs[1] = (loom_attr){.kind = LOOM_ATTR_I64S, .ints = r->sizes, .count = stack->rank};
  r->attrs[2] = (loom_attr){.kind = LOOM_ATTR_I64S, .ints = r->steps, .count = stack->rank};
}

static bool loop_outputs(const loop_job *j, loom_emitter *b, const loom_value *values,
                         uint32_t count) {
  if (b->failed) return loom_fail(j->err, "%s", b->err.message);
  for (uint32_t i = 0; i < count; i++)
    if (!loom_graph_output(b->graph, values[i], NULL)) return loom_fail(j->err, "out of memory");
  return true;
}

/* ---- the loop that keeps its states ---- */

static bool loop_save_region(const loop_job *j, loom_graph *to, loom_value *map) {
  uint32_t carried = j->carried;
  const loom_input *ins = j->body->inputs;
  loom_value *stacks = loom_arena_alloc(&to->arena, (2 * carried + 1) * sizeof *stacks);
  loom_emitter b = {.graph = to, .location = j->s->node.location};
  loom_dim index;
  if (!stacks || !loom_dim_of_symbol(to, (uint32_t)j->forth, &index))
    return loom_fail(j->err, "out of memory");
  for (uint32_t i = 0; i <= carried; i++)
    if ((map[ins[i].value] = loop_input(j, to, loop_type(j, i))) == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < carried; i++) {
    const loom_type type = loop_stack_type(j, i + 1, j->length);
    if ((stacks[i] = loop_input(j, to, &type)) == LOOM_NO_VALUE) return false;
  }
  for (uint32_t i = carried + 1; i < j->body->input_count; i++)
    if ((map[ins[i].value] = loop_input(j, to, loop_type(j, i))) == LOOM_NO_VALUE) return false;
  if (!loop_body(j, to, map, loom_stride_of_dim(index))) return false;
  for (uint32_t i = 0; i < carried; i++) {
    loop_row row;
    const loom_type type = loop_stack_type(j, i + 1, j->length), one = loop_stack_type(j, i + 1, 1);
    loop_row_at(&row, &type, loom_stride_of_dim(index));
    loom_value update = loom_emit_reshape(&b, map[ins[i + 1].value], one.rank, one.dims);
    const loom_attr attrs[2] = {row.attrs[0], row.attrs[2]};
    stacks[carried + i] = loom_emit(&b, LOOM_OP_UPDATE_SLICE, (loom_value[]){stacks[i], update}, 2,
                                    attrs, 2, NULL, 0);
  }
  for (uint32_t i = 0; i < carried; i++)
    stacks[i] = map[j->body->outputs[i].value];
  return loop_outputs(j, &b, stacks, 2 * carried);
}

static bool loop_save(loop_job *j) {
  loom_graph *graph = j->s->b->graph, region;
  uint32_t count = j->s->node.operand_count;
  loom_value *operands = loom_arena_alloc(&graph->arena, (count + j->carried) * sizeof *operands);
  loom_value *map = calloc(j->body->value_count + 1, sizeof *map);
  if (!operands || !map) return free(map), loom_fail(j->err, "out of memory");
  for (uint32_t i = 0; i <= j->carried; i++)
    operands[i] = loop_operand(j, i);
  for (uint32_t i = 0; i < j->carried; i++) {
    const loom_type type = loop_stack_type(j, i + 1, j->length);
    operands[1 + j->carried + i] = loom_emit_int(j->s->b, &type, 0);
  }
  for (uint32_t i = 0; i < j->outside; i++)
    operands[1 + 2 * j->carried + i] = loop_operand(j, 1 + j->carried + i);
  loom_region_init(&region, graph);
  bool good = loop_save_region(j, &region, map);
  free(map);
  if (!good) return loom_graph_fini(&region), false;
  loom_value first = loom_graph_region_node(graph, LOOM_OP_FOR, operands, count + j->carried,
                                            &region, j->forth, &j->s->node.location, j->err);
  j->states = first + j->carried;
  return first != LOOM_NO_VALUE;
}

/* ---- the loop that goes back ---- */

/* The loop that goes back. Inputs of its region are the index, the cotangents of the carried
 * values, the sums of the cotangents of outside values, the states, and the outside values. */
typedef struct loop_back {
  loom_value *g, *sums, *states; /* the region's, by carried or outside value; or LOOM_NO_VALUE */
  loom_value *map;               /* values of the body */
} loop_back;

static bool loop_sums(const loop_job *j, uint32_t outside) {
  return j->active[1 + j->carried + outside] && loop_is_smooth(j, 1 + j->carried + outside);
}

static bool loop_back_inputs(const loop_job *j, loom_graph *to, loop_back *k, loom_value *index) {
  *index = loop_input(j, to, loop_type(j, 0));
  for (uint32_t i = 0; i < j->carried; i++)
    k->g[i] = loop_is_smooth(j, 1 + i) ? loop_input(j, to, loop_type(j, 1 + i)) : LOOM_NO_VALUE;
  for (uint32_t i = 0; i < j->outside; i++)
    k->sums[i] =
        loop_sums(j, i) ? loop_input(j, to, loop_type(j, 1 + j->carried + i)) : LOOM_NO_VALUE;
  for (uint32_t i = 0; i < j->carried; i++) {
    const loom_type type = loop_stack_type(j, 1 + i, j->length);
    k->states[i] = loop_input(j, to, &type);
  }
  for (uint32_t i = 1 + j->carried; i < j->body->input_count; i++)
    k->map[j->body->inputs[i].value] = loop_input(j, to, loop_type(j, i));
  return !j->err->message[0];
}

/* The index and the state of this iteration, counted from the end. */
static bool loop_back_state(const loop_job *j, loom_emitter *b, loop_back *k, loom_value index,
                            int64_t at) {
  const loom_input *ins = j->body->inputs;
  const loom_type whole = *loop_type(j, 0);
  k->map[ins[0].value] = loom_emit2(b, LOOM_OP_SUB, loom_emit_int(b, &whole, j->length - 1), index);
  for (uint32_t i = 0; i < j->carried; i++) {
    loop_row row;
    const loom_type type = loop_stack_type(j, 1 + i, j->length), one = *loop_type(j, 1 + i);
    loop_row_at(&row, &type, at);
    loom_value v = loom_emit(b, LOOM_OP_SLICE, &k->states[i], 1, row.attrs, 3, NULL, 0);
    v = loom_emit_reshape(b, v, one.rank, one.dims);
    /* A value of its own: nothing is differentiated beyond it. */
    k->map[ins[1 + i].value] = loom_emit1(b, LOOM_OP_COPY, v);
  }
  return !b->failed || loom_fail(j->err, "%s", b->err.message);
}

static bool loop_back_region(const loop_job *j, loom_graph *to, loop_back *k) {
  loom_emitter b = {.graph = to, .location = j->s->node.location};
  uint32_t all = j->carried + j->outside, of_count = 0, to_count = 0;
  loom_value *room = loom_arena_alloc(&to->arena, (4 * all + 4) * sizeof *room), index;
  loom_value *of = room, *seeds = of + all + 1, *inputs = seeds + all + 1,
             *found = inputs + all + 1;
  int64_t minus, at;
  loom_dim symbol;
  if (!room || !loom_dim_of_symbol(to, (uint32_t)j->back, &symbol))
    return loom_fail(j->err, "out of memory");
  if (!loom_stride_combine(to, LOOM_EXPR_MUL, loom_stride_of_dim(symbol), -1, &minus) ||
      !loom_stride_combine(to, LOOM_EXPR_ADD, minus, j->length - 1, &at))
    return loom_fail(j->err, "a position cannot be expressed");
  if (!loop_back_inputs(j, to, k, &index) || !loop_back_state(j, &b, k, index, at) ||
      !loop_body(j, to, k->map, at))
    return false;
  for (uint32_t i = 0; i < j->carried; i++) {
    if (k->g[i] == LOOM_NO_VALUE) continue;
    of[of_count] = k->map[j->body->outputs[i].value];
    seeds[of_count++] = k->g[i];
    inputs[to_count++] = k->map[j->body->inputs[1 + i].value];
  }
  for (uint32_t i = 0; i < j->outside; i++)
    if (k->sums[i] != LOOM_NO_VALUE)
      inputs[to_count++] = k->map[j->body->inputs[1 + j->carried + i].value];
  const loom_gradient_ask ask = {
      .of = of, .seeds = seeds, .of_count = of_count, .to = inputs, .count = to_count};
  loom_location where = {0};
  if (!loom_gradient(to, &ask, found, &where, j->err)) {
    j->s->b->location = where;
    return false;
  }
  for (uint32_t i = 0, n = of_count; i < j->outside; i++) {
    if (k->sums[i] == LOOM_NO_VALUE) continue;
    found[n] = loom_emit2(&b, LOOM_OP_ADD, k->sums[i], found[n]);
    n++;
  }
  return loop_outputs(j, &b, found, to_count);
}

/* Operands: the count, cotangents or zeros, zeros for sums, states, the outside. */
static loom_value *loop_back_operands(const loop_job *j, uint32_t *count) {
  loom_emitter *b = j->s->b;
  uint32_t all = 1 + 2 * (j->carried + j->outside);
  loom_value *operands = loom_arena_alloc(&b->graph->arena, all * sizeof *operands);
  uint32_t n = 0;
  if (!operands) return loom_fail(j->err, "out of memory"), NULL;
  operands[n++] = loop_operand(j, 0);
  for (uint32_t i = 0; i < j->carried; i++) {
    const loom_type type = *loop_type(j, 1 + i);
    if (!loop_is_smooth(j, 1 + i)) continue;
    loom_value g = j->s->cotangents[i];
    operands[n++] = g == LOOM_NO_VALUE ? loom_emit_int(b, &type, 0) : g;
  }
  for (uint32_t i = 0; i < j->outside; i++) {
    const loom_type type = *loop_type(j, 1 + j->carried + i);
    if (loop_sums(j, i)) operands[n++] = loom_emit_int(b, &type, 0);
  }
  for (uint32_t i = 0; i < j->carried; i++)
    operands[n++] = j->states + i;
  for (uint32_t i = 0; i < j->outside; i++)
    operands[n++] = loop_operand(j, 1 + j->carried + i);
  *count = n;
  return operands;
}

static bool loop_go_back(const loop_job *j, loom_value *out) {
  loom_graph *graph = j->s->b->graph, region;
  uint32_t all = j->carried + j->outside + 1, count = 0;
  loom_value *operands = loop_back_operands(j, &count);
  loom_value *room = calloc(3 * (size_t)all + j->body->value_count + 1, sizeof *room);
  if (!operands || !room) return free(room), loom_fail(j->err, "out of memory");
  loop_back k = {room, room + all, room + 2 * all, room + 3 * all};
  loom_region_init(&region, graph);
  loom_value first = LOOM_NO_VALUE;
  if (loop_back_region(j, &region, &k))
    first = loom_graph_region_node(graph, LOOM_OP_FOR, operands, count, &region, j->back,
                                   &j->s->node.location, j->err);
  else
    loom_graph_fini(&region);
  for (uint32_t i = 0; i < j->carried && first != LOOM_NO_VALUE; i++)
    if (k.g[i] != LOOM_NO_VALUE) out[1 + i] = first++;
  for (uint32_t i = 0; i < j->outside && first != LOOM_NO_VALUE; i++)
    if (k.sums[i] != LOOM_NO_VALUE) out[1 + j->carried + i] = first++;
  free(room);
  return first != LOOM_NO_VALUE;
}

/* ---- a loop ---- */

static bool loop_symbol(const loop_job *j, int64_t *out) {
  const loom_gradient_ask *ask = j->s->ask;
  loom_graph *graph = j->s->b->graph;
  const loom_symbol known = {.max = j->length - 1, .divisor = 1};
  loom_dim dim;
  if (ask->symbol) return ask->symbol(ask->context, j->length, out);
  if (!loom_dim_symbol(graph, &known, &dim)) return false;
  return *out = (int64_t)graph->symbol_count - 1, true;
}

bool loom_gradient_loop(const loom_gradient_step *s, const bool *active, loom_value *out) {
  const loom_graph *graph = s->b->graph;
  int32_t counted = graph->values[s->node.operands[0]].node;
  loom_error err = {0};
  loop_job j = {.s = s,
                .active = active,
                .body = s->node.regions[0],
                .carried = s->node.result_count,
                .outside = s->node.operand_count - 1 - s->node.result_count,
                .symbol = s->node.attrs[0].i,
                .err = &err};
  if (counted < 0 || graph->nodes[counted].op != LOOM_OP_CONSTANT)
    return loom_emit_fail(s->b, "a loop whose length changes has no derivative"), false;
  j.length = (int64_t)graph->nodes[counted].attrs[0].bits;
  for (uint32_t i = 0; i < j.carried; i++)
    if (loop_type(&j, 1 + i)->rank == LOOM_MAX_RANK)
      return loom_emit_fail(s->b, "a loop over arrays of %d dimensions has no derivative",
                            LOOM_MAX_RANK),
             false;
  if (j.length < 1 || (j.symbol >= 0 && loop_inner_has(graph, j.body, j.symbol, false)))
    return loom_emit_fail(s->b, "a loop whose index an inner loop reads has no derivative"), false;
  if (!loop_symbol(&j, &j.forth) || !loop_symbol(&j, &j.back))
    return loom_emit_fail(s->b, "there are too many loops for derivatives"), false;
  if (loop_save(&j) && loop_go_back(&j, out)) return true;
  return loom_emit_fail(s->b, "%s", err.message[0] ? err.message : "out of memory"), false;
}
