/* Updates in place on a GPU: a thread has an element of the region. Several updates, of which each
 * updates what the one before has made, are one block's: its threads take an element after the
 * other, and wait for each other before the next update. */
#include "passes/alone.h"
#include "passes/gpu.h"

typedef struct update_job {
  MlirOperation op;
  loom_type part;
  MlirValue at;
} update_job;

static bool update_type(MlirOperation op, update_job *j) {
  j->op = op;
  return loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &j->part) ||
         alone_refuse(op, "an operand of an unknown type");
}

bool gpu_update_plan(const lower_kernel *kernel, alone_plan *out) {
  update_job j = {.op = out->op};
  if (!update_check(kernel, out->op)) return false;
  for (MlirOperation op = out->op; op.ptr; op = update_next(op))
    if (!update_type(op, &j)) return false;
  bool several = update_next(out->op).ptr != NULL;
  out->stage_count = 1;
  out->stages[0] = several ? 1 : gpu_blocks(loom_num_elements(&j.part));
  return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
}

/* Element `at` of the region, in C order. */
static void update_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const update_job *j = user;
  int64_t sizes[LOOM_MAX_RANK];
  lower_at *from = lower_at_new(l, j->part.rank);
  if (!from) return;
  for (int d = 0; d < j->part.rank; d++)
    sizes[d] = loom_num_dim(j->part.dims[d]);
  alone_set(l, 0, j->at.ptr ? j->at : mlirBlockGetArgument(l->scopes[l->depth].block, 0));
  alone_split(l, 0, sizes, j->part.rank, from->dims);
  const lower_at *at = lower_at_intern(l, from);
  const lower_at *place = lower_at_slice(l, j->op, at);
  if (l->failed) return;
  lower_value value = lower_emit(l, loom_operand(j->op, 1), at);
  if (!l->failed) lower_store(l, 0, place, value);
}

void gpu_update_lower(lower *l, const alone_plan *plan, int stage) {
  bool several = update_next(plan->op).ptr != NULL;
  MlirValue thread = several ? gpu_thread(l) : (MlirValue){NULL};
  l->var_count = 1;
  for (MlirOperation op = plan->op; op.ptr && !l->failed; op = update_next(op)) {
    update_job j = {.op = op};
    if (!update_type(op, &j)) {
      l->failed = true;
      return;
    }
    int64_t elements = loom_num_elements(&j.part);
    l->vars[0] = (lower_var){.extent = elements};
    if (!several) {
      gpu_each(l, elements, &j.at, update_element, &j);
      continue;
    }
    lower_for(l, thread, alone_const(l, elements), alone_const(l, GPU_BLOCK), -1, 0, NULL,
              update_element, &j, NULL);
    loom_builder b = alone_here(l);
    if (update_next(op).ptr) gpu_barrier(l, &b);
  }
}
