/* Kernels of updates in place (alone.h): one update_slice, or several of which each updates what
 * the one before has made. The result lies where the first operand lay, which loom-fuse has made a
 * buffer that is read by nothing later; what remains is to write each update into its region, in
 * order. What is written lies elsewhere.
 *
 * A region is a box of rows x lanes, the lanes being its last dimension of more than one element.
 */
#include "passes/alone.h"

#include <string.h>

enum { UPDATE_ROW, UPDATE_LANE, UPDATE_CHUNK, UPDATE_VARS };

#define UPDATE_WORK 65536 /* elements that make a chunk worth its launch */
#define UPDATE_CHUNKS 16

typedef struct update_job {
  MlirOperation op;
  loom_type to, update;
  int64_t dims[LOOM_MAX_RANK]; /* of the region: numbers, as all sizes below */
  int lane;                    /* dimension of the lanes, or -1 */
  int64_t rows, lanes, chunks, size;
  bool by_lanes; /* chunks cut the lanes, not the rows */
  MlirValue low, high;
  const lower_at *from, *place; /* of the lane loop */
} update_job;

static void update_divide(update_job *j) {
  int64_t work = loom_num_hint(loom_num_ceil(loom_num_elements(&j->update), UPDATE_WORK));
  int64_t chunks = work < UPDATE_CHUNKS ? work : UPDATE_CHUNKS;
  j->by_lanes = loom_num_hint(j->rows) < 8;
  int64_t extent = j->by_lanes ? j->lanes : j->rows;
  int64_t granule = j->by_lanes ? 64 : 1, most = loom_num_ceil(extent, granule);
  bool known = !LOOM_STRIDE_IS_SYM(extent);
  if (known && chunks > most) chunks = most;
  if (chunks < 1) chunks = 1;
  j->size = loom_num_mul(loom_num_ceil(loom_num_ceil(extent, chunks), granule), granule);
  if (known && j->size < 1) j->size = 1;
  j->chunks = known ? loom_num_ceil(extent, j->size) : chunks;
  if (j->chunks < 1) j->chunks = 1;
}

MlirOperation update_next(MlirOperation op) {
  do
    op = mlirOperationGetNextInBlock(op);
  while (op.ptr && !loom_info(op)->updates);
  return op;
}

bool update_check(const lower_kernel *kernel, MlirOperation first) {
  MlirOperation yield = mlirBlockGetTerminator(kernel->block), last = first;
  for (MlirOperation next; (next = update_next(last)).ptr; last = next)
    if (!mlirValueEqual(loom_operand(next, 0), loom_result(last, 0)))
      return alone_refuse(next, "it updates another array");
  if (kernel->result_count != 1 || !mlirValueEqual(loom_operand(yield, 0), loom_result(last, 0)) ||
      kernel->results[0].shares < 0 ||
      !mlirValueEqual(kernel->operands[kernel->results[0].shares].value, loom_operand(first, 0)))
    return alone_refuse(first, "the result does not overwrite the operand");
  return true;
}

static bool update_read(MlirOperation op, update_job *j) {
  memset(j, 0, sizeof *j);
  j->op = op;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &j->to) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &j->update))
    return alone_refuse(op, "an operand of an unknown type");
  j->lane = -1;
  j->rows = j->lanes = 1;
  for (int d = 0; d < j->update.rank; d++) {
    j->dims[d] = loom_num_dim(j->update.dims[d]);
    if (j->dims[d] != 1) j->lane = d;
  }
  for (int d = 0; d < j->lane; d++)
    j->rows = loom_num_mul(j->rows, j->dims[d]);
  if (j->lane >= 0) j->lanes = j->dims[j->lane];
  update_divide(j);
  return !loom_num_take_failure() || alone_refuse(op, "a size that cannot be expressed");
}

/* Several are one chunk: loom-fuse gathers small ones only. */
bool update_plan(const lower_kernel *kernel, alone_plan *out) {
  update_job job;
  if (!update_check(kernel, out->op) || !update_read(out->op, &job)) return false;
  out->stages[0] = update_next(out->op).ptr ? 1 : job.chunks;
  out->stage_count = 1;
  return true;
}

/* ---- loops ---- */

static void update_apply(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  update_job *j = user;
  lower_value value = lower_emit(l, loom_operand(j->op, 1), j->from);
  if (!l->failed) lower_store(l, 0, j->place, value);
}

static void update_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  update_job *j = user;
  lower_at *from = lower_at_new(l, j->update.rank);
  if (!from) return;
  if (j->lane > 0) alone_split(l, UPDATE_ROW, j->dims, j->lane, from->dims);
  if (j->lane >= 0) from->dims[j->lane].coef[UPDATE_LANE] = 1;
  j->from = lower_at_intern(l, from);
  j->place = lower_at_slice(l, j->op, j->from);
  if (l->failed) return;
  if (j->lane < 0) {
    update_apply(l, j, NULL, NULL);
    return;
  }
  lower_lanes lanes = alone_lanes(l, UPDATE_LANE, j->lanes, j->to.dtype);
  MlirValue low = j->by_lanes ? j->low : lower_int(l, 0).v;
  MlirValue high = j->by_lanes ? j->high : lower_int(l, j->lanes).v;
  MlirValue split = lower_lane_split(l, &lanes, high);
  lower_lane_main(l, &lanes, low, split, 0, NULL, update_apply, j, NULL);
  lower_lane_tail(l, &lanes, split, high, 0, NULL, update_apply, j, NULL);
}

/* One region, or the part of it that chunk `number` writes. */
static void update_region(lower *l, update_job *j, MlirValue number) {
  l->vars[UPDATE_ROW].extent = j->rows;
  l->vars[UPDATE_LANE].extent = j->lanes;
  j->low = lower_int(l, 0).v;
  j->high = lower_int(l, j->by_lanes ? j->lanes : j->rows).v;
  if (number.ptr) {
    MlirValue size = lower_int(l, j->size).v;
    j->low = alone_op2(l, "arith.muli", number, size);
    j->high = alone_op2(l, "arith.minsi", alone_op2(l, "arith.addi", j->low, size), j->high);
  }
  if (j->lane < 0) {
    update_row(l, j, NULL, NULL);
    return;
  }
  MlirValue low = j->by_lanes ? lower_int(l, 0).v : j->low;
  MlirValue high = j->by_lanes ? lower_int(l, j->rows).v : j->high;
  lower_for(l, low, high, lower_int(l, 1).v, UPDATE_ROW, 0, NULL, update_row, j, NULL);
}

static void update_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  MlirOperation *first = user;
  MlirValue none = {NULL}, number = update_next(*first).ptr ? none : l->vars[UPDATE_CHUNK].iv;
  for (MlirOperation op = *first; op.ptr && !l->failed; op = update_next(op)) {
    update_job job;
    if (!update_read(op, &job))
      l->failed = true;
    else if (loom_type_elements(&job.update) != 0)
      update_region(l, &job, number);
  }
}

void update_lower(lower *l, const alone_plan *plan, int stage) {
  MlirOperation first = plan->op;
  l->var_count = UPDATE_VARS;
  l->vars[UPDATE_CHUNK].extent = INT32_MAX;
  l->vars[UPDATE_ROW].extent = l->vars[UPDATE_LANE].extent = 1;
  lower_for(l, l->begin, l->end, lower_int(l, 1).v, UPDATE_CHUNK, 0, NULL, update_chunk, &first,
            NULL);
}
