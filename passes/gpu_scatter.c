/* Scatters on a GPU. Updates of one element are applied in their order, as on x86, so that floats
 * have the same bits in each run.
 *
 * Where an index is that of an element, or there are few indices, or a size is symbolic, a thread
 * has an element of outer x inner and goes through the indices. Else the indices are brought into
 * order first (gpu_order.c). Those of one target follow each other then, and a thread for each
 * element of outer x inner applies their updates: that of the first of them. A bad index comes
 * last, as the greatest key.
 */
#include "passes/gpu.h"
#include "passes/scatter.h"

#define SCATTER_FEW 64 /* indices that a thread goes through */

typedef struct gpu_scatter {
  scatter_job job; /* first: what its functions take */
  gpu_order order;
  bool ordered;
  int64_t inner;            /* elements of outer x inner */
  int64_t keys, numbers;    /* of the indices in order: bytes, in the slots */
  MlirValue at, key, first; /* of a thread: number among the elements; of an index in order */
} gpu_scatter;

static MlirValue scatter_key(lower *l, void *user, MlirValue line, MlirValue at);
static void scatter_deliver(lower *l, void *user, MlirValue line, MlirValue at, MlirValue key,
                            MlirValue number);

static bool scatter_make(const lower_kernel *kernel, MlirOperation op, gpu_scatter *s) {
  *s = (gpu_scatter){.inner = 0};
  if (!scatter_read(kernel, op, &s->job)) return false;
  const scatter_job *j = &s->job;
  s->inner = loom_num_mul(loom_num_mul(j->outer, j->rows), j->lanes);
  bool known = !LOOM_STRIDE_IS_SYM(j->count) && !LOOM_STRIDE_IS_SYM(s->inner) &&
               !LOOM_STRIDE_IS_SYM(j->to_dims[j->axis]);
  if (loom_num_take_failure()) return alone_refuse(op, "a size that cannot be expressed");
  s->ordered = known && !j->along && j->count > SCATTER_FEW && j->count <= GPU_ORDER_MOST &&
               j->to_dims[j->axis] < INT32_MAX && s->inner;
  if (!s->ordered) return true;
  s->order = (gpu_order){
      .n = j->count, .lines = 1, .key = scatter_key, .deliver = scatter_deliver, .user = s};
  s->keys = gpu_order_bytes(&s->order);
  s->numbers = s->keys + 4 * j->count;
  return true;
}

bool gpu_scatter_plan(const lower_kernel *kernel, alone_plan *out) {
  gpu_scatter s;
  if (!scatter_make(kernel, out->op, &s)) return false;
  out->stage_count = 1;
  out->stages[0] = gpu_blocks(s.inner);
  if (!s.ordered)
    return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
  out->stage_count = gpu_order_stages(&s.order, out->stages);
  out->stages[out->stage_count++] = gpu_blocks(s.inner * s.job.count);
  out->slots = s.numbers + 4 * s.job.count;
  return true;
}

/* ---- a thread goes through the indices ---- */

/* The element of outer x inner that the thread has. */
static void scatter_element(lower *l, const scatter_job *j, MlirValue at) {
  alone_set(l, SCATTER_LANE, alone_op(l, "arith.remui", at, j->lanes));
  at = alone_op(l, "arith.divui", at, j->lanes);
  alone_set(l, SCATTER_ROW, alone_op(l, "arith.remui", at, j->rows));
  alone_set(l, SCATTER_OUTER, alone_op(l, "arith.divui", at, j->rows));
}

static void scatter_good(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  scatter_places(l, j);
  scatter_apply(l, j, NULL, NULL);
}

static void scatter_index(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  const uint32_t vars =
      1u << SCATTER_OUTER | 1u << SCATTER_INDEX | 1u << SCATTER_ROW | 1u << SCATTER_LANE;
  MlirValue good = scatter_aim(l, j, vars);
  if (!l->failed) lower_if(l, good, scatter_good, j);
}

static void scatter_serial(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gpu_scatter *s = user;
  scatter_element(l, &s->job, s->at);
  lower_for(l, alone_const(l, 0), alone_const(l, s->job.count), alone_const(l, 1), SCATTER_INDEX, 0,
            NULL, scatter_index, s, NULL);
}

/* ---- indices in order ---- */

static MlirValue scatter_key(lower *l, void *user, MlirValue line, MlirValue at) {
  gpu_scatter *s = user;
  lower_value inside = {{NULL}, 0, false, LOOM_BOOL};
  alone_set(l, SCATTER_INDEX, at);
  lower_value target = scatter_target(l, &s->job, &inside);
  if (l->failed) return (MlirValue){NULL};
  loom_builder b = alone_here(l);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  MlirValue key = loom_build1(&b, "arith.trunci", target.v, i32);
  return lane_select(&b, inside.v, key, lane_const_int(&b, i32, -1));
}

/* Element `at` of the keys, or of the numbers, in order. */
static MlirValue scatter_slot(lower *l, int64_t bytes, MlirValue at) {
  MlirValue slots = l->pointers[l->kernel->buffer_count];
  slots = alone_address(l, slots, alone_const(l, bytes), LOOM_U8);
  return alone_address(l, slots, at, LOOM_U32);
}

static MlirValue scatter_load(lower *l, int64_t bytes, MlirValue at) {
  MlirValue slot = scatter_slot(l, bytes, at);
  loom_builder b = alone_here(l);
  return lane_load(&b, slot, LOOM_U32, 1, (MlirValue){NULL});
}

static void scatter_deliver(lower *l, void *user, MlirValue line, MlirValue at, MlirValue key,
                            MlirValue number) {
  const gpu_scatter *s = user;
  MlirValue keys = scatter_slot(l, s->keys, at), numbers = scatter_slot(l, s->numbers, at);
  loom_builder b = alone_here(l);
  lane_store(&b, key, keys, LOOM_U32, (MlirValue){NULL});
  lane_store(&b, number, numbers, LOOM_U32, (MlirValue){NULL});
}

/* Is index number `at` in order one of the thread's target? */
static MlirValue scatter_same(lower *l, void *user, MlirValue at) {
  const gpu_scatter *s = user;
  MlirValue key = scatter_load(l, s->keys, at);
  loom_builder b = alone_here(l);
  return lane_cmpi(&b, "eq", key, s->key);
}

/* The end of the indices of the thread's target. */
static MlirValue scatter_end(lower *l, gpu_scatter *s) {
  MlirValue low = alone_op(l, "arith.addi", s->first, 1), high = alone_const(l, s->job.count);
  return gpu_search(l, low, high, s->job.count, s->first, scatter_same, s);
}

/* The value of update number `at` in order. */
static lower_value scatter_value(lower *l, gpu_scatter *s, MlirValue at) {
  MlirValue number = scatter_load(l, s->numbers, at);
  loom_builder b = alone_here(l);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  alone_set(l, SCATTER_INDEX, loom_build1(&b, "arith.extui", number, i64));
  scatter_places(l, &s->job);
  lower_value value = {{NULL}, 0, false, LOOM_I64};
  return l->failed ? value : lower_emit(l, loom_operand(s->job.op, 2), s->job.update);
}

static void scatter_add(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gpu_scatter *s = user;
  MlirValue at = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  lower_value value = scatter_value(l, s, at);
  if (l->failed) return;
  loom_builder b = alone_here(l);
  next[0] = lower_combine(&b, s->job.combine, s->job.to.dtype, carried[0], value.v);
}

static void scatter_run(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gpu_scatter *s = user;
  scatter_job *j = &s->job;
  loom_builder b = alone_here(l);
  MlirValue target = loom_build1(&b, "arith.extui", s->key, mlirIntegerTypeGet(b.ctx, 64));
  lower_index_opaque(l, (lower_value){target, l->depth, false, LOOM_I64}, 1u << SCATTER_INDEX,
                     &j->target);
  MlirValue end = scatter_end(l, s), zero = alone_const(l, 0);
  if (!j->combine) {
    lower_value value = scatter_value(l, s, alone_op(l, "arith.subi", end, 1));
    if (!l->failed) lower_store(l, 0, j->place, value);
    return;
  }
  alone_set(l, SCATTER_INDEX, zero);
  scatter_places(l, j);
  const lower_at *place = j->place;
  lower_value value = lower_emit(l, loom_operand(j->op, 0), place);
  if (l->failed) return;
  lower_var index = l->vars[SCATTER_INDEX];
  lower_for(l, s->first, end, alone_const(l, 1), -1, 1, &value.v, scatter_add, s, &value.v);
  l->vars[SCATTER_INDEX] = index;
  if (!l->failed) lower_store(l, 0, place, value);
}

/* Is this the first index of a target? */
static void scatter_first(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gpu_scatter *s = user;
  s->first = alone_op(l, "arith.divui", s->at, s->inner);
  scatter_element(l, &s->job, alone_op(l, "arith.remui", s->at, s->inner));
  s->key = scatter_load(l, s->keys, s->first);
  MlirValue before = alone_op(l, "arith.subi", s->first, 1);
  before = alone_op(l, "arith.maxsi", before, 0);
  MlirValue other = scatter_load(l, s->keys, before), zero = alone_const(l, 0);
  loom_builder b = alone_here(l);
  MlirValue bad = lane_const_int(&b, mlirValueGetType(s->key), -1);
  MlirValue first = lane_cmpi(&b, "ne", s->key, other);
  first = lane_op2(&b, "arith.ori", first, lane_cmpi(&b, "eq", s->first, zero));
  first = lane_op2(&b, "arith.andi", first, lane_cmpi(&b, "ne", s->key, bad));
  lower_if(l, first, scatter_run, s);
}

void gpu_scatter_lower(lower *l, const alone_plan *plan, int stage) {
  gpu_scatter s;
  if (!scatter_make(l->kernel, plan->op, &s)) {
    l->failed = true;
    return;
  }
  if (loom_type_elements(&s.job.updates) == 0) return;
  scatter_open(l, &s.job);
  if (s.ordered && stage < plan->stage_count - 1) {
    gpu_order_lower(l, &s.order, stage);
    return;
  }
  if (s.ordered)
    gpu_each(l, s.inner * s.job.count, &s.at, scatter_first, &s);
  else
    gpu_each(l, s.inner, &s.at, scatter_serial, &s);
}
