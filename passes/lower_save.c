/* Costly values that several passes over a row need (lower.h): the first pass lays them into
 * scratch, later ones read them from there, where they still are in the first cache. Softmax's
 * exponentials are the case in point.
 *
 * A pass over a row is a phase. Phases nest while code is made, since a reduction that a loop's
 * body wants first is made in front of that loop; so a value is only read once the phase that lays
 * it down has ended.
 */
#include "passes/lower.h"

#include <string.h>

#define SAVE_BYTES 131072
#define SAVE_COST 20

typedef struct save_walk {
  lower *l;
  MlirOperation *ops;
  uint32_t *phases;
  int count;
} save_walk;

static int save_number(const save_walk *w, MlirOperation op) {
  for (int i = w->count - 1; i >= 0; i--)
    if (mlirOperationEqual(w->ops[i], op)) return i;
  return -1;
}

/* Marks the ops of full size that a phase reaches. */
static void save_reach(save_walk *w, MlirValue value, uint32_t phase, int depth) {
  MlirOperation op = loom_def(value);
  int i = op.ptr ? save_number(w, op) : -1;
  loom_opcode code;
  loom_type type;
  if (i < 0 || w->phases[i] & phase || depth > 256 || !loom_opcode_of(op, &code) ||
      !loom_type_from_mlir(mlirValueGetType(value), &type) || type.rank != w->l->plan->rank)
    return;
  switch (loom_op_table[code].lower) {
  case LOOM_LOWER_UNARY:
  case LOOM_LOWER_BINARY:
  case LOOM_LOWER_TERNARY:
  case LOOM_LOWER_SELECT:
  case LOOM_LOWER_CONVERT: break;
  default: return;
  }
  w->phases[i] |= phase;
  for (intptr_t k = 0; k < mlirOperationGetNumOperands(op); k++)
    save_reach(w, loom_operand(op, k), phase, depth + 1);
}

static void save_choose(lower *l, const save_walk *w) {
  lower_plan *plan = l->plan;
  int64_t elements = 1, bytes = 0;
  for (int v = 0; v < plan->rank; v++)
    if (plan->reduced >> v & 1) elements = loom_num_mul(elements, l->vars[v].extent);
  for (int i = 0; i < w->count && plan->saved_count < LOWER_SAVES; i++) {
    loom_opcode code;
    loom_type type;
    if (__builtin_popcount(w->phases[i]) < 2 || !loom_opcode_of(w->ops[i], &code) ||
        !loom_type_from_mlir(mlirValueGetType(loom_result(w->ops[i], 0)), &type) ||
        lower_cost(code, type.dtype) < SAVE_COST)
      continue;
    int64_t size = loom_num_mul(elements, (int64_t)loom_dtype_size(type.dtype));
    if (loom_num_hint(loom_num_add(bytes, size)) > SAVE_BYTES) continue;
    plan->saved[plan->saved_count++] =
        (lower_saved){loom_result(w->ops[i], 0), bytes, type.dtype, 0, false};
    bytes = loom_num_add(bytes, loom_num_mul(loom_num_ceil(size, 64), 64));
  }
  plan->saved_bytes = bytes;
}

void lower_save_find(lower *l) {
  enum { LIMIT = 512 };
  lower_plan *plan = l->plan;
  MlirOperation ops[LIMIT];
  uint32_t phases[LIMIT] = {0};
  save_walk w = {l, ops, phases, 0};
  plan->saved_count = 0;
  if (!plan->lane_reduced || plan->scan_count || plan->depth > 30 || l->kernel->target == LANES_GPU)
    return;
  MlirOperation op = mlirBlockGetFirstOperation(l->kernel->block);
  for (; op.ptr && w.count < LIMIT; op = mlirOperationGetNextInBlock(op))
    if (mlirOperationGetNumResults(op) == 1) ops[w.count++] = op;
  for (int g = 0; g < plan->group_count; g++) {
    const lower_group *group = &plan->groups[g];
    if (!group->primary) return;
    for (int i = 0; i < group->count; i++)
      save_reach(&w, loom_operand(group->members[i], 0), 1u << group->depth, 0);
  }
  for (int i = 0; i < l->kernel->result_count; i++)
    if (plan->full[i]) save_reach(&w, l->kernel->results[i].value, 1u << plan->depth, 0);
  save_choose(l, &w);
}

int lower_phase_open(lower *l) {
  int outer = l->phase;
  l->phase = ++l->phase_count;
  return outer;
}

void lower_phase_close(lower *l, int outer) {
  for (int i = 0; i < l->plan->saved_count; i++)
    if (l->plan->saved[i].phase == l->phase) l->plan->saved[i].closed = true;
  l->phase = outer;
}

lower_saved *lower_save_of(lower *l, MlirValue value, const lower_at *at) {
  if (l->dry || !l->plan || !l->phase || l->plan->splits || at != l->plan->full_at) return NULL;
  for (int i = 0; i < l->plan->saved_count; i++)
    if (mlirValueEqual(l->plan->saved[i].value, value)) return &l->plan->saved[i];
  return NULL;
}

/* The place of this element (or of lane 0) in the saved row. */
static MlirValue save_place(lower *l, loom_builder *b, const lower_saved *saved) {
  const lower_nest *inner = &l->plan->inner;
  lower_index index = {0};
  int64_t stride = 1;
  for (int k = inner->count - 1; k >= 0; k--) {
    if (inner->loops[k].var >= 0) index.coef[inner->loops[k].var] = stride;
    stride = loom_num_mul(stride, inner->loops[k].extent);
  }
  lower_value offset;
  MlirValue base = lane_address(b, l->scratch, lower_int(l, saved->offset).v, LOOM_I8);
  if (!lower_index_base(l, &index, &offset)) return base;
  return lane_address(b, base, offset.v, saved->dtype);
}

lower_value lower_save_load(lower *l, const lower_saved *saved) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue place = save_place(l, &b, saved);
  return (lower_value){lane_load(&b, place, saved->dtype, l->width, l->mask), l->depth, true,
                       saved->dtype};
}

void lower_save_store(lower *l, lower_saved *saved, lower_value value) {
  if (!value.lanes && l->width > 1) return;
  if (saved->phase && saved->phase != l->phase) return;
  loom_builder b = lower_at_level(l, l->depth);
  lane_store(&b, value.v, save_place(l, &b, saved), saved->dtype, l->mask);
  saved->phase = l->phase;
}
