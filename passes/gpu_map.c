/* Tensor maps of a product's operands (passes/gpu_ring.c): which operands have one, and its
 * numbers, from which the driver makes the map in each launch.
 *
 * A number is a constant, or factor * symbol * symbol + constant: symbols are among the parameters
 * of the launch.
 */
#include "graph/graph.h"
#include "passes/gpu_tile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAP_ALIGNED 16 /* bytes of which strides are multiples */

int gpu_map_size(const dot_plan *p) { return (int)loom_dtype_size(p->factor); }

/* ---- numbers ---- */

typedef struct map_number {
  int64_t factor, plus;
  int count, symbols[2];
} map_number;

static bool map_number_of(int64_t code, map_number *out);

static bool map_product(const map_number *x, const map_number *y, map_number *out) {
  bool both = x->count && y->count;
  if ((both && (x->plus || y->plus)) || x->count + y->count > 2) return false;
  *out = x->count ? *x : *y;
  const map_number *other = x->count ? y : x;
  int64_t scale = other->count ? other->factor : other->plus;
  for (int i = 0; i < other->count; i++)
    out->symbols[out->count++] = other->symbols[i];
  return !__builtin_mul_overflow(out->factor, scale, &out->factor) &&
         !__builtin_mul_overflow(out->plus, scale, &out->plus);
}

static bool map_sum(const map_number *x, const map_number *y, map_number *out) {
  if (x->count && y->count) return false;
  *out = x->count ? *x : *y;
  return !__builtin_add_overflow(x->plus, y->plus, &out->plus);
}

static bool map_expression(const loom_expr *expr, map_number *out) {
  map_number x, y;
  if (expr->kind == LOOM_EXPR_SYMBOL) {
    *out = (map_number){.factor = 1, .count = 1, .symbols = {(int)expr->value}};
    return true;
  }
  if (expr->kind != LOOM_EXPR_ADD && expr->kind != LOOM_EXPR_MUL) return false;
  if (!map_number_of(LOOM_STRIDE_SYM(expr->lhs), &x) ||
      !map_number_of(LOOM_STRIDE_SYM(expr->rhs), &y))
    return false;
  return expr->kind == LOOM_EXPR_ADD ? map_sum(&x, &y, out) : map_product(&x, &y, out);
}

/* False: it has another form. */
static bool map_number_of(int64_t code, map_number *out) {
  *out = (map_number){.plus = code};
  if (!LOOM_STRIDE_IS_SYM(code)) return true;
  const loom_expr *expr = &loom_sizes()->exprs[LOOM_STRIDE_EXPR(code)];
  *out = (map_number){.plus = expr->value};
  return expr->kind == LOOM_EXPR_CONST || map_expression(expr, out);
}

static bool map_is_number(int64_t code) {
  map_number number;
  return map_number_of(code, &number) && number.plus >= 0 &&
         (!number.count || (number.factor > 0 && number.plus <= INT32_MAX / 4));
}

/* ---- maps ---- */

/* Elements from a line to the next one. A single line has some too. */
static int64_t map_lines(const dot_plan *p, const dot_operand *o, int along, int across) {
  if (p->extents[across] != 1) return o->strides[across];
  int64_t aligned = MAP_ALIGNED / gpu_map_size(p);
  return loom_num_mul(loom_num_ceil(p->extents[along], aligned), aligned);
}

static bool map_multiple(const dot_plan *p, int64_t elements) {
  return loom_num_multiple(loom_num_mul(elements, gpu_map_size(p)), MAP_ALIGNED);
}

bool gpu_map_of(const lower_kernel *kernel, const dot_plan *p, int side) {
  const dot_operand *o = side ? &p->rhs : &p->lhs;
  bool turned = gpu_slab_is_turned(p, side);
  int along = turned ? o->lane_group : DOT_DEPTH, across = turned ? DOT_DEPTH : o->lane_group;
  if (!o->known || o->operand < 0 || o->stored != p->factor) return false;
  if (kernel->operands[o->operand].slot < 0 || kernel->buffer_count >= TILE_BUFFERS) return false;
  if (turned && !loom_dtype_is_half(p->factor)) return false;
  if (LOOM_STRIDE_IS_SYM(o->base) || !map_multiple(p, o->base)) return false;
  for (int g = 0; g < DOT_GROUPS; g++)
    if (!map_is_number(p->extents[g]) || loom_num_low(p->extents[g]) > INT32_MAX) return false;
  int64_t lines = map_lines(p, o, along, across), batches = o->strides[DOT_BATCH];
  bool apart = p->extents[DOT_BATCH] == 1 ||
               (loom_num_low(batches) >= 0 && map_multiple(p, batches) && map_is_number(batches));
  return o->strides[along] == 1 && apart && map_is_number(lines) && map_multiple(p, lines) &&
         loom_num_at_most(p->extents[along], lines);
}

/* ---- as text (targets/gpu.c) ---- */

/* factor*parameter*parameter+plus, or plus. */
static void map_put(lower *l, int64_t code, int scale) {
  size_t used = strlen(l->team.maps), size = sizeof l->team.maps;
  map_number number;
  map_number_of(code, &number);
  if (number.count)
    used += (size_t)snprintf(l->team.maps + used, size - used, " %" PRId64, number.factor * scale);
  for (int i = 0; i < number.count && used < size; i++)
    used += (size_t)snprintf(l->team.maps + used, size - used, "*%d",
                             l->kernel->scalar_count + number.symbols[i]);
  if (used < size && (number.plus || !number.count))
    used += (size_t)snprintf(l->team.maps + used, size - used,
                             number.count ? "+%" PRId64 : " %" PRId64, number.plus * scale);
  if (used >= size) l->failed = true;
}

void gpu_map_write(lower *l, const dot_plan *p, int side, int line, int rows) {
  const dot_operand *o = side ? &p->rhs : &p->lhs;
  bool turned = gpu_slab_is_turned(p, side);
  int along = turned ? o->lane_group : DOT_DEPTH, across = turned ? DOT_DEPTH : o->lane_group;
  int size = gpu_map_size(p);
  int64_t lines = map_lines(p, o, along, across);
  bool one = p->extents[DOT_BATCH] == 1 || !o->strides[DOT_BATCH];
  size_t used = strlen(l->team.maps);
  snprintf(l->team.maps + used, sizeof l->team.maps - used, "%s%d %d %d %d", used ? " " : "",
           l->kernel->operands[o->operand].slot, size, line / size, rows);
  map_put(l, o->base, size);
  map_put(l, p->extents[along], 1);
  map_put(l, p->extents[across], 1);
  map_put(l, one ? 1 : p->extents[DOT_BATCH], 1);
  map_put(l, lines, size);
  map_put(l, one ? lines : o->strides[DOT_BATCH], size);
}
