/* Sizes of a host call's results, expressed by symbols. The library was called with several sets of
 * sizes, and the simplest rule that fits all of its answers is taken. If the library follows
 * another rule after all, the results do not fit when the plan runs, and the plain function runs
 * instead.
 */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/host_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"

#include <stdlib.h>

#define SIZES_MOST 24     /* sizes and numbers among the arguments */
#define SIZES_FURTHEST 64 /* of a constant that is added */
#define SIZES_STEEPEST 8  /* of a constant factor or divisor */

typedef struct sizes_known {
  int64_t number;
  int64_t seen[HOST_SETS];
} sizes_known;

typedef struct sizes_rules {
  tracer *t;
  sizes_known from[SIZES_MOST];
  int count;
} sizes_rules;

static void sizes_add(sizes_rules *r, const np_host_call *asked, int64_t number) {
  sizes_known one = {.number = number};
  if (!LOOM_STRIDE_IS_SYM(number) || r->count == SIZES_MOST) return;
  for (int s = 0; s < HOST_SETS; s++)
    if (!loom_stride_eval(trace_graph(r->t), number, asked[s].values, &one.seen[s])) return;
  for (int i = 0; i < r->count; i++)
    if (r->from[i].number == number) return;
  r->from[r->count++] = one;
}

static void sizes_gather(sizes_rules *r, const np_host_call *asked) {
  for (uint32_t k = 0; k < asked->count; k++) {
    const loom_type *type = loom_graph_type(trace_graph(r->t), asked->operands[k]);
    for (int i = 0; i < type->rank; i++)
      sizes_add(r, asked, np_dim(type->dims[i]));
  }
  for (uint32_t k = 0; k < asked->number_count; k++)
    sizes_add(r, asked, asked->numbers[k]);
}

/* What has to be added to `x` in all sets alike; false: nothing that small. */
static bool sizes_differ_by(const int64_t *x, const int64_t *wanted, int64_t *rest) {
  *rest = wanted[0] - x[0];
  for (int s = 1; s < HOST_SETS; s++)
    if (wanted[s] - x[s] != *rest) return false;
  return llabs(*rest) <= SIZES_FURTHEST;
}

/* number * by + rest */
static bool sizes_multiple(sizes_rules *r, const int64_t *wanted, int64_t *out) {
  for (int64_t by = 1; by <= SIZES_STEEPEST; by++)
    for (int i = 0; i < r->count; i++) {
      int64_t x[HOST_SETS], rest;
      for (int s = 0; s < HOST_SETS; s++)
        x[s] = r->from[i].seen[s] * by;
      if (!sizes_differ_by(x, wanted, &rest)) continue;
      *out = np_plus(r->t, np_times(r->t, r->from[i].number, by), rest);
      return true;
    }
  return false;
}

/* (number + more) // by + rest */
static bool sizes_part(sizes_rules *r, const int64_t *wanted, int64_t *out) {
  for (int64_t by = 2; by <= SIZES_STEEPEST; by++)
    for (int i = 0; i < r->count; i++)
      for (int64_t more = 0; more < by; more++) {
        int64_t x[HOST_SETS], rest;
        for (int s = 0; s < HOST_SETS; s++) {
          int64_t whole = r->from[i].seen[s] + more;
          x[s] = whole / by - (whole % by < 0);
        }
        if (!sizes_differ_by(x, wanted, &rest)) continue;
        int64_t sum = np_plus(r->t, r->from[i].number, more);
        if (!size_op(r->t, LOOM_EXPR_FLOORDIV, sum, by, out)) return false;
        *out = np_plus(r->t, *out, rest);
        return true;
      }
  return false;
}

/* Of two numbers: their sum, difference, product, the greater or smaller one; and a rest. */
static int64_t sizes_of_two(int how, int64_t a, int64_t b) {
  switch (how) {
  case 0: return a + b;
  case 1: return a - b;
  case 2: return a * b;
  case 3: return a > b ? a : b;
  case 4: return a < b ? a : b;
  default: return (a > b ? a - b : b - a);
  }
}

static bool sizes_build_two(tracer *t, int how, int64_t a, int64_t b, int64_t *out) {
  int64_t least;
  switch (how) {
  case 0: return size_op(t, LOOM_EXPR_ADD, a, b, out);
  case 1: return size_minus(t, a, b, out);
  case 2: return size_op(t, LOOM_EXPR_MUL, a, b, out);
  case 3: return size_op(t, LOOM_EXPR_MAX, a, b, out);
  case 4: return size_op(t, LOOM_EXPR_MIN, a, b, out);
  default:
    return size_op(t, LOOM_EXPR_MAX, a, b, out) && size_op(t, LOOM_EXPR_MIN, a, b, &least) &&
           size_minus(t, *out, least, out);
  }
}

static bool sizes_pair(sizes_rules *r, const int64_t *wanted, int64_t *out) {
  for (int how = 0; how < 6; how++)
    for (int i = 0; i < r->count; i++)
      for (int k = 0; k < r->count; k++) {
        int64_t x[HOST_SETS], rest;
        for (int s = 0; s < HOST_SETS; s++)
          x[s] = sizes_of_two(how, r->from[i].seen[s], r->from[k].seen[s]);
        if ((i == k && how != 2) || !sizes_differ_by(x, wanted, &rest)) continue;
        if (!sizes_build_two(r->t, how, r->from[i].number, r->from[k].number, out)) return false;
        *out = np_plus(r->t, *out, rest);
        return true;
      }
  return false;
}

/* number * (number + more) // 2: of triangles */
static bool sizes_triangle(sizes_rules *r, const int64_t *wanted, int64_t *out) {
  for (int i = 0; i < r->count; i++)
    for (int64_t more = -8; more <= 8; more++) {
      int64_t x[HOST_SETS], rest;
      for (int s = 0; s < HOST_SETS; s++)
        x[s] = r->from[i].seen[s] * (r->from[i].seen[s] + more) / 2;
      if (more % 2 == 0 || !sizes_differ_by(x, wanted, &rest)) continue;
      int64_t n = r->from[i].number, product = np_times(r->t, n, np_plus(r->t, n, more));
      if (!size_op(r->t, LOOM_EXPR_FLOORDIV, product, 2, out)) return false;
      *out = np_plus(r->t, *out, rest);
      return true;
    }
  return false;
}

bool np_host_size(tracer *t, const np_host_call *asked, const int64_t *seen, loom_dim *out) {
  sizes_rules *r = trace_alloc(t, sizeof *r);
  int64_t number;
  bool same = true;
  for (int s = 1; s < HOST_SETS; s++)
    same &= seen[s] == seen[0];
  if (same) return *out = seen[0], true;
  if (!r) return false;
  r->t = t;
  sizes_gather(r, asked);
  return (sizes_multiple(r, seen, &number) || sizes_part(r, seen, &number) ||
          sizes_pair(r, seen, &number) || sizes_triangle(r, seen, &number)) &&
         size_admit(t, number, out);
}
