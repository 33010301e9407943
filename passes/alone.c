/* The table of ops with a kernel and a lowering of their own (alone.h). */
#include "passes/alone.h"

#include <string.h>

static const alone_kind alone_kinds[] = {
    {"loom.scatter", scatter_plan, scatter_lower},
    {"loom.convolution", convolution_plan, convolution_lower},
    {"loom.sort", sort_plan, sort_lower},
};

const alone_kind *alone_find(const lower_kernel *kernel, MlirOperation *out) {
  for (MlirOperation op = mlirBlockGetFirstOperation(kernel->block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    for (size_t i = 0; i < sizeof alone_kinds / sizeof *alone_kinds; i++)
      if (loom_is(op, alone_kinds[i].name)) {
        *out = op;
        return &alone_kinds[i];
      }
  return NULL;
}

bool alone_refuse(MlirOperation op, const char *text) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_emit_error(mlirOperationGetLocation(op), "cannot lower '%.*s': %s", (int)name.length,
                         name.data, text);
}

/* Sizes and strides of every operand and result are numbers: these lowerings compute with them. */
static bool alone_is_static(const lower_kernel *kernel) {
  for (int i = 0; i < kernel->operand_count + kernel->result_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i]; /* results follow operands */
    if (loom_type_elements(&buffer->type) < 0) return false;
    for (int d = 0; d < buffer->type.rank; d++)
      if (LOOM_STRIDE_IS_SYM(buffer->strides[d])) return false;
  }
  return true;
}

bool alone_plan_make(const alone_kind *kind, const lower_kernel *kernel, MlirOperation op,
                     alone_plan *out) {
  memset(out, 0, sizeof *out);
  out->op = op;
  if (kernel->target == LANES_GPU) return alone_refuse(op, "no code for this target");
  if (!alone_is_static(kernel)) return alone_refuse(op, "a symbolic size");
  return kind->plan(kernel, out);
}

bool alone_schedule(const alone_kind *kind, const lower_kernel *kernel, MlirOperation op) {
  alone_plan p;
  if (!alone_plan_make(kind, kernel, op, &p)) return false;
  MlirContext ctx = kernel->ctx;
  MlirAttribute name = loom_attr_str(ctx, kind->name + strlen("loom."));
  MlirNamedAttribute entry = mlirNamedAttributeGet(mlirIdentifierGet(ctx, loom_str("kind")), name);
  loom_set_attr(kernel->op, "stages", loom_attr_i64s(ctx, p.stage_count, p.stages));
  loom_set_attr(kernel->op, "scratch", loom_attr_i64(ctx, p.scratch));
  loom_set_attr(kernel->op, "slots", loom_attr_i64(ctx, p.slots));
  loom_set_attr(kernel->op, "schedule", mlirDictionaryAttrGet(ctx, 1, &entry));
  return true;
}

void alone_split(lower *l, int var, const int64_t *sizes, int count, lower_index *out) {
  lower_index linear = {0};
  linear.coef[var] = 1;
  for (int i = count - 1; i >= 0; i--) {
    lower_index quotient = {0};
    if (sizes[i] <= 1) continue; /* always 0 */
    lower_index_divmod(l, &linear, sizes[i], &quotient, &out[i]);
    linear = quotient;
  }
}

lower_lanes alone_lanes(const lower *l, int var, int64_t extent, loom_dtype dtype) {
  int size = (int)loom_dtype_size(dtype), width = l->kernel->vector_bytes / size;
  while (width > 1 && width > extent)
    width /= 2;
  lower_lanes lanes = {var, width, LOWER_TAIL_NONE};
  /* Masked loads and stores exist for elements of 4 and 8 bytes; with AVX-512 for all. */
  if (extent % width) lanes.tail = LOWER_TAIL_SCALAR;
  if (extent % width && (size >= 4 || l->kernel->vector_bytes == 64)) lanes.tail = LOWER_TAIL_MASK;
  return lanes;
}
