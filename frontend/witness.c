/* Which operations have raised a floating-point flag?
 *
 * A run tells which flags were raised, not by what. Where Python would no longer show some of the
 * warnings that may be meant, but would show others, the function would run a second time at every
 * call, mostly for nothing. So a version that has done so a few times gets another plan: of the
 * same inputs it computes whether any of those other operations may have raised a flag, by what
 * goes into them and comes out: an operation on floats that raises invalid makes a NaN of what is
 * none, one that raises divide or overflow makes an infinity of finite numbers. Where it says no,
 * the results of the run stand.
 *
 * It may say yes where none has: then the plain function runs, as ever. What cannot be told so
 * (most functions of complex numbers, loops) is left out, and its flags matter.
 */
#include "frontend/callable.h"
#include "frontend/domain.h"

#include <stdlib.h>
#include <string.h>

#define WITNESS_ASKED                                                                              \
  12                   /* calls in vain before one is made; four times as many before the next     \
                        */
#define WITNESS_MOST 3 /* for one version */
#define WITNESS_ROWS 256
#define WITNESS_SHAPES 8
#define WITNESS_KINDS (LOOM_FP_DIVIDE | LOOM_FP_OVERFLOW | LOOM_FP_INVALID)

typedef struct witness {
  loom_plan *plan; /* one output: may any of these have raised a flag? NULL: it has not been made */
  uint32_t untold; /* flags that it covers of the capture's fp_untold */
  uint32_t asked, made;
  uint32_t rows[WITNESS_ROWS]; /* flags that it covers of each of the capture's warnings */
} witness;

void witness_free(witness *w) {
  if (w && w->plan) loom_plan_unref(w->plan);
  free(w);
}

/* ---- the graph ---- */

typedef struct witness_maker {
  loom_graph graph;
  loom_builder b;        /* of the graph */
  const uint32_t *shown; /* of each row */
  witness *w;
  uint32_t flags;                 /* that were raised and matter */
  loom_value any[WITNESS_SHAPES]; /* of each shape: may something have raised one? */
  int shapes;
} witness_maker;

static loom_dtype witness_dtype(const witness_maker *m, loom_value v) {
  return loom_graph_type(&m->graph, v)->dtype;
}

static bool witness_is_complex(const witness_maker *m, const loom_node *node) {
  return loom_dtype_is_complex(witness_dtype(m, node->operands[0]));
}

/* Is each element of the result made of one of each operand? */
static bool witness_is_pointwise(const witness_maker *m, const loom_node *node) {
  static const char *const kinds[] = {"unary", "binary", "ternary", "convert"};
  const loom_type *to = loom_graph_type(&m->graph, node->first_result);
  bool same = false;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    same |= strcmp(loom_op_table[node->op].lower, kinds[k]) == 0;
  for (uint32_t i = 0; i < node->operand_count && same; i++) {
    const loom_type *from = loom_graph_type(&m->graph, node->operands[i]);
    same = from->rank == to->rank && !memcmp(from->dims, to->dims, sizeof *to->dims * to->rank);
  }
  return same;
}

/* Of complex numbers: by results that are not finite. A quotient may be finite although the formula
 * overflows on the way to it. */
static bool witness_can_tell_complex(const loom_node *node, uint32_t flags) {
  switch (node->op) {
  case LOOM_OP_ADD:
  case LOOM_OP_SUB:
  case LOOM_OP_MUL:
  case LOOM_OP_ABS:
  case LOOM_OP_REDUCE:
  case LOOM_OP_DOT_GENERAL: return true;
  case LOOM_OP_DIV: return !(flags & LOOM_FP_OVERFLOW);
  default: return false;
  }
}

/* Can it be told of this node whether it has raised one of these flags? Of a reduction and the like
 * by its results alone, which are finite where none was raised. */
static bool witness_can_tell(const witness_maker *m, const loom_node *node, uint32_t flags) {
  if (loom_op_table[node->op].regions || node->op == LOOM_OP_HOST_CALL || node->result_count != 1 ||
      !node->operand_count)
    return false;
  if (witness_is_complex(m, node)) return witness_can_tell_complex(node, flags);
  loom_dtype dtype = witness_dtype(m, node->first_result);
  if (loom_dtype_is_integer(dtype)) return domain_has_integers(node->op);
  bool floats = loom_dtype_is_float(dtype);
  for (uint32_t i = 0; i < node->operand_count && floats; i++)
    floats = loom_dtype_is_float(witness_dtype(m, node->operands[i]));
  return floats;
}

/* Where does the result show that `flag` was raised: a NaN of what is none, or an infinity of
 * finite operands? */
static loom_value witness_by_result(loom_builder *b, const loom_node *node, uint32_t flag) {
  bool invalid = flag == LOOM_FP_INVALID;
  uint32_t count = node->op == LOOM_OP_POW && !invalid ? 1 : node->operand_count;
  loom_value bad = loom_build1(b, invalid ? LOOM_OP_IS_NAN : LOOM_OP_IS_INF, node->first_result);
  for (uint32_t i = 0; i < count; i++) {
    loom_value x = node->operands[i];
    loom_value good = invalid ? loom_build1(b, LOOM_OP_NOT, loom_build1(b, LOOM_OP_IS_NAN, x))
                              : loom_build1(b, LOOM_OP_IS_FINITE, x);
    bad = loom_build2(b, LOOM_OP_AND, bad, good);
  }
  return bad;
}

/* Where may it have raised `flag`? LOOM_NO_VALUE: nowhere. An infinity at a pole is no overflow. */
static loom_value witness_of_flag(loom_builder *b, const loom_node *node, uint32_t flag) {
  loom_value there, pole;
  if (domain_raises(b, node->op, node->operands, flag, &there)) return there;
  there = witness_by_result(b, node, flag);
  if (flag != LOOM_FP_OVERFLOW ||
      !domain_raises(b, node->op, node->operands, LOOM_FP_DIVIDE, &pole) || pole == LOOM_NO_VALUE)
    return there;
  return loom_build2(b, LOOM_OP_AND, there, loom_build1(b, LOOM_OP_NOT, pole));
}

/* Where may it have raised one of these flags? LOOM_NO_VALUE: nowhere. */
static loom_value witness_where(witness_maker *m, const loom_node *node, uint32_t flags) {
  loom_builder *b = &m->b;
  loom_value where = LOOM_NO_VALUE;
  if (witness_is_complex(m, node) || !witness_is_pointwise(m, node))
    return loom_build1(b, LOOM_OP_NOT, loom_build1(b, LOOM_OP_IS_FINITE, node->first_result));
  for (uint32_t flag = 1; flag <= LOOM_FP_INVALID; flag <<= 1) {
    loom_value there = flags & flag ? witness_of_flag(b, node, flag) : LOOM_NO_VALUE;
    if (there == LOOM_NO_VALUE) continue;
    where = where == LOOM_NO_VALUE ? there : loom_build2(b, LOOM_OP_OR, where, there);
  }
  return where;
}

/* Is there an element in any place? A value of rank 0. */
static loom_value witness_join(witness_maker *m, loom_value v) {
  int rank = loom_build_type(&m->b, v)->rank;
  return rank ? loom_build_reduce(&m->b, "or", v, (1u << rank) - 1, false) : v;
}

/* Those of one shape are joined first. */
static void witness_add(witness_maker *m, loom_value where) {
  for (int i = 0; i < m->shapes; i++)
    if (loom_type_equal(loom_build_type(&m->b, m->any[i]), loom_build_type(&m->b, where))) {
      m->any[i] = loom_build2(&m->b, LOOM_OP_OR, m->any[i], where);
      return;
    }
  if (m->shapes < WITNESS_SHAPES)
    m->any[m->shapes++] = where;
  else
    m->any[0] = loom_build2(&m->b, LOOM_OP_OR, witness_join(m, m->any[0]), witness_join(m, where));
}

/* The flags of each row, and of those without one, that are covered if all can be told. */
static void witness_begin(witness_maker *m, const capture *c) {
  for (uint32_t i = 0; i < c->warning_count; i++)
    m->w->rows[i] = m->shown[i] & m->flags & WITNESS_KINDS;
  m->w->untold = c->fp_untold & m->flags & WITNESS_KINDS;
}

/* False: nothing can be told of the graph. */
static bool witness_look(witness_maker *m, uint32_t n) {
  const loom_node node = m->graph.nodes[n]; /* the array moves as nodes are added */
  uint32_t raises = loom_node_fp(&m->graph, &node) & m->flags;
  uint32_t *covered =
      node.location.warning ? &m->w->rows[node.location.warning - 1] : &m->w->untold;
  if (loom_node_has_effect(&node)) return false;
  for (uint32_t i = 0; i < WITNESS_ROWS && loom_op_table[node.op].regions; i++)
    m->w->rows[i] &= ~raises; /* operations inside are not looked at */
  raises &= *covered;
  if (!raises) return true;
  bool told = witness_can_tell(m, &node, raises);
  loom_value where = told ? witness_where(m, &node, raises) : LOOM_NO_VALUE;
  if (!told) *covered &= ~raises;
  if (where != LOOM_NO_VALUE) witness_add(m, where);
  return !m->b.failed;
}

static bool witness_graph(witness_maker *m, const capture *c) {
  loom_graph room;
  const loom_graph *whole = capture_graph(c, &room);
  bool good = whole && loom_graph_copy(whole, &m->graph);
  loom_graph_fini(&room);
  if (!good) return false;
  m->b.graph = &m->graph;
  witness_begin(m, c);
  m->graph.output_count = 0;
  uint32_t nodes = m->graph.node_count;
  for (uint32_t n = 0; n < nodes && good; n++)
    good = witness_look(m, n);
  loom_type one = loom_type_make(LOOM_BOOL, 0, NULL);
  loom_value all = good ? loom_build_int(&m->b, &one, 0) : LOOM_NO_VALUE;
  for (int i = 0; i < m->shapes; i++)
    all = loom_build2(&m->b, LOOM_OP_OR, all, witness_join(m, m->any[i]));
  good = good && !m->b.failed && loom_graph_output(&m->graph, all, NULL);
  if (good) loom_graph_prune(&m->graph);
  return good;
}

/* ---- the plan ---- */

static bool witness_fits(const loom_plan *plan, const loom_graph *graph) {
  const loom_plan_header *header = loom_plan_header_of(plan);
  bool good = header->output_count == 1 && header->input_count == graph->input_count &&
              header->symbol_count <= graph->symbol_count;
  for (uint32_t i = 0; i < graph->input_count && good; i++) {
    uint32_t kind = loom_plan_kind_of_input(plan, i);
    good = (kind != LOOM_PLAN_CONST || graph->inputs[i].kind == LOOM_INPUT_CONST) &&
           (kind != LOOM_PLAN_SCALAR || graph->inputs[i].kind == LOOM_INPUT_SCALAR);
  }
  return good;
}

static loom_plan *witness_compile(const entry *e, const witness_maker *m) {
  const callable *home = e->home;
  char cpu[sizeof home->cpu];
  memcpy(cpu, home->cpu, sizeof cpu);
  loom_compile_options options = {
      .cpu = cpu, .fastmath = home->fastmath, .check = checked_wanted(), .quiet = true};
  loom_compile_report report;
  loom_plan *plan = NULL;
  loom_error err = {""};
  bool cache = loom_config.cache, good;
  Py_BEGIN_ALLOW_THREADS good = loom_compile_plan(
      &m->graph, &options, "which operations raise flags", cache, &plan, &report, &err);
  Py_END_ALLOW_THREADS if (good && witness_fits(plan, &m->graph)) return plan;
  if (good) loom_plan_unref(plan);
  return NULL;
}

/* Makes one for what would be shown now. */
static void witness_make(entry *e, uint32_t flags, const uint32_t *shown) {
  witness made = {.asked = 0};
  witness_maker m = {.shown = shown, .w = &made, .flags = flags};
  loom_plan *plan = witness_graph(&m, e->captured) ? witness_compile(e, &m) : NULL;
  loom_graph_fini(&m.graph);
  witness *w = e->witness;
  if (!plan) return;
  for (uint32_t i = 0; i < e->captured->input_count; i++)
    if (e->captured->graph.inputs[i].kind == LOOM_INPUT_CONST)
      loom_plan_set_const(plan, i, e->adapter->data(e->captured->inputs[i].constant));
  if (w->plan) loom_plan_unref(w->plan);
  w->plan = plan;
  w->untold = made.untold;
  memcpy(w->rows, made.rows, sizeof w->rows);
}

/* Would this call have run a second time for nothing? That is not known, but all that is raised
 * may be of what is no longer shown. */
static void witness_consider(entry *e, uint32_t flags, const uint32_t *shown) {
  const capture *c = e->captured;
  uint32_t seen = 0;
  if (e->kind != BACKEND_LOOM || c->late || !e->home) return;
  for (uint32_t i = 0; i < c->warning_count; i++)
    seen |= c->warnings[i].flags & ~shown[i];
  if (flags & ~seen) return;
  if (!e->witness) e->witness = calloc(1, sizeof *e->witness);
  witness *w = e->witness;
  if (!w || w->made == WITNESS_MOST || ++w->asked < (uint32_t)WITNESS_ASKED << 2 * w->made) return;
  w->asked = 0;
  w->made++;
  witness_make(e, flags, shown);
}

/* What the plan says of this run; true when it cannot say. */
static bool witness_ask(entry *e, const loom_call *run) {
  uint8_t answer = 1;
  void *output = &answer;
  loom_plan *plan = e->witness->plan;
  loom_violation violation;
  loom_call call = *run;
  call.outputs = &output;
  call.violation = &violation;
  call.allocate = NULL;
  call.poll = NULL;
  loom_plan_ref(plan);
  uint32_t status;
  Py_BEGIN_ALLOW_THREADS status = loom_plan_run(plan, &call);
  Py_END_ALLOW_THREADS loom_plan_unref(plan);
  return (status & ~15u) || answer;
}

int witness_flags_matter(entry *e, uint32_t flags, const loom_call *call) {
  const capture *c = e->captured;
  uint32_t shown[WITNESS_ROWS], reported, open, asks = 0;
  if (flags & c->fp_reported) return 1;
  int matters = e->adapter->flags_matter(flags);
  if (matters <= 0 || !e->home || c->warning_count > WITNESS_ROWS) return matters;
  PyObject *globals = callable_function(e->home)->func_globals;
  if (!e->adapter->warnings_shown(c, globals, flags, &reported, shown)) return 1;
  witness *w = e->witness && e->witness->plan && call ? e->witness : NULL;
  open = reported & c->fp_untold & ~(w ? w->untold : 0);
  asks = w ? reported & c->fp_untold & w->untold : 0;
  for (uint32_t i = 0; i < c->warning_count; i++) {
    open |= shown[i] & ~(w ? w->rows[i] : 0);
    asks |= w ? shown[i] & w->rows[i] : 0;
  }
  if (!open && (!asks || !witness_ask(e, call))) return 0;
  if (call) witness_consider(e, reported, shown);
  return 1;
}
