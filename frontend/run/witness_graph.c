/* The graph that tells which operations may have raised a floating-point flag.
 *
 * It is a copy of the captured graph in which every operation that may raise one of the flags in
 * question is followed by a test of what goes into it and what comes out: where the operands alone
 * tell, by the domain of the operation (domain.c); else an operation on floats that raises invalid
 * makes a NaN of what is none, one that raises divide or overflow makes an infinity of finite
 * numbers. The tests are joined to one truth, its only output, and what that does not need is
 * dropped.
 *
 * The body of a loop is treated in the same way; what it finds is carried from one iteration to the
 * next, as a value more for each shape. A branch gives it as one result more.
 *
 * before: %s = for %n, %x { ^(%i, %c): %d = log %c; yield %d } after: %s, %t = for %n, %x, false {
 * ^(%i, %c, %u):
 *            %d = log %c; %v = or %u, any(%c < 0); yield %d, %v }
 *
 * The condition of a `while` gives no other result: its operations are repeated, with tests, at the
 * beginning of the body (each time that it was true) and behind the loop (the last time).
 *
 * before: %s = while %x { ^(%c): yield log(%c) < 3 } do { ^(%c): %d = add %c, 1; yield %d } after:
 * %s, %t = while %x, false { ^(%c, %u): yield log(%c) < 3 } do { ^(%c, %u):
 *            %l = log %c; %d = add %c, 1; %v = or %u, any(%c < 0); yield %d, %v }
 *          %l = log %s; %w = or %t, any(%s < 0)
 *
 * Operations that cannot be tested in this way are left out of the cover: host calls, and loops in
 * the condition of a `while`.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/run/internal.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"

#include <math.h>
#include <string.h>

#define WITNESS_SHAPES 8
#define WITNESS_KINDS (LOOM_FP_DIVIDE | LOOM_FP_OVERFLOW | LOOM_FP_INVALID)

typedef struct witness_maker {
  loom_graph *whole; /* the outermost graph: it owns all memory */
  witness_cover *cover;
  uint32_t flags; /* that were raised and matter */
} witness_maker;

/* The condition of a `while`, as it was. */
typedef struct witness_condition {
  const loom_node *nodes;
  const loom_value_info *values;
  const loom_value *inputs;
  uint32_t node_count, value_count, input_count;
} witness_condition;

/* One graph, the outermost or a region, that is being made anew out of its own nodes. */
typedef struct witness_walk {
  witness_maker *m;
  loom_emitter b;
  loom_value *now;                /* of each value that it had: what stands in its place */
  loom_value any[WITNESS_SHAPES]; /* of each shape: may something have raised one? */
  int shapes;
} witness_walk;

/* ---- one operation ---- */

static loom_dtype witness_dtype(const witness_walk *w, loom_value v) {
  return loom_graph_type(w->b.graph, v)->dtype;
}

static bool witness_is_complex(const witness_walk *w, const loom_node *node) {
  return loom_dtype_is_complex(witness_dtype(w, node->operands[0]));
}

/* Is each element of the result made of one of each operand? */
static bool witness_is_pointwise(const witness_walk *w, const loom_node *node) {
  const loom_type *to = loom_graph_type(w->b.graph, node->first_result);
  loom_lowering lower = loom_op_table[node->op].lower;
  bool same = lower == LOOM_LOWER_UNARY || lower == LOOM_LOWER_BINARY ||
              lower == LOOM_LOWER_TERNARY || lower == LOOM_LOWER_CONVERT;
  for (uint32_t i = 0; i < node->operand_count && same; i++) {
    const loom_type *from = loom_graph_type(w->b.graph, node->operands[i]);
    same = from->rank == to->rank && !memcmp(from->dims, to->dims, sizeof *to->dims * to->rank);
  }
  return same;
}

/* Of complex numbers: by results that are not finite, and by operands so large that the way to a
 * finite result may overflow. */
static bool witness_can_tell_complex(const witness_walk *w, const loom_node *node) {
  switch (node->op) {
  case LOOM_OP_ADD:
  case LOOM_OP_SUB:
  case LOOM_OP_MUL:
  case LOOM_OP_DIV:
  case LOOM_OP_EXP:
  case LOOM_OP_ABS:
  case LOOM_OP_REDUCE:
  case LOOM_OP_SCAN:
  case LOOM_OP_DOT_GENERAL: return true;
  case LOOM_OP_CONVERT: return loom_dtype_is_inexact(witness_dtype(w, node->first_result));
  default: return false;
  }
}

/* The place of the greatest or least float, which raises nothing. */
static bool witness_is_place(const witness_walk *w, const loom_node *node) {
  return loom_op_table[node->op].fusion == LOOM_CLASS_REDUCE &&
         loom_dtype_is_float(witness_dtype(w, node->operands[0]));
}

/* A float that becomes an integer. */
static bool witness_is_cut(const witness_walk *w, const loom_node *node) {
  return loom_op_table[node->op].lower == LOOM_LOWER_CONVERT &&
         loom_dtype_is_float(witness_dtype(w, node->operands[0]));
}

/* Can a test tell whether this node has raised one of these flags? A reduction is tested by its
 * results alone, which are finite where it raised none. */
static bool witness_can_tell(const witness_walk *w, const loom_node *node) {
  if (loom_op_table[node->op].regions || node->op == LOOM_OP_HOST_CALL || node->result_count != 1 ||
      !node->operand_count)
    return false;
  if (witness_is_complex(w, node)) return witness_can_tell_complex(w, node);
  loom_dtype dtype = witness_dtype(w, node->first_result);
  if (loom_dtype_is_integer(dtype))
    return domain_has_integers(node->op) || witness_is_place(w, node) || witness_is_cut(w, node);
  bool floats = loom_dtype_is_float(dtype);
  for (uint32_t i = 0; i < node->operand_count && floats; i++)
    floats = loom_dtype_is_float(witness_dtype(w, node->operands[i])) ||
             (i == 1 && loom_op_table[node->op].indexed); /* its indices */
  return floats;
}

/* Where does the result show that the operation raised `flag`: a NaN though no operand is one, or
 * an infinity though all operands are finite? */
static loom_value witness_by_result(loom_emitter *b, const loom_node *node, uint32_t flag) {
  bool invalid = flag == LOOM_FP_INVALID;
  uint32_t count = node->op == LOOM_OP_POW && !invalid ? 1 : node->operand_count;
  loom_value bad = loom_emit1(b, invalid ? LOOM_OP_IS_NAN : LOOM_OP_IS_INF, node->first_result);
  for (uint32_t i = 0; i < count; i++) {
    loom_value x = node->operands[i];
    loom_value good = invalid ? loom_emit1(b, LOOM_OP_NOT, loom_emit1(b, LOOM_OP_IS_NAN, x))
                              : loom_emit1(b, LOOM_OP_IS_FINITE, x);
    bad = loom_emit2(b, LOOM_OP_AND, bad, good);
  }
  return bad;
}

/* Where may it have raised `flag`? LOOM_NO_VALUE: nowhere. An infinity at a pole is no overflow. */
static loom_value witness_of_flag(loom_emitter *b, const loom_node *node, uint32_t flag) {
  loom_value there, pole;
  if (domain_raises(b, node->op, node->operands, flag, &there)) return there;
  there = witness_by_result(b, node, flag);
  if (flag != LOOM_FP_OVERFLOW ||
      !domain_raises(b, node->op, node->operands, LOOM_FP_DIVIDE, &pole) || pole == LOOM_NO_VALUE)
    return there;
  return loom_emit2(b, LOOM_OP_AND, there, loom_emit1(b, LOOM_OP_NOT, pole));
}

static loom_value witness_not_finite(loom_emitter *b, loom_value v) {
  return loom_emit1(b, LOOM_OP_NOT, loom_emit1(b, LOOM_OP_IS_FINITE, v));
}

/* Where is a part of this complex number beyond what can be squared, or no number? */
static loom_value witness_is_far(loom_emitter *b, loom_value z) {
  bool single = loom_emit_type(b, z)->dtype == LOOM_C64;
  loom_value far = LOOM_NO_VALUE;
  for (int i = 0; i < 2; i++) {
    loom_value part = loom_emit1(b, i ? LOOM_OP_IMAG : LOOM_OP_REAL, z);
    loom_type type = *loom_emit_type(b, part);
    loom_value bound = loom_emit_float(b, &type, single ? 0x1p56 : 0x1p504);
    loom_value near = loom_emit_compare(b, "le", loom_emit1(b, LOOM_OP_ABS, part), bound);
    loom_value there = loom_emit1(b, LOOM_OP_NOT, near);
    far = i ? loom_emit2(b, LOOM_OP_OR, far, there) : there;
  }
  return far;
}

static loom_value witness_where_complex(loom_emitter *b, const loom_node *node) {
  loom_value where = witness_not_finite(b, node->first_result);
  if (node->op != LOOM_OP_DIV && node->op != LOOM_OP_EXP) return where;
  for (uint32_t i = 0; i < node->operand_count; i++)
    where = loom_emit2(b, LOOM_OP_OR, where, witness_is_far(b, node->operands[i]));
  return where;
}

/* Where is a float beyond the integers of the result, or no number? */
static loom_value witness_where_cut(loom_emitter *b, const loom_node *node) {
  loom_dtype to = loom_emit_type(b, node->first_result)->dtype;
  loom_type type = *loom_emit_type(b, node->operands[0]);
  bool is_signed = loom_dtype_is_signed(to);
  double end = ldexp(1, 8 * (int)loom_dtype_size(to) - is_signed);
  loom_value x = node->operands[0];
  loom_value low = is_signed ? loom_emit_compare(b, "ge", x, loom_emit_float(b, &type, -end))
                             : loom_emit_compare(b, "gt", x, loom_emit_float(b, &type, -1));
  loom_value high = loom_emit_compare(b, "lt", x, loom_emit_float(b, &type, end));
  return loom_emit1(b, LOOM_OP_NOT, loom_emit2(b, LOOM_OP_AND, low, high));
}

/* Where may it have raised one of these flags? LOOM_NO_VALUE: nowhere. */
static loom_value witness_where(witness_walk *w, const loom_node *node, uint32_t flags) {
  loom_emitter *b = &w->b;
  loom_value where = LOOM_NO_VALUE;
  if (loom_dtype_is_integer(witness_dtype(w, node->first_result))) {
    if (witness_is_place(w, node)) return LOOM_NO_VALUE;
    if (witness_is_cut(w, node)) return witness_where_cut(b, node);
  }
  if (!witness_is_pointwise(w, node)) return witness_not_finite(b, node->first_result);
  if (witness_is_complex(w, node)) return witness_where_complex(b, node);
  for (uint32_t flag = 1; flag <= LOOM_FP_INVALID; flag <<= 1) {
    loom_value there = flags & flag ? witness_of_flag(b, node, flag) : LOOM_NO_VALUE;
    if (there == LOOM_NO_VALUE) continue;
    where = where == LOOM_NO_VALUE ? there : loom_emit2(b, LOOM_OP_OR, where, there);
  }
  return where;
}

/* ---- what has been found ---- */

/* Is there an element in any place? A value of rank 0. */
static loom_value witness_join(witness_walk *w, loom_value v) {
  int rank = loom_emit_type(&w->b, v)->rank;
  return rank ? loom_emit_reduce(&w->b, "or", v, (1u << rank) - 1, false) : v;
}

/* Joins tests of one shape before they are reduced to one bool. */
static void witness_add(witness_walk *w, loom_value where) {
  for (int i = 0; i < w->shapes; i++)
    if (loom_type_equal(loom_emit_type(&w->b, w->any[i]), loom_emit_type(&w->b, where))) {
      w->any[i] = loom_emit2(&w->b, LOOM_OP_OR, w->any[i], where);
      return;
    }
  if (w->shapes < WITNESS_SHAPES)
    w->any[w->shapes++] = where;
  else
    w->any[0] = loom_emit2(&w->b, LOOM_OP_OR, witness_join(w, w->any[0]), witness_join(w, where));
}

/* The truth of all that was found, or of `before`. */
static loom_value witness_all(witness_walk *w, loom_value before) {
  for (int i = 0; i < w->shapes; i++)
    before = loom_emit2(&w->b, LOOM_OP_OR, before, witness_join(w, w->any[i]));
  return before;
}

static loom_value witness_false(witness_walk *w) {
  loom_type truth = loom_type_make(LOOM_BOOL, 0, NULL);
  return loom_emit_int(&w->b, &truth, 0);
}

static uint32_t *witness_covered(witness_maker *m, const loom_node *node) {
  return node->location.warning ? &m->cover->rows[node->location.warning - 1] : &m->cover->untold;
}

/* Takes the flags of all of the graph's operations out of the cover. */
static void witness_leave_out(witness_maker *m, const loom_graph *graph) {
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const loom_node *node = &graph->nodes[n];
    if (!loom_op_table[node->op].regions) *witness_covered(m, node) &= ~loom_node_fp(graph, node);
    for (int r = 0; r < loom_op_table[node->op].regions; r++)
      witness_leave_out(m, node->regions[r]);
  }
}

/* ---- graphs ---- */

/* `before`: what is to be repeated in front of it, of the same inputs; or NULL. */
static bool witness_walk_nodes(witness_walk *w, const witness_condition *before);

bool witness_append(loom_graph *graph, const loom_node *node) {
  loom_node *nodes = loom_graph_grow(graph, graph->nodes, graph->node_count, 1,
                                     &graph->node_capacity, sizeof *nodes);
  if (!nodes) return false;
  graph->nodes = nodes;
  for (uint32_t i = 0; i < node->result_count; i++)
    graph->values[node->first_result + i].node = (int32_t)graph->node_count;
  nodes[graph->node_count++] = *node;
  return true;
}

/* Numbers values in the order of the nodes that make them, as in every graph: a graph's key in the
 * cache does not say which node has made which value. */
static bool witness_number(loom_graph *graph) {
  loom_value *map = loom_arena_alloc(&graph->arena, (graph->value_count + 1) * sizeof *map),
             next = 0;
  loom_value_info *values =
      loom_arena_alloc(&graph->arena, (graph->value_count + 1) * sizeof *values);
  if (!map || !values) return false;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    values[next] = graph->values[graph->inputs[i].value];
    map[graph->inputs[i].value] = next;
    graph->inputs[i].value = next++;
  }
  for (uint32_t n = 0; n < graph->node_count; n++) {
    loom_node *node = &graph->nodes[n];
    loom_value *operands =
        loom_arena_alloc(&graph->arena, (node->operand_count + 1) * sizeof *operands);
    if (!operands) return false;
    for (uint32_t i = 0; i < node->operand_count; i++)
      operands[i] = map[node->operands[i]];
    node->operands = operands;
    for (uint32_t i = 0; i < node->result_count; i++) {
      values[next + i] = graph->values[node->first_result + i];
      map[node->first_result + i] = next + i;
    }
    node->first_result = next;
    next += node->result_count;
  }
  for (uint32_t i = 0; i < graph->output_count; i++)
    graph->outputs[i].value = map[graph->outputs[i].value];
  graph->values = values;
  graph->value_count = graph->value_capacity = next;
  return true;
}

bool witness_finish(loom_graph *graph) {
  loom_graph_prune(graph);
  return witness_number(graph);
}

/* A region's nodes, with tests behind them. Its tables of sizes are those of the graph around it,
 * and have to stay so. */
static bool witness_region(witness_maker *m, loom_graph *region, const witness_condition *before,
                           witness_walk *w) {
  uint32_t sizes = region->expr_count, symbols = region->symbol_count;
  *w = (witness_walk){.m = m, .b = {.graph = region}};
  return witness_walk_nodes(w, before) && region->expr_count == sizes &&
         region->symbol_count == symbols;
}

static bool witness_close(witness_walk *w, loom_value before) {
  loom_value all = witness_all(w, before);
  return !w->b.failed && loom_graph_output(w->b.graph, all, NULL);
}

/* Input `at` of the region becomes one of this type that is carried; those behind it move. */
static loom_value witness_carry(loom_graph *region, const loom_type *type, uint32_t at) {
  loom_value made = loom_graph_input(region, LOOM_INPUT_ARRAY, type, NULL);
  if (made == LOOM_NO_VALUE) return made;
  loom_input last = region->inputs[region->input_count - 1];
  memmove(region->inputs + at + 1, region->inputs + at,
          (region->input_count - 1 - at) * sizeof last);
  region->inputs[at] = last;
  for (uint32_t i = at; i < region->input_count; i++)
    region->values[region->inputs[i].value].index = (int32_t)i;
  return made;
}

/* Copies the node, with `more` operands inserted at `at`, and with further results that tell what
 * its regions have found. */
static bool witness_again(witness_walk *w, const loom_node *node, const loom_value *more,
                          uint32_t more_count, uint32_t at) {
  loom_graph *graph = w->b.graph;
  uint32_t count = node->operand_count + more_count;
  loom_value *operands = loom_arena_alloc(&w->m->whole->arena, (count + 1) * sizeof *operands);
  if (!operands) return false;
  for (int r = 0; r < loom_op_table[node->op].regions; r++)
    if (!witness_finish((loom_graph *)node->regions[r])) return false;
  for (uint32_t i = 0, from = 0; i < count; i++)
    operands[i] = i >= at && i < at + more_count ? more[i - at] : node->operands[from++];
  loom_value made =
      loom_graph_add_node(graph, node->op, operands, count, node->attrs, node->op != LOOM_OP_IF,
                          node->regions, NULL, 0, &node->location, &w->b.err);
  if (made == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < node->result_count; i++)
    w->now[node->first_result + i] = made + i;
  uint32_t results = graph->nodes[graph->node_count - 1].result_count;
  for (uint32_t i = node->result_count; i < results; i++)
    witness_add(w, made + i);
  return true;
}

/* ---- the condition of a `while` ---- */

/* Has a test of it to be repeated? *out: it as it is now. False: out of memory. */
static bool witness_condition_of(witness_walk *w, const loom_graph *graph, bool *repeats,
                                 witness_condition *out) {
  loom_arena *arena = &w->m->whole->arena;
  loom_value *inputs = loom_arena_alloc(arena, (graph->input_count + 1) * sizeof *inputs);
  *out = (witness_condition){
      .nodes = loom_arena_copy(arena, graph->nodes, graph->node_count * sizeof *graph->nodes),
      .values = loom_arena_copy(arena, graph->values, graph->value_count * sizeof *graph->values),
      .inputs = inputs,
      .node_count = graph->node_count,
      .value_count = graph->value_count,
      .input_count = graph->input_count};
  *repeats = false;
  if (!inputs || !out->nodes || !out->values) return false;
  for (uint32_t i = 0; i < graph->input_count; i++)
    inputs[i] = graph->inputs[i].value;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const loom_node *node = &graph->nodes[n];
    if (loom_op_table[node->op].regions) return *repeats = false, true;
    *repeats |= (loom_node_fp(graph, node) & w->m->flags & *witness_covered(w->m, node)) != 0;
  }
  return true;
}

static bool witness_look(witness_walk *w, const loom_node *node);

/* The condition's operations, of these inputs, with tests. */
static bool witness_repeat(witness_walk *w, const witness_condition *c, const loom_value *inputs) {
  loom_arena *arena = &w->m->whole->arena;
  loom_graph *graph = w->b.graph;
  loom_value *map = loom_arena_alloc(arena, (c->value_count + 1) * sizeof *map);
  for (uint32_t i = 0; map && i < c->input_count; i++)
    map[c->inputs[i]] = inputs[i];
  for (uint32_t n = 0; map && n < c->node_count; n++) {
    const loom_node *node = &c->nodes[n];
    loom_value operands[node->operand_count + 1];
    loom_type types[node->result_count + 1];
    uint32_t attrs = loom_op_attr_count(node->op);
    for (uint32_t i = 0; i < node->operand_count; i++)
      operands[i] = map[node->operands[i]];
    for (uint32_t i = 0; i < node->result_count; i++)
      types[i] = c->values[node->first_result + i].type;
    loom_value made = loom_graph_node(graph, node->op, operands, node->operand_count, node->attrs,
                                      attrs, types, node->result_count, &node->location, &w->b.err);
    if (made == LOOM_NO_VALUE) return false;
    for (uint32_t i = 0; i < node->result_count; i++)
      map[node->first_result + i] = made + i;
    loom_node again = graph->nodes[graph->node_count - 1];
    if (!witness_look(w, &again)) return false;
  }
  return map != NULL;
}

/* The same behind the loop: of what it has ended with, and of what it reads. */
static bool witness_repeat_behind(witness_walk *w, const loom_node *loop,
                                  const witness_condition *c) {
  loom_value *inputs = loom_arena_alloc(&w->m->whole->arena, (c->input_count + 1) * sizeof *inputs);
  for (uint32_t i = 0; inputs && i < c->input_count; i++)
    inputs[i] = i < loop->result_count ? w->now[loop->first_result + i] : loop->operands[i];
  return inputs && witness_repeat(w, c, inputs);
}

/* ---- regions ---- */

/* Does the loop carry anything of this shape? */
static bool witness_is_carried(const witness_walk *w, const loom_node *loop,
                               const loom_type *type) {
  for (uint32_t i = 0; i < loop->result_count; i++) {
    loom_type like = *loom_graph_type(w->b.graph, loop->first_result + i);
    like.dtype = type->dtype;
    if (loom_type_equal(&like, type)) return true;
  }
  return false;
}

/* What the loop is to carry of what its body has found: of a shape that it carries anyway each
 * element, so that it stays one kernel; a truth of the rest. */
static int witness_to_carry(const witness_walk *w, const loom_node *loop, witness_walk *inner,
                            loom_value *out) {
  loom_value rest = LOOM_NO_VALUE;
  int count = 0;
  for (int i = 0; i < inner->shapes; i++) {
    if (witness_is_carried(w, loop, loom_emit_type(&inner->b, inner->any[i]))) {
      out[count++] = inner->any[i];
      continue;
    }
    loom_value truth = witness_join(inner, inner->any[i]);
    rest = rest == LOOM_NO_VALUE ? truth : loom_emit2(&inner->b, LOOM_OP_OR, rest, truth);
  }
  if (rest != LOOM_NO_VALUE) out[count++] = rest;
  return count;
}

/* A loop with what its body finds. *known: there was something to find. */
static bool witness_loop(witness_walk *w, const loom_node *node, const witness_condition *condition,
                         bool *known) {
  loom_graph *body = (loom_graph *)node->regions[loom_op_table[node->op].regions - 1];
  loom_graph *test = node->op == LOOM_OP_WHILE ? (loom_graph *)node->regions[0] : NULL;
  uint32_t at = loom_region_own_inputs(node->op, node->result_count);
  loom_value found[WITNESS_SHAPES + 1], none[WITNESS_SHAPES + 1];
  witness_walk inner;
  if (!witness_region(w->m, body, condition, &inner)) return false;
  *known = inner.shapes > 0;
  if (!*known) return !condition || witness_finish(body);
  int count = witness_to_carry(w, node, &inner, found);
  for (int i = 0; i < count && !inner.b.failed; i++) {
    loom_type type = *loom_emit_type(&inner.b, found[i]);
    loom_value carried = witness_carry(body, &type, at + (uint32_t)i);
    if (carried == LOOM_NO_VALUE) return false;
    if (test && witness_carry(test, &type, at + (uint32_t)i) == LOOM_NO_VALUE) return false;
    loom_value now = loom_emit2(&inner.b, LOOM_OP_OR, found[i], carried);
    none[i] = loom_emit_int(&w->b, &type, 0);
    if (inner.b.failed || !loom_graph_output(body, now, NULL)) return false;
  }
  return !inner.b.failed && !w->b.failed && witness_again(w, node, none, (uint32_t)count, at);
}

/* The same of a `while`, and what its condition finds. */
static bool witness_while(witness_walk *w, const loom_node *node, bool *known) {
  witness_condition condition;
  bool repeats;
  if (!witness_condition_of(w, node->regions[0], &repeats, &condition)) return false;
  if (!repeats) {
    witness_leave_out(w->m, node->regions[0]);
    return witness_loop(w, node, NULL, known);
  }
  if (!witness_loop(w, node, &condition, known)) return false;
  if (!*known && !witness_append(w->b.graph, node)) return false;
  *known = true;
  return witness_repeat_behind(w, node, &condition);
}

static bool witness_branch(witness_walk *w, const loom_node *node, bool *known) {
  witness_walk inner[2];
  for (int r = 0; r < 2; r++) {
    if (!witness_region(w->m, (loom_graph *)node->regions[r], NULL, &inner[r])) return false;
    *known |= inner[r].shapes > 0;
  }
  for (int r = 0; r < 2 && *known; r++)
    if (!witness_close(&inner[r], witness_false(&inner[r]))) return false;
  return !*known || witness_again(w, node, NULL, 0, 0);
}

/* Adds a test of a node that may raise one of the flags in question. False: the graph cannot be
 * tested. */
static bool witness_look(witness_walk *w, const loom_node *node) {
  uint32_t *covered = witness_covered(w->m, node);
  uint32_t raises = loom_node_fp(w->b.graph, node) & w->m->flags & *covered;
  if (!raises) return true;
  bool told = witness_can_tell(w, node);
  loom_value where = told ? witness_where(w, node, raises) : LOOM_NO_VALUE;
  if (!told) *covered &= ~raises;
  if (where != LOOM_NO_VALUE) witness_add(w, where);
  return !w->b.failed;
}

/* May it be computed a second time? An index that is checked has been found good. */
static bool witness_may_repeat(const loom_node *node) {
  if (node->op == LOOM_OP_HOST_CALL && loom_node_has_effect(node)) return false;
  for (int r = 0; r < loom_op_table[node->op].regions; r++)
    for (uint32_t n = 0; n < node->regions[r]->node_count; n++)
      if (!witness_may_repeat(&node->regions[r]->nodes[n])) return false;
  return true;
}

static bool witness_node(witness_walk *w, loom_node *node) {
  bool known = false, raises = loom_node_fp(w->b.graph, node) & w->m->flags;
  loom_value *operands =
      loom_arena_alloc(&w->m->whole->arena, (node->operand_count + 1) * sizeof *operands);
  if (!operands || !witness_may_repeat(node)) return false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    operands[i] = w->now[node->operands[i]];
  node->operands = operands;
  if (!loom_op_table[node->op].regions)
    return witness_append(w->b.graph, node) && witness_look(w, node);
  bool good = !raises || (node->op == LOOM_OP_IF      ? witness_branch(w, node, &known)
                          : node->op == LOOM_OP_WHILE ? witness_while(w, node, &known)
                                                      : witness_loop(w, node, NULL, &known));
  for (int r = 0; r < loom_op_table[node->op].regions; r++)
    loom_arena_adopt(&w->m->whole->arena, &((loom_graph *)node->regions[r])->arena);
  return good && (known || witness_append(w->b.graph, node));
}

static bool witness_walk_nodes(witness_walk *w, const witness_condition *before) {
  loom_graph *graph = w->b.graph;
  loom_node *nodes = graph->nodes;
  uint32_t count = graph->node_count;
  w->now = loom_arena_alloc(&w->m->whole->arena, (graph->value_count + 1) * sizeof *w->now);
  if (!w->now) return false;
  for (uint32_t v = 0; v < graph->value_count; v++)
    w->now[v] = v;
  graph->nodes = NULL;
  graph->node_count = graph->node_capacity = 0;
  bool good = true;
  if (before) {
    loom_value *inputs =
        loom_arena_alloc(&w->m->whole->arena, (graph->input_count + 1) * sizeof *inputs);
    for (uint32_t i = 0; inputs && i < graph->input_count; i++)
      inputs[i] = graph->inputs[i].value;
    good = inputs && witness_repeat(w, before, inputs);
  }
  for (uint32_t n = 0; n < count && good; n++)
    good = witness_node(w, &nodes[n]);
  for (uint32_t i = 0; i < graph->output_count; i++)
    graph->outputs[i].value = w->now[graph->outputs[i].value];
  return good;
}

/* The cover if all operations can be tested: the flags of each warning, and of operations without
 * one. */
static void witness_begin(const witness_maker *m, const capture *c, const uint32_t *shown) {
  memset(m->cover, 0, sizeof *m->cover);
  for (uint32_t i = 0; i < c->warning_count; i++)
    m->cover->rows[i] = shown[i] & m->flags & WITNESS_KINDS;
  m->cover->untold = c->fp_untold & m->flags & WITNESS_KINDS;
}

bool witness_graph(const capture *c, uint32_t flags, const uint32_t *shown, witness_cover *cover,
                   loom_graph *out) {
  witness_maker m = {.whole = out, .cover = cover, .flags = flags};
  witness_walk w = {.m = &m, .b = {.graph = out}};
  loom_graph room;
  loom_graph_init(out);
  const loom_graph *whole = capture_graph(c, &room);
  bool good = whole && loom_graph_copy(whole, out);
  loom_graph_fini(&room);
  if (!good) return false;
  witness_begin(&m, c, shown);
  out->output_count = 0;
  if (!witness_walk_nodes(&w, NULL)) return false;
  loom_value all = witness_all(&w, witness_false(&w));
  return !w.b.failed && loom_graph_output(out, all, NULL) && witness_finish(out);
}
