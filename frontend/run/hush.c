/* A graph that computes the same as the captured one, and in which operations that keep raising
 * flags raise none.
 *
 * An operation whose warnings have been shown goes on to raise flags at every call. Each time the
 * witness has to find out whether another operation has raised a flag, too (witness.c). This graph
 * has the same results, bit by bit. Where the operands of a quotient, a square root or a logarithm
 * are outside of its domain, or at a pole, the operation gets other operands, and the right result
 * is put in place afterwards. When a run of this graph raises no flag, no other operation has
 * raised one.
 *
 * before: %r = sqrt %x after: %b = %x < 0; %y = select %b, 1, %x; %s = sqrt %y; %r = select %b,
 * nan, %s
 *
 * The comparisons that are added raise nothing themselves: they compare bits, or use == and !=.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/run/internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

#define HUSH_KINDS (LOOM_FP_DIVIDE | LOOM_FP_INVALID)

typedef struct hush_maker {
  loom_graph *whole;    /* the outermost graph: it owns all memory */
  const uint32_t *rows; /* by row of the capture's warnings: flags not to be raised */
  uint32_t hushed;      /* operations so far */
} hush_maker;

static loom_value hush_and(loom_emitter *b, loom_value l, loom_value r) {
  return loom_emit2(b, LOOM_OP_AND, l, r);
}

static loom_value hush_or(loom_emitter *b, loom_value l, loom_value r) {
  return l == LOOM_NO_VALUE ? r : loom_emit2(b, LOOM_OP_OR, l, r);
}

static loom_value hush_number(loom_emitter *b, loom_value like, double x) {
  loom_type type = *loom_emit_type(b, like);
  return loom_emit_float(b, &type, x);
}

static loom_value hush_zero(loom_emitter *b, loom_value x, bool is) {
  return loom_emit_compare(b, is ? "eq" : "ne", x, hush_number(b, x, 0));
}

static loom_value hush_not_nan(loom_emitter *b, loom_value x) {
  return loom_emit1(b, LOOM_OP_NOT, loom_emit1(b, LOOM_OP_IS_NAN, x));
}

/* A bool for each element: is it neither zero nor NaN? */
static loom_value hush_nonzero(loom_emitter *b, loom_value x) {
  return hush_and(b, hush_zero(b, x, false), hush_not_nan(b, x));
}

/* Where an operation would raise a flag, and the result that it has there. */
typedef struct hush_place {
  loom_value where, result;
} hush_place;

/* A square root or a logarithm: invalid below zero, a logarithm's pole at zero. */
static int hush_of_one(loom_emitter *b, const loom_node *node, uint32_t flags, hush_place *out) {
  bool root = node->op == LOOM_OP_SQRT;
  loom_value x = node->operands[0];
  int count = 0;
  if (flags & LOOM_FP_INVALID)
    out[count++] = (hush_place){hush_and(b, loom_emit1(b, LOOM_OP_SIGNBIT, x), hush_nonzero(b, x)),
                                hush_number(b, x, root ? -(double)NAN : (double)NAN)};
  if (flags & LOOM_FP_DIVIDE && !root)
    out[count++] = (hush_place){hush_zero(b, x, true), hush_number(b, x, -HUGE_VAL)};
  return count;
}

/* A quotient: by zero; of two zeros or two infinities. */
static int hush_of_quotient(loom_emitter *b, const loom_node *node, uint32_t flags,
                            hush_place *out) {
  loom_value x = node->operands[0], y = node->operands[1], zero = hush_zero(b, y, true);
  int count = 0;
  if (flags & LOOM_FP_DIVIDE) {
    loom_value differ = loom_emit2(b, LOOM_OP_XOR, loom_emit1(b, LOOM_OP_SIGNBIT, x),
                                   loom_emit1(b, LOOM_OP_SIGNBIT, y));
    loom_value pole =
        loom_emit_select(b, differ, hush_number(b, x, -HUGE_VAL), hush_number(b, x, HUGE_VAL));
    out[count++] = (hush_place){hush_and(b, zero, hush_nonzero(b, x)), pole};
  }
  if (flags & LOOM_FP_INVALID) {
    loom_value infinite =
        hush_and(b, loom_emit1(b, LOOM_OP_IS_INF, x), loom_emit1(b, LOOM_OP_IS_INF, y));
    out[count++] = (hush_place){hush_or(b, hush_and(b, zero, hush_zero(b, x, true)), infinite),
                                hush_number(b, x, -(double)NAN)};
  }
  return count;
}

/* Flags that this operation is not to raise, and need not. */
static uint32_t hush_flags(const hush_maker *m, const loom_graph *graph, const loom_node *node) {
  const loom_type *type = loom_graph_type(graph, node->first_result);
  bool known = node->op == LOOM_OP_SQRT || node->op == LOOM_OP_LOG || node->op == LOOM_OP_LOG2 ||
               node->op == LOOM_OP_LOG10 || node->op == LOOM_OP_DIV;
  if (!known || !node->location.warning || (type->dtype != LOOM_F64 && type->dtype != LOOM_F32))
    return 0;
  for (uint32_t i = 0; i < node->operand_count; i++)
    if (!loom_type_equal(loom_graph_type(graph, node->operands[i]), type)) return 0;
  return m->rows[node->location.warning - 1] & loom_node_fp(graph, node) & HUSH_KINDS;
}

/* The operation in a way that raises none of these flags: what stands in its place. */
static loom_value hush_operation(hush_maker *m, loom_emitter *b, const loom_node *node,
                                 uint32_t flags) {
  hush_place places[2];
  loom_value operands[2] = {LOOM_NO_VALUE, LOOM_NO_VALUE}, where = LOOM_NO_VALUE;
  uint32_t last = node->operand_count - 1;
  int count = (node->op == LOOM_OP_DIV ? hush_of_quotient : hush_of_one)(b, node, flags, places);
  if (!count) return LOOM_NO_VALUE;
  for (int i = 0; i < count; i++)
    where = hush_or(b, where, places[i].where);
  memcpy(operands, node->operands, node->operand_count * sizeof *operands);
  operands[last] = loom_emit_select(b, where, hush_number(b, operands[last], 1), operands[last]);
  b->location = node->location; /* the operation may still raise other flags */
  loom_value made = loom_emit(b, node->op, operands, node->operand_count, NULL, 0, NULL, 0);
  b->location = (loom_location){.file = NULL};
  for (int i = 0; i < count; i++)
    made = loom_emit_select(b, places[i].where, places[i].result, made);
  m->hushed++;
  return made;
}

static bool hush_graph(hush_maker *m, loom_graph *graph);

static bool hush_node(hush_maker *m, loom_emitter *b, loom_value *now, loom_node *node) {
  loom_arena *arena = &m->whole->arena;
  loom_value *operands = loom_arena_alloc(arena, (node->operand_count + 1) * sizeof *operands);
  if (!operands) return false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    operands[i] = now[node->operands[i]];
  node->operands = operands;
  for (int r = 0; r < loom_op_table[node->op].regions; r++) {
    loom_graph *region = (loom_graph *)node->regions[r];
    uint32_t sizes = region->expr_count, symbols = region->symbol_count;
    bool good =
        hush_graph(m, region) && region->expr_count == sizes && region->symbol_count == symbols;
    loom_arena_adopt(arena, &region->arena);
    if (!good) return false;
  }
  uint32_t flags = hush_flags(m, b->graph, node);
  loom_value made = flags ? hush_operation(m, b, node, flags) : LOOM_NO_VALUE;
  if (b->failed) return false;
  if (made == LOOM_NO_VALUE) return witness_append(b->graph, node);
  now[node->first_result] = made;
  return true;
}

static bool hush_graph(hush_maker *m, loom_graph *graph) {
  loom_emitter b = {.graph = graph};
  loom_node *nodes = graph->nodes;
  uint32_t count = graph->node_count, values = graph->value_count;
  loom_value *now = loom_arena_alloc(&m->whole->arena, (values + 1) * sizeof *now);
  for (uint32_t v = 0; now && v < values; v++)
    now[v] = v;
  graph->nodes = NULL;
  graph->node_count = graph->node_capacity = 0;
  bool good = now != NULL;
  for (uint32_t n = 0; n < count && good; n++)
    good = hush_node(m, &b, now, &nodes[n]);
  for (uint32_t i = 0; i < graph->output_count && good; i++)
    graph->outputs[i].value = now[graph->outputs[i].value];
  return good && witness_finish(graph);
}

bool hush_capture(const capture *c, const uint32_t *rows, loom_graph *out) {
  hush_maker m = {.whole = out, .rows = rows};
  loom_graph room;
  loom_graph_init(out);
  const loom_graph *whole = capture_graph(c, &room);
  bool good = whole && loom_graph_copy(whole, out);
  loom_graph_fini(&room);
  return good && hush_graph(&m, out) && m.hushed;
}
