/* loom-schedule: how each kernel is divided.
 *
 * Before: `loom.kernel` with a body. After: the same with `stages` (chunks of each), `scratch`,
 * `slots` and `schedule`. Chunks depend on sizes only, so that results never depend on the number
 * of threads.
 *
 * With symbolic sizes the numbers are expressions. Decisions that have to be made at compile time
 * (whether rows are cut into parts, how wide a vector is) follow from ranges and hints.
 *
 * keeps: the body. breaks: nothing.
 */
#include <inttypes.h>

#include "dialects/pass.h"
#include "passes/alone.h"
#include "passes/dot.h"
#include "passes/gpu.h"
#include "passes/lower.h"
#include "passes/passes.h"

/* Enough work to pay for handing a chunk to a thread: about a microsecond. Parts of a reduction,
 * whose results must be put together again, are larger. */
#define SCHEDULE_CHUNK_WORK 32768
#define SCHEDULE_PART_WORK 4
#define SCHEDULE_PANEL_ROWS 32
/* Columns whose sums stay in the first cache beside the rows that go by. */
#define SCHEDULE_COLUMNS 2048
/* Rows of a part at least: fewer, and joining the parts would cost as much as making them. */
#define SCHEDULE_PART_ROWS 64
/* Values that a chunk joins. */
#define SCHEDULE_JOIN_WORK 16384

static int64_t schedule_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t schedule_max(int64_t a, int64_t b) { return a > b ? a : b; }
/* Lanes: `registers` registers of the widest type, or of the widest that is loaded. */
static int schedule_width(const lower *l, int registers, int64_t extent, bool loads) {
  if (l->kernel->target == LANES_GPU) return 1;
  size_t widest = 1;
  for (int i = 0; i < l->access_count; i++) {
    loom_dtype dtype = l->accesses[i].dtype;
    size_t size = loom_dtype_size(loom_dtype_is_half(dtype) ? LOOM_F32 : dtype);
    if (size > widest && !(loads && l->accesses[i].store)) widest = size;
  }
  int width = registers * l->kernel->vector_bytes / (int)widest;
  if (width > (registers > 4 ? 128 : 64)) width = registers > 4 ? 128 : 64;
  extent = loom_num_high(extent);
  while (width > 1 && width > extent)
    width /= 2;
  return width;
}

/* Long bodies fill the registers with one vector; short ones and sums need several to hide latency.
 * AVX-512 has twice as many registers. */
static int schedule_body_width(const lower *l, int64_t extent) {
  int longest = l->kernel->vector_bytes == 64 ? 32 : 24;
  return schedule_width(l, l->cost > longest ? 1 : 2, extent, false);
}

/* Of an arg-reduction: each register is to see several parts of a row, since joining two of them
 * takes as long as two parts do. */
static int schedule_arg_registers(const lower *l, int64_t length) {
  int lanes = schedule_width(l, 1, INT64_MAX, true), registers = 8;
  while (registers > 1 && length < 4 * (int64_t)lanes * registers)
    registers /= 2;
  return registers;
}

/* Registers of sums that hide the latency of adding to them: of the comparisons and selections of
 * an arg-reduction, when there are registers enough. */
static int schedule_sums(const lower *l) {
  const lower_nest *inner = &l->plan->inner;
  if (l->cost > 8) return l->cost > 24 ? 1 : 2;
  for (int g = 0; g < l->plan->group_count; g++) {
    MlirStringRef kind = loom_get_str(l->plan->groups[g].members[0], "kind");
    bool arg = loom_str_is(kind, "argmax") || loom_str_is(kind, "argmin");
    if (arg && l->kernel->vector_bytes == 64 && l->plan->groups[g].count == 1)
      return schedule_arg_registers(l, loom_num_hint(inner->loops[inner->count - 1].extent));
  }
  return 4;
}

/* Masked loads and stores exist for elements of 4 and 8 bytes; others end with single elements. */
lower_tail lower_tail_for(const lower *l, int64_t extent, int width) {
  if (loom_num_multiple(extent, width)) return LOWER_TAIL_NONE;
  if (l->kernel->target == LANES_GPU) return LOWER_TAIL_SCALAR;
  for (int i = 0; i < l->access_count; i++)
    if (loom_dtype_size(l->accesses[i].dtype) < 4 && l->kernel->vector_bytes < 64)
      return LOWER_TAIL_SCALAR;
  return LOWER_TAIL_MASK;
}

static int64_t schedule_row_work(const lower_plan *plan) {
  return loom_num_mul(plan->inner.rows, plan->inner.loops[plan->inner.count - 1].extent);
}

/* Are there too few rows to keep threads busy, or columns that are read best row by row: then the
 * outermost reduced loop is cut into parts, whose results meet in slots. */
static void schedule_split(const lower *l, int64_t target, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  int64_t rows = lower_plan_rows(plan), inner = schedule_row_work(plan);
  int64_t kept = plan->kept.rows * plan->kept.loops[plan->kept.count - 1].extent;
  lower_loop outermost = plan->inner.loops[0];
  out->splits = out->split_size = 0;
  if (!plan->reduced || plan->scan_count || plan->read_elsewhere || outermost.var < 0 ||
      l->kernel->target == LANES_GPU || kept * inner < 4 * target)
    return;
  for (int g = 0; g < plan->group_count; g++)
    if (!plan->groups[g].primary) return;
  if (plan->lane_reduced && rows >= 16) return;
  if (!plan->lane_reduced && (inner < 64 || outermost.extent < 32 || plan->lanes.var < 0)) return;
  int64_t extent = plan->kept.loops[plan->kept.count - 1].extent, granule = 1;
  if (!plan->lane_reduced) { /* the sums of a block of columns stay in the first cache */
    out->blocks = loom_ceil_div(extent, SCHEDULE_COLUMNS);
    out->block = loom_ceil_div(loom_ceil_div(extent, out->blocks), out->width) * out->width;
    out->blocks = loom_ceil_div(extent, out->block);
  } else if (plan->inner.count == 1) {
    granule = out->reduce_width > out->width ? out->reduce_width : out->width;
  }
  int64_t units = schedule_max(rows * out->blocks, 1);
  int64_t want = loom_ceil_div(kept * inner, 2 * target * units);
  want = schedule_max(1, schedule_min(want, schedule_max(256 / units, 1)));
  if (!plan->lane_reduced) { /* rows are taken several at once */
    want = schedule_min(want, schedule_max(outermost.extent / SCHEDULE_PART_ROWS, 1));
    if (plan->inner.count == 1) granule = LOWER_COLUMN_ROWS;
  }
  out->split_size = loom_ceil_div(loom_ceil_div(outermost.extent, want), granule) * granule;
  out->splits = loom_ceil_div(outermost.extent, out->split_size);
  out->units = 1;
  if (plan->lane_reduced) return;
  out->join = loom_ceil_div(loom_ceil_div(SCHEDULE_JOIN_WORK, out->splits), out->width);
  out->join = schedule_min(out->join * out->width, out->block);
}

/* Panels: a block is a number of rows here, enough of them to pay for packing. */
static void schedule_panel(const lower *l, int64_t target, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  int64_t extent = plan->kept.loops[plan->kept.count - 1].extent;
  int64_t row = plan->tile_side * plan->inner.loops[0].extent;
  out->width = (int)schedule_min(out->width, plan->tile_side);
  out->tail = lower_tail_for(l, extent, out->width);
  out->block = schedule_min(schedule_max(2 * target / row, SCHEDULE_PANEL_ROWS), plan->kept.rows);
  out->chunks = lower_panel_units(plan, out->block);
}

static void schedule_make(const lower *l, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  const lower_nest *nest = plan->lane_reduced ? &plan->inner : &plan->kept;
  int64_t extent = nest->loops[nest->count - 1].extent, rows = lower_plan_rows(plan);
  int64_t inner = schedule_row_work(plan), per_unit = plan->lane_reduced ? inner : inner * extent;
  out->width = schedule_body_width(l, extent);
  out->reduce_width = schedule_width(l, schedule_sums(l), INT64_MAX, true);
  out->tail = lower_tail_for(l, extent, out->width);
  int64_t target = schedule_max(SCHEDULE_CHUNK_WORK / (2 + l->cost / 4), 2048);
  out->block = extent;
  out->blocks = 1;
  out->units = 1;
  out->splits = out->split_size = 0;
  if (plan->panel) {
    schedule_panel(l, target, out);
    return;
  }
  if (l->kernel->target == LANES_GPU) {
    /* A thread is a lane and runs one chunk: an element, or a row that it sums. */
    out->block = plan->lane_reduced ? extent : 1;
    out->blocks = plan->lane_reduced ? 1 : extent;
  } else if (!plan->lane_reduced && per_unit > target && rows * per_unit > 2 * target) {
    int64_t lanes = schedule_max(target / schedule_max(inner, 1), 64);
    int64_t even = loom_ceil_div(extent, loom_ceil_div(extent, lanes));
    out->block = loom_ceil_div(even, out->width) * out->width;
    out->blocks = loom_ceil_div(extent, out->block);
  } else {
    out->units = schedule_max(1, schedule_min(rows, 2 * target / schedule_max(per_unit, 1)));
  }
  out->chunks = schedule_max(loom_ceil_div(rows * out->blocks, out->units), 1);
  schedule_split(l, SCHEDULE_PART_WORK * target, out);
  if (l->kernel->target == LANES_GPU) { /* a thread is a lane: one element, or one row, each */
    out->units = 1;
    out->block = plan->lane_reduced || plan->lanes.var < 0 ? extent : 1;
    out->blocks = plan->lane_reduced || plan->lanes.var < 0 ? 1 : schedule_max(extent, 1);
    out->chunks = schedule_max(rows * out->blocks, 1);
    gpu_schedule(l, out);
    return;
  }
  if (plan->tile_loop < 0) return;
  /* Strips of tiles: a lane loop over whole tiles needs a width that divides them. */
  out->width = (int)schedule_min(out->width, plan->tile_side);
  out->tail = lower_tail_for(l, extent, out->width);
  int64_t strip = extent * plan->tile_side;
  out->block = extent;
  out->blocks = 1;
  out->units = schedule_max(1, 2 * target / strip);
  out->chunks = loom_ceil_div(lower_tile_units(plan), out->units);
}

/* ---- symbolic sizes: a schedule for the likely ones, its numbers as expressions ---- */

static bool schedule_is_static(const lower_plan *plan) {
  const lower_nest *nests[] = {&plan->kept, &plan->inner};
  for (int n = 0; n < 2; n++)
    for (int i = 0; i < nests[n]->count; i++)
      if (LOOM_STRIDE_IS_SYM(nests[n]->loops[i].extent)) return false;
  return true;
}

/* `extent` lanes in even blocks of about `lanes` or less: a block is a multiple of the width, and
 * at least the width where nothing is there to divide. */
static void schedule_blocks(int64_t extent, int64_t lanes, int width, lower_schedule *out) {
  int64_t count = loom_num_add(loom_num_div(extent, lanes), 1);
  int64_t vectors = loom_num_div(loom_num_div(extent, count), width);
  out->block = loom_num_mul(loom_num_add(vectors, 1), width);
  out->blocks = extent == 0 ? 1 : loom_num_ceil(extent, out->block);
}

/* Units of `work` in a chunk: about `target`, one at least. */
static int64_t schedule_units(int64_t work, int64_t target) {
  return loom_num_add(loom_num_div(2 * target, loom_num_add(work, 1)), 1);
}

static bool schedule_wants_split(const lower *l) {
  const lower_plan *plan = l->plan;
  int64_t inner = loom_num_hint(schedule_row_work(plan));
  lower_loop outermost = plan->inner.loops[0];
  if (!plan->reduced || plan->scan_count || plan->read_elsewhere || outermost.var < 0) return false;
  for (int g = 0; g < plan->group_count; g++)
    if (!plan->groups[g].primary) return false;
  if (plan->lane_reduced) return loom_num_hint(lower_plan_rows(plan)) < 16;
  return inner >= 64 && loom_num_hint(outermost.extent) >= 32 && plan->lanes.var >= 0;
}

static void schedule_split_symbolic(const lower *l, int64_t target, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  lower_loop outermost = plan->inner.loops[0];
  int64_t extent = plan->kept.loops[plan->kept.count - 1].extent, granule = 1;
  int64_t work =
      loom_num_hint(schedule_row_work(plan)) / schedule_max(loom_num_hint(outermost.extent), 1);
  if (!plan->lane_reduced) {
    schedule_blocks(extent, SCHEDULE_COLUMNS, out->width, out);
    work *= schedule_min(loom_num_hint(extent), SCHEDULE_COLUMNS);
    if (plan->inner.count == 1) granule = LOWER_COLUMN_ROWS;
  } else if (plan->inner.count == 1) {
    granule = out->reduce_width > out->width ? out->reduce_width : out->width;
  }
  int64_t least = loom_ceil_div(2 * target, schedule_max(work, 1));
  if (!plan->lane_reduced) least = schedule_max(least, SCHEDULE_PART_ROWS);
  least = loom_ceil_div(least, granule);
  int64_t size = loom_num_add(loom_num_div(outermost.extent, 256 * granule), least);
  out->split_size = loom_num_mul(size, granule);
  /* An empty row has a part, which stores what is made of it. */
  out->splits = loom_num_max(loom_num_ceil(outermost.extent, out->split_size), 1);
  out->units = 1;
  if (!plan->lane_reduced) out->join = loom_ceil_div(256, out->width) * out->width;
}

/* On a GPU each thread has a chunk, an element or a row that it goes through, where the kernel has
 * no form for teams (gpu_form.c). There is none where a known size is 0, whatever the others are.
 */
static void schedule_make_threads(const lower *l, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  int64_t extent = plan->kept.loops[plan->kept.count - 1].extent;
  bool rows = plan->lane_reduced || plan->lanes.var < 0;
  out->width = out->reduce_width = 1;
  out->tail = LOWER_TAIL_NONE;
  out->block = rows ? extent : 1;
  out->blocks = rows || extent == 0 ? 1 : extent;
  out->units = 1;
  out->chunks = loom_num_mul(lower_plan_rows(plan), rows ? 1 : extent);
  gpu_schedule(l, out);
}

static void schedule_make_symbolic(const lower *l, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  const lower_nest *nest = plan->lane_reduced ? &plan->inner : &plan->kept;
  int64_t extent = nest->loops[nest->count - 1].extent, rows = lower_plan_rows(plan);
  int64_t inner = schedule_row_work(plan);
  out->width = schedule_body_width(l, extent);
  out->reduce_width = schedule_width(l, schedule_sums(l), INT64_MAX, true);
  int64_t target = schedule_max(SCHEDULE_CHUNK_WORK / (2 + l->cost / 4), 2048);
  out->block = extent;
  out->blocks = 1;
  out->units = 1;
  if (plan->tile_loop >= 0) {
    out->width = (int)schedule_min(out->width, plan->tile_side);
    out->units = schedule_units(loom_num_mul(extent, plan->tile_side), target);
    out->chunks = loom_num_ceil(lower_tile_units(plan), out->units);
  } else if (plan->lane_reduced || plan->lanes.var < 0) {
    out->units = schedule_units(inner, target);
    out->chunks = loom_num_ceil(rows, out->units);
  } else {
    int64_t lanes = schedule_max(target * 3 / 2 / schedule_max(loom_num_hint(inner), 1), 64);
    schedule_blocks(extent, lanes, out->width, out);
    if (rows != 1) out->units = schedule_units(loom_num_mul(inner, extent), target);
    out->chunks = loom_num_ceil(loom_num_mul(rows, out->blocks), out->units);
  }
  out->tail = lower_tail_for(l, extent, out->width);
  if (schedule_wants_split(l)) schedule_split_symbolic(l, SCHEDULE_PART_WORK * target, out);
}

/* ---- the schedule as attributes ---- */

static void schedule_write(lower *l, const lower_schedule *s) {
  const lower_kernel *kernel = l->kernel;
  lower_plan *plan = l->plan;
  MlirContext ctx = kernel->ctx;
  const struct {
    const char *name;
    int64_t value;
  } entries[] = {{"block", s->block},   {"blocks", s->blocks},
                 {"join", s->join},     {"reduce_width", s->reduce_width},
                 {"splits", s->splits}, {"split_size", s->split_size},
                 {"tail", s->tail},     {"units", s->units},
                 {"width", s->width},   {"team", s->team}, /* both on GPUs only */
                 {"teams", s->teams}};
  enum { COUNT = sizeof entries / sizeof *entries };
  MlirNamedAttribute named[COUNT];
  int named_count = 0;
  for (int i = 0; i < COUNT; i++)
    if (i < COUNT - 2 || entries[i].value)
      named[named_count++] = mlirNamedAttributeGet(
          mlirIdentifierGet(ctx, loom_str(entries[i].name)), loom_attr_i64(ctx, entries[i].value));
  int64_t stages[LOWER_GROUPS + 2] = {s->chunks}, count = 1;
  plan->splits = s->splits;
  if (s->splits) {
    int64_t rows = lower_plan_rows(plan);
    count = plan->depth + 1;
    for (int i = 0; i < count; i++) {
      lower_schedule stage = *s;
      bool joins = lower_schedule_join(l, i, &stage);
      stages[i] = loom_num_mul(loom_num_mul(rows, stage.blocks), joins ? 1 : s->splits);
    }
    lower_reduce_slots(l);
  }
  loom_set_attr(kernel->op, "schedule", mlirDictionaryAttrGet(ctx, named_count, named));
  loom_set_attr(kernel->op, "stages", loom_attr_i64s(ctx, count, stages));
  loom_set_attr(kernel->op, "scratch",
                loom_attr_i64(ctx, s->splits
                                       ? lower_tile_scratch(l)
                                       : loom_num_add(lower_tile_scratch(l), plan->saved_bytes)));
  loom_set_attr(kernel->op, "slots", loom_attr_i64(ctx, plan->slot_bytes));
}

bool lower_schedule_join(const lower *l, int stage, lower_schedule *s) {
  const lower_plan *plan = l->plan;
  if (!s->splits || stage < plan->depth || lower_plan_any_full(l)) return false;
  if (plan->lane_reduced) return true;
  s->block = s->join;
  s->blocks = loom_num_ceil(plan->kept.loops[plan->kept.count - 1].extent, s->join);
  return true;
}

static int64_t schedule_entry(MlirAttribute dict, const char *name) {
  MlirAttribute attr = mlirDictionaryAttrGetElementByName(dict, loom_str(name));
  int64_t value = attr.ptr && mlirAttributeIsAInteger(attr) ? mlirIntegerAttrGetValueInt(attr) : -1;
  return loom_num_known(value) ? value : -1;
}

static bool schedule_at_least(int64_t number, int64_t least) {
  return LOOM_STRIDE_IS_SYM(number) || number >= least;
}

static bool schedule_width_ok(int64_t width) {
  return width >= 1 && width <= 128 && (width & (width - 1)) == 0;
}

bool lower_schedule_read(lower *l, lower_schedule *out) {
  MlirLocation loc = mlirOperationGetLocation(l->kernel->op);
  MlirAttribute dict = loom_get_attr(l->kernel->op, "schedule");
  if (!dict.ptr || !mlirAttributeIsADictionary(dict))
    return loom_emit_error(loc, "kernel has no schedule");
  int64_t tail = schedule_entry(dict, "tail"), width = schedule_entry(dict, "width");
  int64_t reduce_width = schedule_entry(dict, "reduce_width");
  out->block = schedule_entry(dict, "block");
  out->blocks = schedule_entry(dict, "blocks");
  out->units = schedule_entry(dict, "units");
  out->splits = schedule_entry(dict, "splits");
  out->split_size = schedule_entry(dict, "split_size");
  out->join = schedule_entry(dict, "join");
  int64_t team = schedule_entry(dict, "team"), teams = schedule_entry(dict, "teams");
  out->team = team < 0 ? 0 : (int)team;
  out->teams = teams < 0 ? 1 : (int)teams;
  if ((team > 0 && !gpu_team_is(team, out->teams)) || tail < 0 || tail > LOWER_TAIL_SCALAR ||
      !schedule_width_ok(width) || !schedule_width_ok(reduce_width) ||
      !schedule_at_least(out->block, 0) || !schedule_at_least(out->blocks, 1) ||
      !schedule_at_least(out->units, 1) || !schedule_at_least(out->splits, 0) ||
      !schedule_at_least(out->join, 0) || (out->splits && !schedule_at_least(out->split_size, 1)) ||
      (out->splits && !l->plan->lane_reduced && !schedule_at_least(out->join, 1)))
    return loom_emit_error(loc, "kernel has a bad schedule");
  out->tail = (lower_tail)tail;
  out->width = (int)width;
  out->reduce_width = (int)reduce_width;
  l->plan->splits = out->splits;
  l->plan->split_size = out->split_size;
  if (out->splits) lower_reduce_slots(l);
  l->plan->lanes.width = out->width;
  l->plan->lanes.tail = out->tail;
  for (int g = 0; g < l->plan->group_count; g++) {
    lower_group *group = &l->plan->groups[g];
    lower_loop last = group->nest.loops[group->nest.count - 1];
    int lanes = out->reduce_width;
    while (lanes > 1 && lanes > loom_num_high(last.extent))
      lanes /= 2;
    group->lanes =
        (lower_lanes){last.var, last.var < 0 ? 1 : lanes, lower_tail_for(l, last.extent, lanes)};
    lower_reduce_order(l, group);
  }
  return true;
}

/* ---- what the pass tells ---- */

enum { SCHEDULE_KERNELS, SCHEDULE_TILES, SCHEDULE_SERIAL, SCHEDULE_SCALAR };

static int64_t schedule_first_chunks(MlirOperation op) {
  int64_t stages[LOWER_GROUPS + 2] = {0};
  intptr_t count = loom_get_i64s(op, "stages", stages, LOWER_GROUPS + 2);
  return count < 1 ? 0 : stages[0];
}

/* Why there are no lanes. */
static const char *schedule_scalar_why(const lower *l) {
  const lower_nest *nest = l->plan->lane_reduced ? &l->plan->inner : &l->plan->kept;
  if (l->kernel->target == LANES_GPU) return "each thread is a lane";
  if (l->plan->lanes.var < 0) return "there is no loop for lanes";
  if (loom_num_high(nest->loops[nest->count - 1].extent) < 2)
    return "its innermost loop has one iteration at most";
  return "one element takes the registers";
}

static void schedule_explain(const lower *l, const lower_schedule *s) {
  const lower_plan *plan = l->plan;
  MlirLocation loc = mlirOperationGetLocation(l->kernel->op);
  int64_t chunks = schedule_first_chunks(l->kernel->op);
  bool scalar = (plan->lane_reduced ? s->reduce_width : s->width) == 1;
  loom_count(SCHEDULE_TILES, plan->tile_loop >= 0 || plan->panel);
  loom_count(SCHEDULE_SERIAL, chunks == 1);
  loom_count(SCHEDULE_SCALAR, scalar);
  if (!loom_remarks_wanted()) return;
  int64_t work = loom_num_hint(loom_num_mul(lower_plan_rows(plan), schedule_row_work(plan)));
  if (!plan->lane_reduced)
    work = loom_num_hint(loom_num_mul(work, plan->kept.loops[plan->kept.count - 1].extent));
  if (scalar)
    loom_remark(LOOM_REMARK_MISSED, loc, "vectorize", "the loop is not vectorized: %s",
                schedule_scalar_why(l));
  if (chunks == 1)
    loom_remark(LOOM_REMARK_MISSED, loc, "parallelize",
                "the kernel is one chunk: %" PRId64 " elements at a cost of %d each are too few",
                work, l->cost);
  loom_remark(LOOM_REMARK_ANALYSIS, loc, "cost",
              "about %" PRId64 " elements at a cost of %d, in %" PRId64 " chunks of %d lanes", work,
              l->cost, loom_num_hint(chunks), plan->lane_reduced ? s->reduce_width : s->width);
}

/* Of a product, and of an op with a kernel of its own. */
static void schedule_explain_special(MlirOperation op, MlirOperation what, bool tiled) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(what));
  int64_t chunks = loom_num_hint(schedule_first_chunks(op));
  loom_count(SCHEDULE_TILES, tiled);
  loom_count(SCHEDULE_SERIAL, chunks == 1);
  loom_remark(LOOM_REMARK_ANALYSIS, mlirOperationGetLocation(op), "cost",
              "the kernel of '%.*s' has %" PRId64 " chunks", (int)name.length, name.data, chunks);
}

static bool schedule_kernel(MlirOperation op, void *user) {
  if (!loom_body(op).ptr) return true;
  loom_arena arena = {0};
  lower_kernel kernel;
  lower l;
  lower_plan plan;
  lower_schedule schedule = {0};
  bool ok = lower_kernel_parse(op, &arena, &kernel);
  MlirOperation dot = {NULL};
  if (ok) dot = dot_find(&kernel);
  loom_count(SCHEDULE_KERNELS, ok);
  if (dot.ptr) {
    ok = dot_schedule(&kernel, dot);
    if (ok) schedule_explain_special(op, dot, true);
    loom_arena_fini(&arena);
    return ok;
  }
  MlirOperation alone;
  const alone_kind *kind = ok ? alone_find(&kernel, &alone) : NULL;
  if (kind) {
    ok = alone_schedule(kind, &kernel, alone);
    if (ok) schedule_explain_special(op, alone, false);
    loom_arena_fini(&arena);
    return ok;
  }
  if (ok) {
    lower_init(&l, &kernel, &arena, true);
    ok = lower_plan_make(&l, &plan);
  }
  bool symbolic = ok && !schedule_is_static(&plan);
  if (ok) {
    if (symbolic && kernel.target == LANES_GPU)
      schedule_make_threads(&l, &schedule);
    else if (symbolic)
      schedule_make_symbolic(&l, &schedule);
    else
      schedule_make(&l, &schedule);
    schedule_write(&l, &schedule);
    schedule_explain(&l, &schedule);
  }
  loom_arena_fini(&arena);
  return ok;
}

static bool schedule_run(MlirOperation root) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(root, 0));
  return !block.ptr || loom_walk_block(block, schedule_kernel, NULL);
}

MlirPass loom_make_schedule_pass(void) {
  static const loom_pass_spec spec = {
      .name = "loom-schedule",
      .flag = "loom-schedule",
      .summary = "Divide kernels into chunks and lanes",
      .root = "builtin.module",
      .run = schedule_run,
      .counters = {[SCHEDULE_KERNELS] = {"kernels", "kernels that got a schedule"},
                   [SCHEDULE_TILES] = {"tiles", "kernels that go by tiles"},
                   [SCHEDULE_SERIAL] = {"serial", "kernels of one chunk"},
                   [SCHEDULE_SCALAR] = {"scalar", "kernels without lanes"}}};
  return loom_pass_of(&spec);
}
