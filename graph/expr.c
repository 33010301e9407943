/* Symbolic sizes, kept canonical.
 *
 * An expression is stored as a sum of products over atoms (symbols, floordiv, mod, min, max) and
 * every node is hash-consed, so that two sizes are equal as polynomials exactly when their codes
 * are equal. `combine` takes both sides apart into a list of terms, computes on the lists, sorts,
 * and builds the one form there is: products with factors by rising index and the coefficient last,
 * sums with terms by rising factors and the constant last. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#define EXPR_MAX_FACTORS 6
#define EXPR_MAX_TERMS 40
/* Whoever asks something of an expression walks it as a tree. */
#define EXPR_MAX_WEIGHT 1024
#define EXPR_MAX_COUNT 4096 /* of a graph, and of a module's table (loom_sizes_load) */

typedef struct expr_term {
  int64_t coefficient;
  int count;
  uint32_t factors[EXPR_MAX_FACTORS]; /* rising */
} expr_term;

typedef struct expr_sum {
  int count;
  expr_term terms[EXPR_MAX_TERMS];
} expr_sum;

/* ---- the table ---- */

static uint32_t expr_weight(const loom_graph *graph, const loom_expr *expr) {
  bool leaf = expr->kind == LOOM_EXPR_CONST || expr->kind == LOOM_EXPR_SYMBOL;
  return leaf ? 1 : 1 + graph->exprs[expr->lhs].weight + graph->exprs[expr->rhs].weight;
}

/* False when there is no room, or it would be too large. */
static bool expr_intern(loom_graph *graph, loom_expr expr, uint32_t *out) {
  for (uint32_t i = 0; i < graph->expr_count; i++) {
    const loom_expr *known = &graph->exprs[i];
    if (known->kind == expr.kind && known->value == expr.value && known->lhs == expr.lhs &&
        known->rhs == expr.rhs) {
      *out = i;
      return true;
    }
  }
  expr.weight = expr_weight(graph, &expr);
  if (expr.weight > EXPR_MAX_WEIGHT || graph->expr_count >= EXPR_MAX_COUNT) return false;
  loom_expr *grown = loom_graph_grow(graph, graph->exprs, graph->expr_count, 1,
                                     &graph->expr_capacity, sizeof *grown);
  if (!grown) return false;
  graph->exprs = grown;
  *out = graph->expr_count++;
  graph->exprs[*out] = expr;
  return true;
}

bool loom_expr_constant(loom_graph *graph, int64_t value, uint32_t *out) {
  return expr_intern(graph, (loom_expr){.kind = LOOM_EXPR_CONST, .value = value}, out);
}

bool loom_dim_symbol(loom_graph *graph, const loom_symbol *known, loom_dim *out) {
  loom_symbol *grown = loom_graph_grow(graph, graph->symbols, graph->symbol_count, 1,
                                       &graph->symbol_capacity, sizeof *grown);
  if (!grown) return false;
  graph->symbols = grown;
  graph->symbols[graph->symbol_count] =
      known ? *known : (loom_symbol){.min = 0, .max = INT64_MAX, .divisor = 1};
  uint32_t index;
  if (!expr_intern(graph, (loom_expr){.kind = LOOM_EXPR_SYMBOL, .value = graph->symbol_count},
                   &index))
    return false;
  graph->symbol_count++;
  *out = LOOM_DIM_SYM(index);
  return true;
}

bool loom_dim_of_symbol(loom_graph *graph, uint32_t symbol, loom_dim *out) {
  uint32_t index;
  if (symbol >= graph->symbol_count ||
      !expr_intern(graph, (loom_expr){.kind = LOOM_EXPR_SYMBOL, .value = symbol}, &index))
    return false;
  *out = LOOM_DIM_SYM(index);
  return true;
}

bool loom_dim_constant(loom_graph *graph, int64_t value, loom_dim *out) {
  uint32_t index = 0;
  if (value >= 0) return *out = value, true;
  if (!loom_expr_constant(graph, value, &index)) return false;
  *out = LOOM_DIM_SYM(index);
  return true;
}

/* ---- sums of products ---- */

static int expr_compare_terms(const void *a, const void *b) {
  const expr_term *l = a, *r = b;
  if (l->count != r->count) return l->count < r->count ? 1 : -1; /* the constant comes last */
  for (int i = 0; i < l->count; i++)
    if (l->factors[i] != r->factors[i]) return l->factors[i] < r->factors[i] ? -1 : 1;
  return 0;
}

/* Sorts, joins terms of equal factors, drops those whose coefficients cancel. */
static bool expr_normalize(expr_sum *sum) {
  qsort(sum->terms, (size_t)sum->count, sizeof sum->terms[0], expr_compare_terms);
  int kept = 0;
  for (int i = 0; i < sum->count; i++) {
    expr_term *last = kept ? &sum->terms[kept - 1] : NULL;
    if (last && expr_compare_terms(last, &sum->terms[i]) == 0) {
      if (__builtin_add_overflow(last->coefficient, sum->terms[i].coefficient, &last->coefficient))
        return false;
      if (last->coefficient == 0) kept--;
    } else if (sum->terms[i].coefficient != 0) {
      sum->terms[kept++] = sum->terms[i];
    }
  }
  sum->count = kept;
  return true;
}

/* Merges two sorted lists. Only what is left counts: the rest of a long sum behind some of its
 * terms is a shorter one. */
static bool expr_add(const expr_sum *a, const expr_sum *b, expr_sum *out) {
  int i = 0, j = 0;
  out->count = 0;
  while (i < a->count || j < b->count) {
    int order = i == a->count   ? 1
                : j == b->count ? -1
                                : expr_compare_terms(&a->terms[i], &b->terms[j]);
    expr_term term = order <= 0 ? a->terms[i++] : b->terms[j++];
    if (order == 0 &&
        __builtin_add_overflow(term.coefficient, b->terms[j++].coefficient, &term.coefficient))
      return false;
    if (term.coefficient == 0) continue;
    if (out->count == EXPR_MAX_TERMS) return false;
    out->terms[out->count++] = term;
  }
  return true;
}

static bool expr_mul_terms(const expr_term *a, const expr_term *b, expr_term *out) {
  if (a->count + b->count > EXPR_MAX_FACTORS ||
      __builtin_mul_overflow(a->coefficient, b->coefficient, &out->coefficient))
    return false;
  int i = 0, j = 0;
  for (out->count = 0; i < a->count || j < b->count; out->count++) {
    bool left = j == b->count || (i < a->count && a->factors[i] <= b->factors[j]);
    out->factors[out->count] = left ? a->factors[i++] : b->factors[j++];
  }
  return true;
}

static bool expr_mul(const expr_sum *a, const expr_sum *b, expr_sum *out) {
  out->count = 0;
  if (a->count * b->count > EXPR_MAX_TERMS) return false;
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++)
      if (!expr_mul_terms(&a->terms[i], &b->terms[j], &out->terms[out->count++])) return false;
  return expr_normalize(out);
}

/* Takes an expression apart. Canonical nodes hold products below sums, so the recursion is as deep
 * as the form. */
static bool expr_open(const loom_graph *graph, uint32_t index, expr_sum *out) {
  const loom_expr *expr = &graph->exprs[index];
  if (expr->kind == LOOM_EXPR_ADD || expr->kind == LOOM_EXPR_MUL) {
    expr_sum lhs, rhs;
    if (!expr_open(graph, expr->lhs, &lhs) || !expr_open(graph, expr->rhs, &rhs)) return false;
    return expr->kind == LOOM_EXPR_ADD ? expr_add(&lhs, &rhs, out) : expr_mul(&lhs, &rhs, out);
  }
  out->count = 1;
  out->terms[0] = (expr_term){.coefficient = 1, .count = 1, .factors = {index}};
  if (expr->kind == LOOM_EXPR_CONST)
    out->terms[0] = (expr_term){.coefficient = expr->value, .count = 0};
  return expr_normalize(out);
}

static bool expr_open_dim(const loom_graph *graph, loom_dim dim, expr_sum *out) {
  if (LOOM_DIM_IS_SYM(dim)) return expr_open(graph, LOOM_DIM_EXPR(dim), out);
  out->count = dim != 0;
  out->terms[0] = (expr_term){.coefficient = dim, .count = 0};
  return true;
}

static bool expr_binary(loom_graph *graph, loom_expr_kind kind, uint32_t a, uint32_t b,
                        uint32_t *out) {
  return expr_intern(graph, (loom_expr){.kind = kind, .lhs = a, .rhs = b}, out);
}

static bool expr_build_term(loom_graph *graph, const expr_term *term, uint32_t *out) {
  if (term->count == 0) return loom_expr_constant(graph, term->coefficient, out);
  *out = term->factors[0];
  for (int i = 1; i < term->count; i++)
    if (!expr_binary(graph, LOOM_EXPR_MUL, *out, term->factors[i], out)) return false;
  uint32_t coefficient;
  return term->coefficient == 1 || (loom_expr_constant(graph, term->coefficient, &coefficient) &&
                                    expr_binary(graph, LOOM_EXPR_MUL, *out, coefficient, out));
}

static bool expr_is_constant(const expr_sum *sum, int64_t *out) {
  *out = sum->count ? sum->terms[0].coefficient : 0;
  return sum->count == 0 || (sum->count == 1 && sum->terms[0].count == 0);
}

static bool expr_build_index(loom_graph *graph, const expr_sum *sum, uint32_t *out) {
  int64_t value;
  if (expr_is_constant(sum, &value)) return loom_expr_constant(graph, value, out);
  for (int i = 0; i < sum->count; i++) {
    uint32_t term;
    if (!expr_build_term(graph, &sum->terms[i], &term)) return false;
    if (i == 0)
      *out = term;
    else if (!expr_binary(graph, LOOM_EXPR_ADD, *out, term, out))
      return false;
  }
  return true;
}

static bool expr_build(loom_graph *graph, const expr_sum *sum, loom_dim *out) {
  if (expr_is_constant(sum, out) && *out >= 0) return true;
  uint32_t index = 0;
  if (!expr_build_index(graph, sum, &index)) return false;
  *out = LOOM_DIM_SYM(index);
  return true;
}

/* ---- floordiv, mod, min, max ---- */

static int64_t expr_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* a = c*q + r for a positive constant c: splits the terms whose coefficients c divides from the
 * rest. */
static void expr_split(const expr_sum *a, int64_t c, expr_sum *quotient, expr_sum *rest) {
  quotient->count = rest->count = 0;
  for (int i = 0; i < a->count; i++) {
    expr_term term = a->terms[i];
    if (term.coefficient % c != 0) {
      rest->terms[rest->count++] = term;
      continue;
    }
    term.coefficient /= c;
    quotient->terms[quotient->count++] = term;
  }
}

static bool expr_atom(loom_graph *graph, loom_expr_kind kind, const expr_sum *a, const expr_sum *b,
                      expr_sum *out) {
  uint32_t lhs, rhs, index;
  if (!expr_build_index(graph, a, &lhs) || !expr_build_index(graph, b, &rhs)) return false;
  bool symmetric = kind == LOOM_EXPR_MIN || kind == LOOM_EXPR_MAX;
  bool swap = symmetric && lhs > rhs;
  if (!expr_binary(graph, kind, swap ? rhs : lhs, swap ? lhs : rhs, &index)) return false;
  out->count = 1;
  out->terms[0] = (expr_term){.coefficient = 1, .count = 1, .factors = {index}};
  return true;
}

/* a / b for a product b that divides every term of a. */
static bool expr_cancel(const expr_sum *a, const expr_sum *b, expr_sum *out) {
  if (b->count != 1) return false;
  const expr_term *by = &b->terms[0];
  for (int i = 0; i < a->count; i++) {
    expr_term term = {.coefficient = a->terms[i].coefficient / by->coefficient};
    if (a->terms[i].coefficient % by->coefficient != 0) return false;
    int k = 0;
    for (int j = 0; j < a->terms[i].count; j++) {
      if (k < by->count && a->terms[i].factors[j] == by->factors[k])
        k++;
      else
        term.factors[term.count++] = a->terms[i].factors[j];
    }
    if (k != by->count) return false;
    out->terms[i] = term;
  }
  out->count = a->count;
  return expr_normalize(out);
}

/* Is it x / by, rounded down, plus a constant? Then *out is (x + constant * by), so that dividing
 * by c is dividing that by c * by. */
static bool expr_is_quotient(const loom_graph *graph, const expr_sum *a, int64_t *by,
                             expr_sum *out) {
  int64_t constant = a->count == 2 ? a->terms[1].coefficient : 0;
  if (a->count < 1 || a->count > 2 || (a->count == 2 && a->terms[1].count) ||
      a->terms[0].count != 1 || a->terms[0].coefficient != 1)
    return false;
  const loom_expr *expr = &graph->exprs[a->terms[0].factors[0]];
  if (expr->kind != LOOM_EXPR_FLOORDIV || graph->exprs[expr->rhs].kind != LOOM_EXPR_CONST)
    return false;
  *by = graph->exprs[expr->rhs].value;
  expr_sum x, offset = {.count = constant != 0};
  offset.terms[0] = (expr_term){.count = 0};
  return *by > 0 && !__builtin_mul_overflow(constant, *by, &offset.terms[0].coefficient) &&
         expr_open(graph, expr->lhs, &x) && expr_add(&x, &offset, out);
}

static bool expr_divide(loom_graph *graph, loom_expr_kind kind, const expr_sum *a,
                        const expr_sum *b, expr_sum *out) {
  int64_t divisor, dividend;
  if (kind == LOOM_EXPR_FLOORDIV && b->count == 1 && b->terms[0].count && expr_cancel(a, b, out))
    return true;
  if (!expr_is_constant(b, &divisor) || divisor <= 0)
    return divisor != 0 && expr_atom(graph, kind, a, b, out);
  bool mod = kind == LOOM_EXPR_MOD;
  expr_sum quotient, rest, inner, atom = {0};
  int64_t by;
  expr_split(a, divisor, &quotient, &rest);
  if (!mod && expr_is_quotient(graph, &rest, &by, &inner) &&
      !__builtin_mul_overflow(by, divisor, &by)) {
    expr_sum whole = {.count = 1, .terms = {{.coefficient = by}}};
    return expr_divide(graph, kind, &inner, &whole, &atom) && expr_add(&quotient, &atom, out);
  }
  if (expr_is_constant(&rest, &dividend)) {
    int64_t q = expr_floordiv(dividend, divisor);
    int64_t value = mod ? dividend - q * divisor : q;
    atom.count = value != 0;
    atom.terms[0] = (expr_term){.coefficient = value, .count = 0};
  } else if (!expr_atom(graph, kind, &rest, b, &atom)) {
    return false;
  }
  if (!mod) return expr_add(&quotient, &atom, out);
  *out = atom;
  return true;
}

static bool expr_extreme(loom_graph *graph, loom_expr_kind kind, const expr_sum *a,
                         const expr_sum *b, expr_sum *out) {
  int64_t l, r;
  uint32_t lhs, rhs;
  if (expr_is_constant(a, &l) && expr_is_constant(b, &r)) {
    *out = (l < r) == (kind == LOOM_EXPR_MIN) ? *a : *b;
    return true;
  }
  if (!expr_build_index(graph, a, &lhs) || !expr_build_index(graph, b, &rhs)) return false;
  if (lhs != rhs) return expr_atom(graph, kind, a, b, out);
  *out = *a;
  return true;
}

bool loom_dim_combine(loom_graph *graph, loom_expr_kind kind, loom_dim a, loom_dim b,
                      loom_dim *out) {
  if (!LOOM_DIM_IS_SYM(a) && !LOOM_DIM_IS_SYM(b)) {
    switch (kind) {
    case LOOM_EXPR_ADD: return !__builtin_add_overflow(a, b, out);
    case LOOM_EXPR_MUL: return !__builtin_mul_overflow(a, b, out);
    case LOOM_EXPR_FLOORDIV: return b != 0 && (*out = a / b, true);
    case LOOM_EXPR_MOD: return b != 0 && (*out = a % b, true);
    case LOOM_EXPR_MIN: return *out = a < b ? a : b, true;
    case LOOM_EXPR_MAX: return *out = a > b ? a : b, true;
    default: return false;
    }
  }
  if (!graph) return false;
  expr_sum lhs, rhs, sum;
  if (!expr_open_dim(graph, a, &lhs) || !expr_open_dim(graph, b, &rhs)) return false;
  bool good;
  switch (kind) {
  case LOOM_EXPR_ADD: good = expr_add(&lhs, &rhs, &sum); break;
  case LOOM_EXPR_MUL: good = expr_mul(&lhs, &rhs, &sum); break;
  case LOOM_EXPR_FLOORDIV:
  case LOOM_EXPR_MOD: good = expr_divide(graph, kind, &lhs, &rhs, &sum); break;
  case LOOM_EXPR_MIN:
  case LOOM_EXPR_MAX: good = expr_extreme(graph, kind, &lhs, &rhs, &sum); break;
  default: return false;
  }
  return good && expr_build(graph, &sum, out);
}

bool loom_dim_offset(loom_graph *graph, loom_dim a, int64_t offset, loom_dim *out) {
  if (!LOOM_DIM_IS_SYM(a)) return !__builtin_add_overflow(a, offset, out) && *out >= 0;
  if (!graph) return false;
  expr_sum sum, constant = {.count = offset != 0, .terms = {{.coefficient = offset}}}, result;
  return expr_open_dim(graph, a, &sum) && expr_add(&sum, &constant, &result) &&
         expr_build(graph, &result, out);
}

/* ---- evaluation ---- */

static bool expr_eval(const loom_graph *graph, uint32_t index, const int64_t *symbols,
                      int64_t *out) {
  const loom_expr *expr = &graph->exprs[index];
  int64_t a, b;
  if (expr->kind == LOOM_EXPR_CONST) return *out = expr->value, true;
  if (expr->kind == LOOM_EXPR_SYMBOL) return *out = symbols[expr->value], true;
  if (!expr_eval(graph, expr->lhs, symbols, &a) || !expr_eval(graph, expr->rhs, symbols, &b))
    return false;
  switch (expr->kind) {
  case LOOM_EXPR_ADD: return !__builtin_add_overflow(a, b, out);
  case LOOM_EXPR_MUL: return !__builtin_mul_overflow(a, b, out);
  case LOOM_EXPR_FLOORDIV: return b > 0 && (*out = expr_floordiv(a, b), true);
  case LOOM_EXPR_MOD: return b > 0 && (*out = a - b * expr_floordiv(a, b), true);
  case LOOM_EXPR_MIN: return *out = a < b ? a : b, true;
  default: return *out = a > b ? a : b, true;
  }
}

bool loom_dim_eval(const loom_graph *graph, loom_dim dim, const int64_t *symbols, int64_t *out) {
  if (!LOOM_DIM_IS_SYM(dim)) return *out = dim, true;
  return expr_eval(graph, LOOM_DIM_EXPR(dim), symbols, out);
}
