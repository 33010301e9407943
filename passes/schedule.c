/* loom-schedule: how each kernel is divided.
 *
 * Before: `loom.kernel` with a body. After: the same with `stages` (chunks of each), `scratch`,
 * `slots` and `schedule`. Chunks depend on sizes only, so that results never depend on the number
 * of threads.
 *
 * requires: static sizes. keeps: the body. breaks: nothing.
 */
#include "passes/lower.h"
#include "passes/passes.h"

/* Enough work to pay for handing a chunk to a thread: some 50 us. */
#define SCHEDULE_CHUNK_WORK 131072

static int64_t schedule_min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t schedule_max(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t schedule_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Lanes: as many as fill two registers of the widest type, one when the body is long and registers
 * are few. */
static int schedule_width(const lower *l, int64_t extent) {
  if (l->kernel->target == LANES_GPU) return 1;
  size_t widest = 1;
  for (int i = 0; i < l->access_count; i++) {
    size_t size = loom_dtype_size(l->accesses[i].dtype);
    if (size > widest) widest = size;
  }
  int width = l->kernel->vector_bytes / (int)widest;
  width *= l->cost > 24 ? 1 : 2;
  if (width > 64) width = 64;
  while (width > 1 && width > extent)
    width /= 2;
  return width;
}

/* Masked loads and stores exist for elements of 4 and 8 bytes; others end with single elements. */
static lower_tail schedule_tail(const lower *l, int64_t extent, int width) {
  if (extent % width == 0) return LOWER_TAIL_NONE;
  for (int i = 0; i < l->access_count; i++)
    if (loom_dtype_size(l->accesses[i].dtype) < 4 && l->kernel->vector_bytes < 64)
      return LOWER_TAIL_SCALAR;
  return LOWER_TAIL_MASK;
}

void lower_schedule_map(const lower *l, const lower_nest *nest, lower_schedule *out) {
  int64_t extent = nest->loops[nest->count - 1].extent;
  out->width = schedule_width(l, extent);
  out->tail = schedule_tail(l, extent, out->width);
  int64_t target = schedule_max(SCHEDULE_CHUNK_WORK / (2 + l->cost / 4), 2048);
  if (extent > target && nest->rows * extent > 2 * target) {
    out->blocks = schedule_ceil(extent, target);
    int64_t even = schedule_ceil(extent, out->blocks);
    out->block = schedule_ceil(even, out->width) * out->width;
    out->blocks = schedule_ceil(extent, out->block);
    out->units = 1;
  } else {
    out->block = extent;
    out->blocks = 1;
    out->units = schedule_max(1, schedule_min(nest->rows, 2 * target / schedule_max(extent, 1)));
  }
  out->chunks = schedule_ceil(nest->rows * out->blocks, out->units);
}

static void schedule_write(const lower_kernel *kernel, const lower_schedule *s) {
  MlirContext ctx = kernel->ctx;
  const struct {
    const char *name;
    int64_t value;
  } entries[] = {{"block", s->block},
                 {"blocks", s->blocks},
                 {"tail", s->tail},
                 {"units", s->units},
                 {"width", s->width}};
  MlirNamedAttribute named[5];
  for (int i = 0; i < 5; i++)
    named[i] = mlirNamedAttributeGet(mlirIdentifierGet(ctx, loom_str(entries[i].name)),
                                     loom_attr_i64(ctx, entries[i].value));
  loom_set_attr(kernel->op, "schedule", mlirDictionaryAttrGet(ctx, 5, named));
  loom_set_attr(kernel->op, "stages", loom_attr_i64s(ctx, 1, &s->chunks));
  loom_set_attr(kernel->op, "scratch", loom_attr_i64(ctx, 0));
  loom_set_attr(kernel->op, "slots", loom_attr_i64(ctx, 0));
}

static int64_t schedule_entry(MlirAttribute dict, const char *name) {
  MlirAttribute attr = mlirDictionaryAttrGetElementByName(dict, loom_str(name));
  return attr.ptr && mlirAttributeIsAInteger(attr) ? mlirIntegerAttrGetValueInt(attr) : -1;
}

bool lower_schedule_read(const lower_kernel *kernel, lower_schedule *out) {
  MlirAttribute dict = loom_get_attr(kernel->op, "schedule");
  if (!dict.ptr || !mlirAttributeIsADictionary(dict))
    return loom_emit_error(mlirOperationGetLocation(kernel->op), "kernel has no schedule");
  int64_t tail = schedule_entry(dict, "tail"), width = schedule_entry(dict, "width");
  out->block = schedule_entry(dict, "block");
  out->blocks = schedule_entry(dict, "blocks");
  out->units = schedule_entry(dict, "units");
  if (tail < 0 || tail > LOWER_TAIL_SCALAR || width < 1 || width > 256 || (width & (width - 1)) ||
      out->block < 0 || out->blocks < 1 || out->units < 1)
    return loom_emit_error(mlirOperationGetLocation(kernel->op), "kernel has a bad schedule");
  out->tail = (lower_tail)tail;
  out->width = (int)width;
  return true;
}

static bool schedule_kernel(MlirOperation op, void *user) {
  if (!loom_is(op, "loom.kernel")) return true;
  loom_arena arena = {0};
  lower_kernel kernel;
  lower l;
  lower_nest nest;
  lower_schedule schedule = {0};
  bool ok = lower_kernel_parse(op, &arena, &kernel);
  if (ok) {
    lower_init(&l, &kernel, &arena, true);
    ok = lower_analyze(&l, &nest);
  }
  if (ok) {
    lower_schedule_map(&l, &nest, &schedule);
    schedule_write(&kernel, &schedule);
  }
  loom_arena_fini(&arena);
  return ok;
}

static bool schedule_run(MlirOperation root) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(root, 0));
  return !block.ptr || loom_walk_block(block, schedule_kernel, NULL);
}

MlirPass loom_make_schedule_pass(void) {
  return loom_pass_create("loom-schedule", "loom-schedule", "Divide kernels into chunks and lanes",
                          "builtin.module", schedule_run);
}
