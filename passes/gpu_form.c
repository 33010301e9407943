/* Forms of kernels for blocks (gpu.h).
 *
 * Before: a thread runs a chunk, which is one element or one row. After: a chunk is a block's work,
 * a unit a team's.
 *
 *   lanes   elementwise kernels, and reductions of columns: a unit is as many lanes of a row as a
 *           block has threads, each with a vector of up to 16 bytes; a warp takes a short row
 *   rows    reductions of rows, softmax, normalisations: a unit is a row, of a warp or a block,
 *           and stays in registers where it fits (gpu_rows.c)
 *   columns reductions of columns with many rows: a unit is the columns of up to 32 threads, and
 *           the other threads of the block take other rows of them
 *   turned  elementwise kernels some of whose operands lie the other way: a unit is a tile
 *   scans   of rows of 64 elements and more: a unit is a row, of a warp or a block
 *
 * Where these are few blocks, the outermost reduced loop is cut into parts with blocks of their
 * own, whose results meet in slots (reduce_parts.c): about a thousand blocks in all. The sizes
 * alone decide how many parts there are.
 *
 * Vectors are for accesses of consecutive elements at multiples of their size. Rows have to be
 * apart by such multiples, which is known here. Where the buffers begin is asked in the kernel, and
 * the same code with single elements stands beside the code with vectors.
 *
 * All other kernels (scans of short rows, what has no loop for lanes, reductions under guards or at
 * indices that are read) keep a thread a chunk.
 */
#include "passes/gpu.h"

#include <stdio.h>
#include <string.h>

#define FORM_BYTES 16      /* of an access, at most */
#define FORM_LANES 8       /* of a vector, at most */
#define FORM_SHORT 128     /* vectors of a row that a warp takes */
#define FORM_WARP_ROW 1024 /* elements of a row that a warp reduces */
#define FORM_ROWS 32       /* of columns that several teams share, at least */
#define FORM_SHARED 16384  /* bytes of shared memory for the results of columns, about */
#define FORM_BLOCKS 1024   /* that parts make, at most, */
#define FORM_JOINED 256    /* and of a row whose parts every block joins */
#define FORM_WHOLE 64      /* rows that are not cut where they stay in registers, at least */
#define FORM_SCAN 64       /* elements of a row that a team scans, at least */
#define FORM_PART 16       /* elements of a thread in a part, at least */
#define FORM_OPEN 1024     /* a length that is not known is taken for so many elements, at least */

bool gpu_team_is(int64_t size, int64_t teams) {
  if (teams > 1) return size > 0 && size * teams == GPU_BLOCK;
  return size == GPU_WARP || size == GPU_BLOCK;
}

/* ---- vectors ---- */

/* The variables that loops of the kernel have. */
static uint32_t form_vars(const lower_plan *plan) {
  uint32_t vars = 0;
  const lower_nest *nests[2 + LOWER_GROUPS] = {&plan->kept, &plan->inner};
  for (int g = 0; g < plan->group_count; g++)
    nests[2 + g] = &plan->groups[g].nest;
  for (int n = 0; n < 2 + plan->group_count; n++)
    for (int i = 0; i < nests[n]->count; i++)
      if (nests[n]->loops[i].var >= 0) vars |= 1u << nests[n]->loops[i].var;
  return vars;
}

/* Can every access of the lanes be one of vectors of so many elements, or of one for all lanes? */
static bool form_fits(const lower *l, int width) {
  int lane = l->plan->lanes.var;
  uint32_t vars = form_vars(l->plan) & ~(1u << lane);
  for (int i = 0; i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    if (a->opaque || a->guarded || loom_dtype_is_complex(a->dtype)) return false;
    if (a->coef[lane] == 0) continue;
    if (a->coef[lane] != 1 || !loom_num_multiple(a->constant, width)) return false;
    for (int v = 0; v < l->var_count; v++)
      if (vars >> v & 1 && !loom_num_multiple(a->coef[v], width)) return false;
  }
  return true;
}

static int form_width(const lower *l, int64_t extent) {
  size_t widest = 1;
  for (int i = 0; i < l->access_count; i++)
    if (l->accesses[i].coef[l->plan->lanes.var] && loom_dtype_size(l->accesses[i].dtype) > widest)
      widest = loom_dtype_size(l->accesses[i].dtype);
  int width = FORM_BYTES / (int)widest;
  if (width > FORM_LANES) width = FORM_LANES;
  if (l->plan->lane_reduced)
    for (int g = 0; g < l->plan->group_count; g++)
      if (!l->plan->groups[g].primary) return 1;
  while (width > 1 && (width > loom_num_hint(extent) || !form_fits(l, width)))
    width /= 2;
  return width < 1 ? 1 : width;
}

/* ---- the schedule ---- */

/* A reduction under a guard or at an index that is read may be one that threads of a team disagree
 * about. */
static bool form_is_uniform(const lower *l) {
  for (int i = 0; i < l->access_count && l->plan->group_count; i++)
    if (l->accesses[i].opaque || l->accesses[i].guarded) return false;
  return true;
}

/* ---- parts ---- */

/* Can a reduction be cut into parts, whose results meet in slots? */
static bool form_is_primary(const lower *l) {
  const lower_plan *plan = l->plan;
  bool primary = plan->reduced && !plan->read_elsewhere && plan->inner.loops[0].var >= 0;
  for (int g = 0; g < plan->group_count; g++)
    primary = primary && plan->groups[g].primary;
  return primary;
}

/* A likely number of something that there is. */
static int64_t form_likely(int64_t number) {
  int64_t likely = loom_num_hint(number);
  return likely < 1 ? 1 : likely;
}

/* The likely length of a reduced loop. One that is not known may be large in another call, whatever
 * it is in the first one. */
static int64_t form_length(int64_t extent) {
  int64_t likely = loom_num_hint(extent);
  return LOOM_STRIDE_IS_SYM(extent) && likely < FORM_OPEN ? FORM_OPEN : likely;
}

/* Cuts the outermost reduced loop into parts, each a multiple of `granule`: so many at most, and so
 * many elements at least. Of a size that is not known there is one part more than is full, which
 * may be empty: a row without elements has a part, too. */
static void form_cut(const lower *l, int64_t most, int64_t least, int64_t granule,
                     lower_schedule *out) {
  int64_t extent = l->plan->inner.loops[0].extent, likely = form_length(extent), size;
  int64_t limit = l->plan->depth > 1 || lower_plan_any_full(l) ? FORM_JOINED : FORM_BLOCKS;
  if (limit > most) limit = most;
  most = limit < likely / least ? limit : likely / least;
  if (most < 2) return;
  if (LOOM_STRIDE_IS_SYM(extent))
    size = loom_num_add(loom_num_div(extent, limit * granule), loom_ceil_div(least, granule));
  else
    size = loom_ceil_div(loom_ceil_div(extent, most), granule);
  size = loom_num_mul(size, granule);
  if (!LOOM_STRIDE_IS_SYM(extent) && size >= extent) return;
  out->split_size = size;
  out->splits = LOOM_STRIDE_IS_SYM(extent) ? loom_num_add(loom_num_div(extent, size), 1)
                                           : loom_ceil_div(extent, size);
}

/* Elements that one step of the outermost reduced loop stands for. */
static int64_t form_step(const lower_plan *plan) {
  int64_t step = 1;
  for (int i = 1; i < plan->inner.count; i++)
    step *= form_likely(plan->inner.loops[i].extent);
  return step;
}

static void form_cut_row(const lower *l, int64_t rows, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  int64_t least = loom_ceil_div((int64_t)GPU_BLOCK * FORM_PART, form_step(plan));
  if (!form_is_primary(l)) return;
  if (rows >= FORM_WHOLE && gpu_row_rounds(l, out->team, out->width)) return;
  form_cut(l, FORM_BLOCKS / rows, least,
           plan->inner.count == 1 ? (int64_t)GPU_BLOCK * out->width : 1, out);
  if (out->splits) out->team = GPU_BLOCK;
}

/* ---- columns ---- */

/* Bytes of a column's results in shared memory. */
static int64_t form_result_bytes(const lower_plan *plan) {
  int64_t most = 0;
  for (int g = 0; g < plan->group_count; g++) {
    int64_t bytes = 0;
    reduce_run run = {.group = &plan->groups[g]};
    reduce_layout(&run);
    for (int i = 0; i < run.count; i++)
      bytes += (int64_t)loom_dtype_size(run.dtypes[i]);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* The team of columns whose rows the teams of a block share: 0 where they would have too little to
 * do. */
static int form_columns(const lower *l, int64_t rows, int64_t extent, int *width) {
  const lower_plan *plan = l->plan;
  int64_t length = form_length(plan->inner.loops[0].extent), bytes = form_result_bytes(plan);
  int vector = *width;
  if (!form_is_primary(l) || length < FORM_ROWS) return 0;
  while (vector > 1 &&
         (!loom_num_multiple(extent, vector) || GPU_BLOCK * vector * bytes > FORM_SHARED))
    vector /= 2;
  int64_t vectors = loom_ceil_div(form_likely(extent), vector), team = 1;
  while (team < GPU_WARP && team < vectors)
    team *= 2;
  while (team < GPU_BLOCK && team < vectors && GPU_BLOCK / team > length / 4)
    team *= 2;
  int64_t teams = GPU_BLOCK / team;
  if (teams == 1 || (rows >= GPU_BLOCK && team * (teams < length ? teams : length) < GPU_BLOCK / 2))
    return 0;
  *width = vector;
  return (int)team;
}

static void form_cut_columns(const lower *l, int64_t rows, lower_schedule *out) {
  int64_t blocks = rows * form_likely(out->blocks), steps = FORM_PART / form_step(l->plan);
  int64_t least = out->teams * (steps > 1 ? steps : 1);
  form_cut(l, FORM_BLOCKS / blocks, least, out->teams, out);
  out->join = out->block;
}

/* ---- scans ---- */

/* Sums of half floats are rounded after each element, as on x86: these keep a thread a row. */
static bool form_scans(const lower *l, int64_t rows) {
  const lower_plan *plan = l->plan;
  for (int i = 0; i < plan->scan_count; i++) {
    loom_dtype dtype = lower_scan_dtype(plan->scans[i]);
    if (loom_dtype_is_half(dtype) || loom_dtype_is_complex(dtype)) return false;
  }
  return plan->lane_reduced && !plan->group_count && plan->inner.loops[0].var >= 0 && rows != 0 &&
         loom_num_hint(plan->inner.loops[0].extent) >= FORM_SCAN;
}

/* The blocks of units, which are `rows` times the blocks of a row. */
static void form_blocks(int64_t rows, lower_schedule *out) {
  out->units = GPU_BLOCK / out->team;
  out->chunks = loom_num_ceil(loom_num_mul(rows, out->blocks), out->units);
}

static void form_scan(const lower *l, int64_t rows, lower_schedule *out) {
  int64_t extent = l->plan->inner.loops[0].extent;
  out->width = out->reduce_width = 1;
  out->tail = LOWER_TAIL_NONE;
  out->team = loom_num_hint(extent) <= FORM_WARP_ROW ? GPU_WARP : GPU_BLOCK;
  out->block = extent;
  out->blocks = 1;
  form_cut(l, FORM_BLOCKS / form_likely(rows), (int64_t)GPU_BLOCK * FORM_PART, GPU_BLOCK, out);
  if (out->splits) out->team = GPU_BLOCK;
  form_blocks(rows, out);
}

/* Sizes may be symbolic: then the form is that of likely ones, and its numbers are expressions. */
void gpu_schedule(const lower *l, lower_schedule *out) {
  const lower_plan *plan = l->plan;
  const lower_nest *nest = plan->lane_reduced ? &plan->inner : &plan->kept;
  int64_t extent = nest->loops[nest->count - 1].extent, rows = lower_plan_rows(plan);
  if (plan->tile_loop >= 0) {
    out->team = GPU_BLOCK;
    out->chunks = gpu_turn_units(plan);
    return;
  }
  if (plan->scan_count && form_scans(l, rows)) {
    form_scan(l, rows, out);
    return;
  }
  if (plan->lanes.var < 0 || plan->scan_count || !form_is_uniform(l) || extent == 0 || rows == 0)
    return;
  out->width = form_width(l, extent);
  out->reduce_width = plan->lane_reduced ? out->width : 1;
  out->tail = lower_tail_for(l, extent, out->width);
  int team = plan->lane_reduced ? 0 : form_columns(l, form_likely(rows), extent, &out->width);
  if (team) {
    out->team = team;
    out->teams = GPU_BLOCK / team;
    out->tail = LOWER_TAIL_NONE;
    out->block = (int64_t)team * out->width;
    out->blocks = loom_num_ceil(extent, out->block);
    out->units = 1;
    out->chunks = loom_num_mul(rows, out->blocks);
    form_cut_columns(l, form_likely(rows), out);
    return;
  }
  out->block = extent;
  out->blocks = 1;
  if (plan->lane_reduced) {
    out->team = loom_num_hint(extent) <= FORM_WARP_ROW ? GPU_WARP : GPU_BLOCK;
    form_cut_row(l, form_likely(rows), out);
  } else {
    int64_t vectors = loom_ceil_div(form_likely(extent), out->width);
    out->team = rows != 1 && vectors <= FORM_SHORT ? GPU_WARP : GPU_BLOCK;
  }
  if (!plan->lane_reduced && out->team == GPU_BLOCK) {
    out->block = (int64_t)GPU_BLOCK * out->width;
    out->blocks = loom_num_ceil(extent, out->block);
  }
  form_blocks(rows, out);
}

/* ---- the code ---- */

typedef struct form_job {
  const lower_schedule *schedule;
  void (*run)(lower *l, const lower_schedule *schedule, MlirValue unit);
  MlirValue unit, total; /* total: null where every team of the launch has a unit */
} form_job;

static void form_unit(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const form_job *job = user;
  job->run(l, job->schedule, job->unit);
}

static void form_teams(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const form_job *job = user;
  if (!job->total.ptr) {
    form_unit(l, user, carried, next);
    return;
  }
  loom_builder b = lower_at_level(l, l->depth);
  lower_if(l, lane_cmpi(&b, "slt", job->unit, job->total), form_unit, user);
}

/* What no loop changes stays within a condition: its accesses rely on that. */
static void form_within(lower *l, void *user) {
  l->team.level = l->depth;
  form_teams(l, user, NULL, NULL);
  l->team.level = 0;
}

static void form_vectors(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  form_within(l, user);
}

/* The same with single elements: no lane loop has a rest. */
static void form_single(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_plan *plan = l->plan;
  lower_lanes lanes = plan->lanes, groups[LOWER_GROUPS];
  lower_team team = l->team;
  plan->lanes.width = 1;
  plan->lanes.tail = LOWER_TAIL_NONE;
  for (int g = 0; g < plan->group_count; g++) {
    groups[g] = plan->groups[g].lanes;
    plan->groups[g].lanes.width = 1;
    plan->groups[g].lanes.tail = LOWER_TAIL_NONE;
  }
  l->team.once = l->team.aligned = false;
  l->team.rounds.count = 0;
  form_within(l, user);
  l->team.once = team.once;
  l->team.aligned = team.aligned;
  l->team.rounds.count = team.rounds.count;
  plan->lanes = lanes;
  for (int g = 0; g < plan->group_count; g++)
    plan->groups[g].lanes = groups[g];
}

/* Do all buffers of vectors begin at multiples of their size? An i1. */
static MlirValue form_aligned(lower *l) {
  loom_builder b = lower_at_level(l, 0);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue off = loom_build_int(&b, i64, 0);
  int64_t seen[64] = {0};
  for (int i = 0; i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    const lower_buffer *buffer =
        a->store ? &l->kernel->results[a->operand] : &l->kernel->operands[a->operand];
    if (buffer->slot < 0 || a->coef[l->plan->lanes.var] == 0 || seen[buffer->slot]) continue;
    seen[buffer->slot] = 1;
    int64_t bytes = l->plan->lanes.width * (int64_t)loom_dtype_size(a->dtype);
    MlirValue at = loom_build1(&b, "llvm.ptrtoint", l->pointers[buffer->slot], i64);
    at = lane_op2(&b, "arith.andi", at, loom_build_int(&b, i64, bytes - 1));
    off = lane_op2(&b, "arith.ori", off, at);
  }
  return lane_cmpi(&b, "eq", off, loom_build_int(&b, i64, 0));
}

/* Numbers of threads and units are of 32 bits where all units can be counted so. */
static void form_numbers(lower *l, form_job *job, int64_t total) {
  const lower_schedule *s = job->schedule;
  loom_builder b = lower_at_level(l, 0);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  bool narrow = loom_num_high(total) < INT32_MAX - s->units;
  MlirType type = narrow ? i32 : i64;
  MlirValue thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, i32);
  MlirValue size = loom_build_int(&b, i32, s->team);
  MlirValue member = lane_op2(&b, "arith.remui", thread, size);
  l->team.member = loom_build1(&b, "arith.extui", member, i64);
  MlirValue chunk = narrow ? loom_build1(&b, "arith.trunci", l->begin, i32) : l->begin;
  MlirValue unit = lane_op2(&b, "arith.muli", chunk, loom_build_int(&b, type, s->units));
  if (s->units > 1) {
    MlirValue team = lane_op2(&b, "arith.divui", thread, size);
    if (!narrow) team = loom_build1(&b, "arith.extui", team, i64);
    unit = lane_op2(&b, "arith.addi", unit, team);
  }
  l->team.number = loom_build1(&b, "arith.extui", lane_op2(&b, "arith.divui", thread, size), i64);
  job->unit = narrow ? loom_build1(&b, "arith.extui", unit, i64) : unit;
  job->total = loom_num_multiple(total, s->units) ? (MlirValue){NULL} : lower_int(l, total).v;
}

void gpu_units(lower *l, const lower_schedule *schedule, int64_t total,
               void (*unit)(lower *l, const lower_schedule *schedule, MlirValue unit)) {
  form_job job = {.schedule = schedule, .run = unit};
  int width = l->plan->lanes.width;
  l->team.size = schedule->team;
  l->team.teams = schedule->teams;
  l->team.columns = schedule->teams > 1 ? (int)schedule->block : 0;
  form_numbers(l, &job, total);
  if (!schedule->splits) l->team.rounds.count = gpu_row_rounds(l, schedule->team, width);
  l->team.once =
      !l->plan->lane_reduced && loom_num_at_most(schedule->block, (int64_t)schedule->team * width);
  if (width == 1) {
    form_teams(l, &job, NULL, NULL);
    return;
  }
  MlirValue aligned = form_aligned(l);
  l->team.aligned = true;
  lower_if_else(l, aligned, form_vectors, form_single, &job);
}

/* ---- sizes ---- */

void gpu_set_sizes(MlirOperation function, const lower_team *team) {
  MlirContext ctx = mlirOperationGetContext(function);
  const char *const names[] = {"loom-gpu-threads", "loom-gpu-shared", "loom-gpu-blocks"};
  const int values[] = {team->threads ? team->threads : GPU_BLOCK, team->shared, team->blocks};
  MlirAttribute all[4];
  intptr_t count = 0;
  for (int i = 0; i < 3; i++) {
    char text[16];
    if (!values[i]) continue;
    snprintf(text, sizeof text, "%d", values[i]);
    MlirAttribute pair[] = {loom_attr_str(ctx, names[i]), loom_attr_str(ctx, text)};
    all[count++] = mlirArrayAttrGet(ctx, 2, pair);
  }
  MlirAttribute maps[] = {loom_attr_str(ctx, "loom-gpu-maps"), loom_attr_str(ctx, team->maps)};
  if (team->maps[0]) all[count++] = mlirArrayAttrGet(ctx, 2, maps);
  loom_set_attr(function, "passthrough", mlirArrayAttrGet(ctx, count, all));
}
