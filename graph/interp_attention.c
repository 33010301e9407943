/* The interpreter's attention: query by query, with all of its scores, in double. */
#include "graph/interp.h"

#include <math.h>
#include <string.h>

/* One query of an attention or of its gradient. */
typedef struct attention_row {
  const interp_call *c;
  const loom_buffer *q, *k, *v, *scale, *mask; /* mask: or NULL */
  bool causal;
  int64_t at[3]; /* batch, head, query */
  int64_t group; /* head of k and v */
  double *scores;
} attention_row;

static attention_row attention_open(const interp_call *c, int first, int scale) {
  attention_row r = {.c = c, .q = &c->operands[first], .k = &c->operands[first + 1]};
  r.v = &c->operands[first + 2];
  r.scale = &c->operands[scale];
  r.mask = (int)c->view->operand_count > scale + 1 ? &c->operands[scale + 1] : NULL;
  r.causal = c->view->attrs[0].i;
  return r;
}

static double attention_at(const loom_buffer *b, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
  const int64_t index[] = {i0, i1, i2, i3};
  return interp_load(b, index).re;
}

static void attention_add(const loom_buffer *b, int64_t i0, int64_t i1, int64_t i2, int64_t i3,
                          double x) {
  const int64_t index[] = {i0, i1, i2, i3};
  loom_cell cell = interp_load(b, index);
  cell.re += x;
  interp_store(b, index, cell);
}

static double attention_score(const attention_row *r, int64_t key) {
  const int64_t *at = r->at;
  double sum = 0;
  if (r->causal && key > at[2]) return -INFINITY;
  for (int64_t d = 0; d < r->q->type.dims[3]; d++)
    sum += attention_at(r->q, at[0], at[1], at[2], d) * attention_at(r->k, at[0], r->group, key, d);
  sum *= interp_load(r->scale, NULL).re;
  if (!r->mask) return sum;
  int64_t index[] = {at[0], at[1], at[2], key};
  for (int i = 0; i < 4; i++)
    if (r->mask->type.dims[i] == 1) index[i] = 0;
  loom_cell mask = interp_load(r->mask, index);
  if (r->mask->type.dtype == LOOM_BOOL) return mask.i ? sum : -INFINITY;
  return sum + mask.re;
}

/* Calls `visit` for each query with its scores. */
static bool attention_rows(attention_row *r, void (*visit)(attention_row *r)) {
  loom_type rows = r->q->type;
  rows.rank = 3;
  int64_t keys = r->k->type.dims[2], repeat = r->q->type.dims[1] / r->k->type.dims[1];
  if (interp_empty(&rows)) return true;
  loom_arena arena = {0};
  r->scores = loom_arena_alloc(&arena, sizeof *r->scores * (size_t)(keys + 1));
  if (!r->scores) return loom_fail(r->c->err, "out of memory");
  do {
    r->group = r->at[1] / repeat;
    for (int64_t key = 0; key < keys; key++)
      r->scores[key] = attention_score(r, key);
    visit(r);
  } while (interp_next(&rows, r->at));
  loom_arena_fini(&arena);
  return true;
}

static void attention_forward(attention_row *r) {
  const loom_buffer *out = &r->c->results[0];
  int64_t keys = r->k->type.dims[2];
  double max = -INFINITY, sum = 0;
  for (int64_t key = 0; key < keys; key++)
    if (r->scores[key] > max) max = r->scores[key];
  double from = max == -INFINITY ? 0 : max;
  for (int64_t key = 0; key < keys; key++)
    sum += r->scores[key] = exp(r->scores[key] - from);
  bool zero = sum == 0 && strcmp(r->c->view->attrs[1].str, "zero") == 0;
  for (int64_t e = 0; e < out->type.dims[3]; e++) {
    const int64_t index[] = {r->at[0], r->at[1], r->at[2], e};
    double x = 0;
    for (int64_t key = 0; key < keys; key++)
      x += r->scores[key] * attention_at(r->v, r->at[0], r->group, key, e);
    interp_store(out, index, (loom_cell){.re = zero ? 0 : x / sum});
  }
  interp_store(&r->c->results[1], r->at, (loom_cell){.re = zero ? 0 : max + log(sum)});
}

bool interp_attention(const interp_call *c) {
  attention_row r = attention_open(c, 0, 3);
  return attention_rows(&r, attention_forward);
}

/* Adds what one query gives to the three gradients. */
static void attention_backward(attention_row *r) {
  const loom_buffer *grad = &r->c->operands[0], *result = r->c->results;
  const int64_t *at = r->at;
  double lse = interp_load(&r->c->operands[4], at).re, dot = interp_load(&r->c->operands[5], at).re;
  double scale = interp_load(r->scale, NULL).re;
  for (int64_t key = 0; key < r->k->type.dims[2]; key++) {
    double p = exp(r->scores[key] - lse), dp = 0;
    for (int64_t e = 0; e < r->v->type.dims[3]; e++) {
      double g = attention_at(grad, at[0], at[1], at[2], e);
      dp += g * attention_at(r->v, at[0], r->group, key, e);
      attention_add(&result[2], at[0], r->group, key, e, p * g);
    }
    double ds = p * (dp - dot) * scale;
    for (int64_t d = 0; d < r->q->type.dims[3]; d++) {
      attention_add(&result[0], at[0], at[1], at[2], d,
                    ds * attention_at(r->k, at[0], r->group, key, d));
      attention_add(&result[1], at[0], r->group, key, d,
                    ds * attention_at(r->q, at[0], at[1], at[2], d));
    }
  }
}

bool interp_attention_gradient(const interp_call *c) {
  attention_row r = attention_open(c, 1, 6);
  for (int i = 0; i < 3; i++) {
    int64_t index[4] = {0};
    if (interp_empty(&c->results[i].type)) continue;
    do
      interp_store(&c->results[i], index, (loom_cell){0});
    while (interp_next(&c->results[i].type, index));
  }
  return attention_rows(&r, attention_backward);
}
