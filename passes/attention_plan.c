/* How a kernel with an attention or its gradient is divided (attention.h). Sizes alone decide,
 * never the threads. */
#include "loom_ops_reductions.h"
#include "passes/attention.h"

#include <string.h>

#define ATTENTION_LANES 64 /* queries of a block, at most, unless vectors are wider */
#define ATTENTION_KEYS 64  /* keys of a block */
#define ATTENTION_GRADIENT_KEYS 128
#define ATTENTION_PARTS 4           /* blocks of queries that use a packed block of keys */
#define ATTENTION_NEAR (512 * 1024) /* bytes of keys and values that stay in a core's own cache */
#define ATTENTION_CHUNKS 64         /* that many are left to be shared among threads */

static int64_t attention_round(int64_t a, int64_t b) { return loom_ceil_div(a, b) * b; }

static bool attention_operand_read(const lower_kernel *kernel, MlirOperation op, int i,
                                   attention_operand *out) {
  MlirValue value = loom_operand(op, i), root = loom_view_root(value);
  for (int k = 0; k < kernel->operand_count; k++) {
    const lower_buffer *buffer = &kernel->operands[k];
    if (buffer->slot < 0 || !mlirValueEqual(buffer->value, root)) continue;
    loom_layout at = {.type = buffer->type};
    memcpy(at.strides, buffer->strides, sizeof at.strides);
    out->buffer = buffer;
    if (loom_layout_follow(value, root, &at, &out->at)) return true;
  }
  return alone_refuse(op, "an operand that is no view of a buffer");
}

bool attention_read(const lower_kernel *kernel, MlirOperation op, attention_plan *out) {
  attention_plan *p = out;
  memset(p, 0, sizeof *p);
  p->op = op;
  p->vl = 1;
  p->gradient = loom_is(p->op, LOOM_OP_ATTENTION_GRADIENT);
  p->causal = mlirBoolAttrGetValue(loom_get_attr(p->op, "causal"));
  p->zero = !p->gradient && loom_str_is(loom_get_str(p->op, "empty"), "zero");
  attention_operand *forward[] = {&p->q, &p->k, &p->v, NULL, &p->mask};
  attention_operand *backward[] = {&p->grad, &p->q, &p->k, &p->v, &p->lse, &p->dot, NULL, &p->mask};
  attention_operand **all = p->gradient ? backward : forward;
  for (int i = 0; i < mlirOperationGetNumOperands(p->op); i++) {
    if (!all[i])
      p->scale = loom_operand(p->op, i);
    else if (!attention_operand_read(kernel, p->op, i, all[i]))
      return false;
  }
  for (int i = 0; i < kernel->result_count; i++)
    for (int r = 0; r < mlirOperationGetNumResults(p->op); r++)
      if (mlirValueEqual(kernel->results[i].value, loom_result(p->op, r)))
        p->results[r] = &kernel->results[i];
  const loom_type *q = &p->q.at.type;
  p->work = loom_dtype_is_half(q->dtype) ? LOOM_F32 : q->dtype;
  p->batch = loom_num_dim(q->dims[0]);
  p->heads = q->dims[1];
  p->queries = loom_num_dim(q->dims[2]);
  p->depth = q->dims[3];
  p->groups = p->k.at.type.dims[1];
  p->keys = loom_num_dim(p->k.at.type.dims[2]);
  p->width = p->v.at.type.dims[3];
  p->mask_turned = p->mask.buffer && p->mask.at.type.dims[2] != 1 && p->mask.at.strides[2] != 0;
  if (p->depth < 1 || p->width < 1 || p->depth > LOOM_ATTENTION_COLUMNS ||
      p->width > LOOM_ATTENTION_COLUMNS)
    return alone_refuse(p->op, "no or too many columns");
  return true;
}

/* ---- registers and blocks ---- */

/* What a product of so many rows and vectors takes, about: two multiply-adds or two loads a cycle,
 * and no faster than the latency of a multiply-add. */
static double attention_cost(const lower_kernel *kernel, int64_t rows, int64_t vectors,
                             attention_tile *out) {
  int registers = kernel->vector_bytes == 64 ? 32 : 16;
  double best = 0;
  for (int nv = 1; nv <= 8 && nv <= vectors; nv++)
    for (int mr = 1; mr * nv + nv + 1 <= registers && vectors % nv == 0; mr++) {
      int each = mr * nv > mr + nv ? mr * nv : mr + nv;
      double cost =
          (double)(loom_ceil_div(rows, mr) * (vectors / nv)) * ((each > 8 ? each : 8) + 1);
      if (best > 0 && cost >= best) continue;
      best = cost;
      *out = (attention_tile){mr, nv};
    }
  return best;
}

static void attention_lanes(const lower_kernel *kernel, attention_plan *p) {
  int size = (int)loom_dtype_size(p->work);
  int64_t queries = loom_num_high(p->queries);
  p->vl = kernel->vector_bytes / size;
  while (p->vl > 4 && p->vl / 2 >= queries)
    p->vl /= 2;
  p->square = p->vl < 8 ? p->vl : 8;
  if (size == 8 && kernel->vector_bytes < 64 && p->square > 4) p->square = 4;
}

/* A block of queries: as few lanes as possible that are no query, but enough of them for what is
 * packed for each block. */
static void attention_queries(const lower_kernel *kernel, attention_plan *p) {
  int64_t queries = loom_num_hint(p->queries), all = loom_ceil_div(queries, p->vl);
  int64_t most = ATTENTION_LANES / p->vl > 8 ? ATTENTION_LANES / p->vl : 8, chosen = 1;
  attention_tile tile;
  double best = 0;
  for (int64_t vectors = 1; vectors <= most && (vectors == 1 || vectors <= all); vectors++) {
    double work = attention_cost(kernel, ATTENTION_KEYS, vectors, &tile) / ATTENTION_KEYS;
    double cost = (double)loom_ceil_div(all > 0 ? all : 1, vectors) * (work * p->vl + 6);
    if (best > 0 && cost > best) continue;
    best = cost;
    chosen = vectors;
  }
  p->block_q = chosen * p->vl;
}

/* Keys and values that do not stay near are read from afar for each chunk: several blocks of
 * queries share one. */
static void attention_parts(attention_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->q.at.type.dtype), keys = loom_num_hint(p->keys);
  int64_t blocks = loom_ceil_div(loom_num_hint(p->queries), p->block_q);
  int64_t heads = loom_num_hint(p->batch) * p->heads;
  bool far = keys > ATTENTION_NEAR / ((p->depth + p->width) * size);
  p->parts = !p->gradient && far ? ATTENTION_PARTS : 1;
  while (p->parts > 1 && heads * loom_ceil_div(blocks, p->parts) < ATTENTION_CHUNKS)
    p->parts /= 2;
  p->blocks = loom_num_ceil(p->queries, p->block_q * p->parts);
}

static void attention_keys(const lower_kernel *kernel, attention_plan *p) {
  int64_t keys = loom_num_hint(p->keys);
  int64_t most = p->gradient ? ATTENTION_GRADIENT_KEYS : ATTENTION_KEYS;
  int64_t size = keys < 1 ? 1 : loom_ceil_div(keys, loom_ceil_div(keys, most));
  attention_cost(kernel, size, p->block_q / p->vl, &p->scores);
  p->block_k = attention_round(size, p->scores.mr);
}

/* Lays out the scratch. Rows of what a tile or a square may go beyond the end of are there. */
static void attention_areas(const lower_kernel *kernel, attention_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->work), slack = 32;
  attention_cost(kernel, p->width, p->block_q / p->vl, &p->values);
  p->row_depth = attention_round(p->depth, p->vl);
  p->row_width = attention_round(p->width, p->vl);
  if (!p->gradient) p->row_width = attention_round(attention_round(p->width, p->values.mr), p->vl);
  attention_cost(kernel, p->block_k, p->row_depth / p->vl, &p->dk);
  attention_cost(kernel, p->block_k, p->row_width / p->vl, &p->dv);
  attention_cost(kernel, p->block_q, p->row_depth / p->vl, &p->dq);
  int64_t keys = p->block_k + slack, q = p->block_q;
  int64_t depth = attention_round(p->depth, p->square), width = p->row_width + p->square;
  const int64_t parted[] = {ATTENTION_QT, ATTENTION_O, ATTENTION_MAX, ATTENTION_SUM};
  int64_t elements[ATTENTION_AREAS] = {
      [ATTENTION_QT] = depth * q,
      [ATTENTION_K] = keys * p->row_depth,
      [ATTENTION_V] = keys * p->row_width,
      [ATTENTION_S] = keys * q,
      [ATTENTION_O] = p->gradient ? 0 : width * q,
      [ATTENTION_MAX] = q,
      [ATTENTION_SUM] = q,
      [ATTENTION_ALPHA] = p->gradient ? 0 : q,
      [ATTENTION_Q] = p->gradient ? q * p->row_depth : 0,
      [ATTENTION_GT] = p->gradient ? width * q : 0,
      [ATTENTION_G] = p->gradient ? q * p->row_width : 0,
      [ATTENTION_DS] = p->gradient ? keys * q : 0,
      [ATTENTION_DK] = p->gradient ? keys * p->row_depth : 0,
      [ATTENTION_DV] = p->gradient ? keys * p->row_width : 0,
  };
  for (size_t i = 0; i < sizeof parted / sizeof *parted; i++) {
    p->part[parted[i]] = elements[parted[i]];
    elements[parted[i]] *= p->parts;
  }
  for (int i = 0; i < ATTENTION_AREAS; i++) {
    p->areas[i] = p->bytes;
    p->bytes += attention_round(elements[i] * size, 64);
  }
}

bool attention_plan_make(const lower_kernel *kernel, MlirOperation op, attention_plan *p) {
  if (!attention_read(kernel, op, p)) return false;
  attention_lanes(kernel, p);
  attention_queries(kernel, p);
  attention_parts(p);
  attention_keys(kernel, p);
  attention_areas(kernel, p);
  const lower_buffer *dq = p->gradient ? p->results[0] : NULL;
  p->direct = dq && dq->type.dtype == p->work && dq->strides[3] == 1;
  return !loom_num_take_failure() || alone_refuse(op, "a size that cannot be expressed");
}

bool attention_plan_alone(const lower_kernel *kernel, alone_plan *out) {
  attention_plan p;
  if (!attention_plan_make(kernel, out->op, &p)) return false;
  out->stage_count = 1;
  out->scratch = p.bytes;
  int64_t heads = loom_num_mul(p.batch, p.gradient ? p.groups : p.heads);
  out->stages[0] = p.gradient ? heads : loom_num_mul(heads, p.blocks);
  if (p.gradient && p.results[0] && !p.direct)
    out->slots = loom_num_mul(
        loom_num_mul(loom_num_mul(p.batch, p.heads), loom_num_mul(p.blocks, p.block_q)),
        p.row_depth * (int64_t)loom_dtype_size(p.work));
  return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
}
