/* Reductions (lower.h).
 *
 * A reduction is made where its result is first wanted, in the outermost scope that knows the
 * result's index. If lanes differ there, each lane reduces for itself, in loops over the reduced
 * variables (a column reduction). If not, the lanes run along the innermost reduced variable, and a
 * tree over the lanes ends it (a row reduction).
 *
 * Float sums are blocked: a block of 32 vectors is summed by itself, so that the error grows with
 * the square root of what a running sum would have; every lane is a running sum of its own besides.
 * The order depends on sizes only. Sums of few numbers are as NumPy's to the last bit: programs
 * compare what they divide by them.
 */
#include "passes/gpu.h"
#include "passes/passes.h"
#include "passes/reduce.h"

#include <math.h>
#include <string.h>

#define REDUCE_BLOCK 32
#define REDUCE_SUMS 8       /* NumPy's running sums of a block, */
#define REDUCE_PAIRWISE 128 /* of at most so many elements */
#define REDUCE_FEW 4096

/* ---- finding them ---- */

bool reduce_is_arg(MlirOperation op) {
  MlirStringRef kind = loom_get_str(op, "kind");
  return loom_str_is(kind, "argmin") || loom_str_is(kind, "argmax");
}

static void reduce_kind(MlirOperation op, char out[16]) {
  MlirStringRef kind = loom_get_str(op, "kind");
  size_t n = kind.length < 15 ? kind.length : 15;
  memcpy(out, kind.data, n);
  out[n] = 0;
}

static bool reduce_known_dtype(loom_dtype dtype) { return !loom_dtype_is_complex(dtype); }

static bool reduce_place(lower *l, MlirOperation op, int depth) {
  lower_plan *plan = l->plan;
  loom_type shape;
  int64_t axes[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(op, "axes", axes, LOOM_MAX_RANK);
  uint32_t set = 0;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &shape) ||
      !reduce_known_dtype(shape.dtype))
    return lower_fail(l, op, "not supported for this element type");
  for (intptr_t i = 0; i < count; i++)
    set |= 1u << axes[i];
  int g = 0;
  for (; g < plan->group_count; g++) {
    const lower_group *group = &plan->groups[g];
    if (group->depth == depth && group->axes == set && group->count < LOWER_MEMBERS &&
        group->shape.rank == shape.rank &&
        memcmp(group->shape.dims, shape.dims, sizeof shape.dims) == 0)
      break;
  }
  if (g == LOWER_GROUPS) return lower_fail(l, op, "too many reductions in a group");
  lower_group *group = &plan->groups[g];
  if (g == plan->group_count) {
    plan->group_count++;
    group->shape = shape;
    group->axes = set;
    group->depth = depth;
    group->first_var = -1;
  }
  group->members[group->count++] = op;
  return true;
}

/* How many reductions lie on the way to an op, the most. */
static int reduce_depth(const loom_map *depths, MlirOperation op) {
  int depth = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirOperation def = loom_def(loom_operand(op, i));
    int under = def.ptr ? (int)loom_map_get(depths, def.ptr, 0) : 0;
    if (under > depth) depth = under;
  }
  return depth;
}

bool lower_reduce_collect(lower *l) {
  loom_map depths = {0};
  bool good = true;
  MlirOperation op = mlirBlockGetFirstOperation(l->kernel->block);
  for (; op.ptr && good && !loom_info(op)->ends; op = mlirOperationGetNextInBlock(op)) {
    int depth = reduce_depth(&depths, op);
    bool reduce = loom_class_of(op) == LOOM_CLASS_REDUCE;
    good = !reduce || reduce_place(l, op, depth);
    if (good && !loom_map_put(&depths, op.ptr, depth + reduce))
      good = lower_fail(l, op, "out of memory");
    if (depth + reduce > l->plan->depth) l->plan->depth = depth + reduce;
  }
  loom_map_fini(&depths);
  return good;
}

static lower_group *reduce_group(lower *l, MlirOperation op) {
  for (int g = 0; g < l->plan->group_count; g++)
    for (int i = 0; i < l->plan->groups[g].count; i++)
      if (mlirOperationEqual(l->plan->groups[g].members[i], op)) return &l->plan->groups[g];
  return NULL;
}

/* ---- carried values: one for each member, and an index for an arg-reduction ---- */

void reduce_layout(reduce_run *run) {
  const lower_group *g = run->group;
  for (int i = 0; i < g->count; i++) {
    loom_type type;
    loom_type_from_mlir(mlirValueGetType(loom_operand(g->members[i], 0)), &type);
    /* Half floats are reduced in f32 and rounded at the end. */
    run->dtypes[run->count++] = loom_dtype_is_half(type.dtype) ? LOOM_F32 : type.dtype;
    if (!reduce_is_arg(g->members[i])) continue;
    int64_t elements = loom_num_high(loom_num_elements(&type));
    bool small = loom_dtype_size(type.dtype) <= 4 && elements < INT32_MAX;
    run->dtypes[run->count++] = small ? LOOM_I32 : LOOM_I64;
  }
}

static int64_t reduce_int_limit(loom_dtype dtype, bool highest) {
  int bits = (int)loom_dtype_size(dtype) * 8;
  if (dtype == LOOM_BOOL) return highest;
  if (loom_dtype_is_unsigned(dtype)) return highest ? -1 : 0;
  int64_t low = (int64_t)(UINT64_MAX << (bits - 1));
  return highest ? ~low : low;
}

static MlirValue reduce_identity(loom_builder *b, const char *kind, loom_dtype dtype, int width) {
  MlirType type = lane_type(b->ctx, dtype, width);
  bool lowest = strcmp(kind, "max") == 0 || strcmp(kind, "argmax") == 0;
  bool highest = strcmp(kind, "min") == 0 || strcmp(kind, "argmin") == 0;
  if (loom_dtype_is_float(dtype)) {
    double value = strcmp(kind, "prod") == 0 ? 1 : lowest ? -INFINITY : highest ? INFINITY : 0;
    return lane_const_float(b, type, value);
  }
  int64_t value = strcmp(kind, "prod") == 0 ? 1 : 0;
  if (strcmp(kind, "and") == 0) value = dtype == LOOM_BOOL ? 1 : -1;
  if (lowest || highest) value = reduce_int_limit(dtype, highest);
  return lane_const_int(b, type, value);
}

void reduce_identities(lower *l, const reduce_run *run, int width, MlirValue *out) {
  loom_builder b = lower_at_level(l, 0);
  char kind[16];
  for (int i = 0, c = 0; i < run->group->count; i++) {
    reduce_kind(run->group->members[i], kind);
    out[c] = reduce_identity(&b, kind, run->dtypes[c], width);
    c++;
    if (!reduce_is_arg(run->group->members[i])) continue;
    out[c] = lane_const_int(&b, lane_type(b.ctx, run->dtypes[c], width), 0);
    c++;
  }
}

/* Is y better than x: nearer to the extreme, or the first NaN. */
static MlirValue reduce_better(loom_builder *b, const char *kind, loom_dtype dtype, MlirValue x,
                               MlirValue y) {
  bool max = strcmp(kind, "argmax") == 0;
  if (!loom_dtype_is_float(dtype)) {
    bool is_signed = loom_dtype_is_signed(dtype);
    return lane_cmpi(b, max ? (is_signed ? "sgt" : "ugt") : (is_signed ? "slt" : "ult"), y, x);
  }
  MlirValue beyond = lane_cmpf(b, max ? "ugt" : "ult", y, x); /* also where either is NaN */
  return lane_op2(b, "arith.andi", beyond, lane_cmpf(b, "ord", x, x));
}

static MlirValue reduce_same(loom_builder *b, loom_dtype dtype, MlirValue x, MlirValue y) {
  if (!loom_dtype_is_float(dtype)) return lane_cmpi(b, "eq", x, y);
  MlirValue nan = lane_op2(b, "arith.andi", lane_cmpf(b, "uno", x, x), lane_cmpf(b, "uno", y, y));
  return lane_op2(b, "arith.ori", lane_cmpf(b, "oeq", x, y), nan);
}

void reduce_merge(loom_builder *b, const reduce_run *run, const MlirValue *x, const MlirValue *y,
                  MlirValue *out) {
  char kind[16];
  if (run->online) {
    gpu_online_merge(b, x, y, out);
    return;
  }
  for (int i = 0, c = 0; i < run->group->count; i++) {
    reduce_kind(run->group->members[i], kind);
    if (!reduce_is_arg(run->group->members[i])) {
      out[c] = lower_combine(b, kind, run->dtypes[c], x[c], y[c]);
      c++;
      continue;
    }
    MlirValue better = reduce_better(b, kind, run->dtypes[c], x[c], y[c]);
    MlirValue earlier = lane_op2(b, "arith.andi", reduce_same(b, run->dtypes[c], x[c], y[c]),
                                 lane_cmpi(b, "slt", y[c + 1], x[c + 1]));
    MlirValue take = lane_op2(b, "arith.ori", better, earlier), value = x[c], index = x[c + 1];
    out[c] = lane_select(b, take, y[c], value);
    out[c + 1] = lane_select(b, take, y[c + 1], index);
    c += 2;
  }
}

/* ---- loops ---- */

static MlirValue reduce_index(lower *l, const reduce_run *run, MlirOperation op, loom_dtype dtype) {
  int64_t axis = 0;
  loom_get_i64s(op, "axes", &axis, 1);
  lower_value index = lower_index_value(l, &run->operand_at->dims[axis]);
  loom_builder b = lower_at_level(l, index.level);
  MlirValue v = lower_convert(NULL, &b, index.v, LOOM_I64, dtype);
  return l->width > 1 ? lane_splat(&b, v, l->width) : v;
}

void reduce_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_run *run = user;
  char kind[16];
  lower_value values[LOWER_MEMBERS];
  const lower_group *g = run->group;
  for (int i = 0; i < g->count && !l->failed; i++)
    values[i] = lower_emit(l, loom_operand(g->members[i], 0), run->operand_at);
  for (int i = 0, c = 0; i < g->count && !l->failed; i++) {
    reduce_kind(g->members[i], kind);
    MlirValue v = lower_wide(l, values[i]);
    bool arg = reduce_is_arg(g->members[i]), masked = run->row && l->mask.ptr;
    loom_builder b = lower_at_level(l, l->depth);
    v = lower_opaque(&b, g->members[i], v);
    if (!arg) {
      MlirValue sum = lower_combine(&b, kind, run->dtypes[c], v, carried[c]);
      if (!sum.ptr)
        lower_fail(l, g->members[i], "not supported for this element type");
      else
        next[c] = masked ? lane_select(&b, l->mask, sum, carried[c]) : sum;
      c++;
      continue;
    }
    MlirValue index = reduce_index(l, run, g->members[i], run->dtypes[c + 1]);
    MlirValue take = reduce_better(&b, kind, run->dtypes[c], carried[c], v);
    if (masked) take = lane_op2(&b, "arith.andi", take, l->mask);
    next[c] = lane_select(&b, take, v, carried[c]);
    next[c + 1] = lane_select(&b, take, index, carried[c + 1]);
    c += 2;
  }
}

typedef struct reduce_block {
  const reduce_run *run;
  MlirValue split;
} reduce_block;

static void reduce_one_block(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_block *block = user;
  const reduce_run *run = block->run;
  MlirValue zeros[16], sums[16];
  MlirValue low = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue size = lower_int(l, (int64_t)run->width * REDUCE_BLOCK).v;
  MlirValue high = lane_op2(&b, "arith.addi", low, size);
  high = lane_select(&b, lane_cmpi(&b, "slt", high, block->split), high, block->split);
  reduce_identities(l, run, run->width, zeros);
  lower_lane_main(l, &run->group->lanes, low, high, run->count, zeros, reduce_step, (void *)run,
                  sums);
  reduce_merge(&b, run, carried, sums, next);
}

static bool reduce_is_float_sum(const reduce_run *run) {
  for (int i = 0; i < run->count; i++)
    if (loom_dtype_is_float(run->dtypes[i])) return true;
  return false;
}

/* The last elements, one by one, as lane 0 of a vector of identities. */
static void reduce_scalar_tail(lower *l, const reduce_run *run, MlirValue split, MlirValue high,
                               MlirValue *accs) {
  MlirValue ones[16], ends[16], wide[16] = {{NULL}}, out[16] = {{NULL}};
  reduce_identities(l, run, 1, ones);
  reduce_identities(l, run, run->width, wide);
  lower_lane_tail(l, &run->group->lanes, split, high, run->count, ones, reduce_step, (void *)run,
                  ends);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue zero = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 32), 0);
  for (int i = 0; i < run->count; i++)
    wide[i] =
        loom_build3(&b, "llvm.insertelement", wide[i], ends[i], zero, mlirValueGetType(wide[i]));
  reduce_merge(&b, run, accs, wide, out);
  memcpy(accs, out, sizeof *accs * (size_t)run->count);
}

/* NumPy adds up eight running sums, then these in pairs, then what is left over one by one; fewer
 * than eight elements one by one, which a lane loop of width 1 does. */
static void reduce_lanes_ordered(lower *l, const reduce_run *run, MlirValue low, MlirValue high,
                                 const MlirValue *inits, MlirValue *out) {
  const lower_lanes *lanes = &run->group->lanes;
  MlirValue split = lower_lane_split(l, lanes, high), sums[16];
  lower_lane_main(l, lanes, low, split, run->count, inits, reduce_step, (void *)run, sums);
  if (run->width > 1) reduce_tree(l, run, sums);
  lower_lane_tail(l, lanes, split, high, run->count, sums, reduce_step, (void *)run, out);
}

/* The lane loop over [low, high) of the innermost variable. */
static void reduce_lanes(lower *l, const reduce_run *run, MlirValue low, MlirValue high,
                         int64_t extent, const MlirValue *inits, MlirValue *out) {
  const lower_lanes *lanes = &run->group->lanes;
  if (run->group->ordered) {
    reduce_lanes_ordered(l, run, low, high, inits, out);
    return;
  }
  MlirValue split = lower_lane_split(l, lanes, high), sums[16];
  if (reduce_is_float_sum(run) && !l->team.size &&
      loom_num_hint(extent) / run->width > 2 * REDUCE_BLOCK) {
    reduce_block block = {run, split};
    MlirValue step = lower_int(l, (int64_t)run->width * REDUCE_BLOCK).v;
    lower_for(l, low, split, step, -1, run->count, inits, reduce_one_block, &block, sums);
  } else {
    lower_lane_main(l, lanes, low, split, run->count, inits, reduce_step, (void *)run, sums);
  }
  if (lanes->tail == LOWER_TAIL_SCALAR && lanes->width > 1) {
    reduce_scalar_tail(l, run, split, high, sums);
    memcpy(out, sums, sizeof *out * (size_t)run->count);
    return;
  }
  lower_lane_tail(l, lanes, split, high, run->count, sums, reduce_step, (void *)run, out);
}

typedef struct reduce_level {
  const reduce_run *run;
  int loop;
} reduce_level;

static void reduce_inner(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_level *level = user;
  reduce_loops(l, level->run, level->loop, carried, next);
}

void reduce_loops(lower *l, const reduce_run *run, int loop, const MlirValue *inits,
                  MlirValue *out) {
  const lower_nest *nest = &run->group->nest;
  lower_loop this = nest->loops[loop];
  bool last = loop == nest->count - 1;
  if (this.var < 0) {
    reduce_step(l, (void *)run, inits, out);
    return;
  }
  bool part = loop == 0 && l->part_high.ptr && run->group->primary;
  MlirValue low = part ? l->part_low : lower_int(l, 0).v;
  MlirValue high = part ? l->part_high : lower_int(l, this.extent).v;
  if (last && run->row) {
    int64_t extent = part ? l->plan->split_size : this.extent;
    reduce_lanes(l, run, low, high, extent, inits, out);
    return;
  }
  reduce_level inner = {run, loop + 1};
  MlirValue step = lower_int(l, 1).v;
  if (loop == 0 && !run->row) gpu_share_rows(l, &low, &high, &step);
  lower_for(l, low, high, step, this.var, run->count, inits, last ? reduce_step : reduce_inner,
            last ? (void *)run : &inner, out);
}

/* Is it worth NumPy's order: nothing but sums of floats, of few numbers, few times? Where their
 * count is a symbol, it may be large in another call. */
static bool reduce_is_short(const lower *l, const lower_group *g) {
  int64_t elements = loom_num_elements(&g->shape), last = g->nest.loops[0].extent;
  if (l->kernel->target == LANES_GPU || l->plan->splits || g->nest.count != 1 ||
      g->nest.loops[0].var < 0 || loom_num_low(last) != loom_num_high(last) ||
      last > REDUCE_PAIRWISE || loom_num_high(elements) > REDUCE_FEW)
    return false;
  for (int i = 0; i < g->count; i++) {
    loom_type type;
    bool known = loom_type_from_mlir(mlirValueGetType(loom_operand(g->members[i], 0)), &type);
    if (!known || !loom_dtype_is_float(type.dtype) ||
        !loom_str_is(loom_get_str(g->members[i], "kind"), "sum"))
      return false;
  }
  return true;
}

void lower_reduce_order(lower *l, lower_group *g) {
  g->ordered = reduce_is_short(l, g);
  if (!g->ordered) return;
  int64_t extent = g->nest.loops[0].extent;
  bool few = loom_num_high(extent) < REDUCE_SUMS;
  g->lanes.width = few ? 1 : REDUCE_SUMS;
  g->lanes.tail =
      few || loom_num_multiple(extent, REDUCE_SUMS) ? LOWER_TAIL_NONE : LOWER_TAIL_SCALAR;
}

/* ---- the end of a row: a tree over the lanes ---- */

void reduce_tree(lower *l, const reduce_run *run, MlirValue *accs) {
  loom_builder b = lower_at_level(l, l->depth);
  for (int width = run->width; width > 1; width /= 2) {
    MlirValue low[16] = {{NULL}}, high[16] = {{NULL}};
    for (int i = 0; i < run->count; i++)
      (run->group->ordered ? lane_pairs : lane_halves)(&b, accs[i], &low[i], &high[i]);
    reduce_merge(&b, run, low, high, accs);
  }
  for (int i = 0; i < run->count; i++)
    accs[i] = lane_extract(&b, accs[i], 0);
}

const lower_at *reduce_operand_at(lower *l, const lower_group *g, const lower_at *at) {
  lower_at *out = lower_at_new(l, g->shape.rank);
  if (!out) return NULL;
  out->guard = at->guard;
  out->guard_level = at->guard_level;
  for (int d = 0, kept = 0; d < g->shape.rank; d++) {
    if (!(g->axes >> d & 1))
      out->dims[d] = at->dims[kept++];
    else if (g->shape.dims[d] != 1)
      out->dims[d].coef[g->first_var + d] = 1;
  }
  return lower_at_intern(l, out);
}

static lower_value reduce_dry(lower *l, MlirOperation op, const lower_group *g,
                              const lower_at *at) {
  lower_value out = {{NULL}, 0, false, LOOM_I64};
  for (int i = 0; i < g->count && !l->failed; i++) {
    out = lower_emit(l, loom_operand(g->members[i], 0), at);
    l->cost += 2;
  }
  loom_type type;
  if (loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type)) out.dtype = type.dtype;
  return out;
}

lower_value lower_emit_reduce(lower *l, MlirOperation op, const lower_at *at) {
  lower_value out = {{NULL}, 0, false, LOOM_I64};
  lower_group *g = l->plan ? reduce_group(l, op) : NULL;
  if (!g || g->first_var < 0) {
    lower_fail(l, op, "a reduction out of place");
    return out;
  }
  const lower_at *operand_at = reduce_operand_at(l, g, at);
  if (!operand_at) return out;
  if (l->dry) {
    if (at != l->plan->kept_at) l->plan->read_elsewhere = true;
    return reduce_dry(l, op, g, operand_at);
  }
  reduce_run run = {g, operand_at, true, g->lanes.width, 0, 1, {0}, false};
  out.level = at->guard.ptr ? at->guard_level : 0;
  if (out.level < l->team.level) out.level = l->team.level;
  out.lanes = at->guard.ptr && mlirTypeIsAVector(mlirValueGetType(at->guard));
  for (int64_t d = 0; d < at->rank; d++) {
    int level = lower_index_level(l, &at->dims[d]);
    if (level > out.level) out.level = level;
    out.lanes |= lower_index_lanes(l, &at->dims[d]);
  }
  if (out.lanes) {
    run.row = false;
    run.width = l->width;
  }
  reduce_layout(&run);
  lower_outer saved;
  lower_leave(l, out.level, out.lanes, &saved);
  gpu_online online;
  if (!out.lanes && at == l->plan->kept_at && gpu_online_find(l, op, &online)) {
    gpu_online_emit(l, &online, at, operand_at, out.level);
    lower_return(l, &saved);
    return lower_emit(l, loom_result(op, 0), at);
  }
  MlirValue inits[16], accs[16] = {{NULL}};
  if (l->plan->splits && g->depth < l->stage) {
    reduce_combine(l, &run, out.lanes, accs);
  } else {
    int phase = lower_phase_open(l);
    reduce_identities(l, &run, run.width, inits);
    reduce_loops(l, &run, 0, inits, accs);
    lower_phase_close(l, phase);
    if (run.row && run.width > 1 && !g->ordered && !l->failed) reduce_tree(l, &run, accs);
    if (!l->failed) gpu_reduce(l, &run, accs);
  }
  loom_builder b = lower_at_level(l, out.level);
  lower_value wanted = out;
  for (int i = 0, c = 0; i < g->count && !l->failed; i++) {
    bool arg = reduce_is_arg(g->members[i]);
    lower_value made = {accs[c + arg], out.level, out.lanes, run.dtypes[c + arg]};
    loom_type type;
    if (!arg && loom_type_from_mlir(mlirValueGetType(loom_result(g->members[i], 0)), &type)) {
      made.v = lane_round(&b, type.dtype, made.v);
      made.dtype = type.dtype;
    }
    if (arg) made.v = lower_convert(NULL, &b, made.v, made.dtype, LOOM_I64), made.dtype = LOOM_I64;
    lower_remember(l, loom_result(g->members[i], 0), at, made);
    if (mlirOperationEqual(g->members[i], op)) wanted = made;
    c += 1 + arg;
  }
  lower_return(l, &saved);
  return wanted;
}
