/* The table of ops with a kernel and a lowering of their own (alone.h). */
#include "passes/alone.h"
#include "loom_ops_elements.h"
#include "loom_ops_reductions.h"
#include "passes/passes.h"

#include <string.h>

static const alone_kind alone_kinds[] = {
    {LOOM_OP_SCATTER, scatter_plan, scatter_lower, true, gpu_scatter_plan, gpu_scatter_lower, true},
    {LOOM_OP_UPDATE_SLICE, update_plan, update_lower, true, gpu_update_plan, gpu_update_lower,
     true},
    {LOOM_OP_CONVOLUTION, convolution_plan, convolution_lower, true, gpu_convolution_plan,
     gpu_convolution_lower, true},
    {LOOM_OP_CONVOLUTION_INPUT, convolution_plan, convolution_lower, true, gpu_convolution_plan,
     gpu_convolution_lower, true},
    {LOOM_OP_SORT, sort_plan, sort_lower, false, gpu_sort_plan, gpu_sort_lower, false},
    {LOOM_OP_CONVOLUTION_GRADIENT, conv_gradient_plan, conv_gradient_lower, true,
     gpu_convolution_plan, gpu_convolution_lower, true},
    {LOOM_OP_ATTENTION, attention_plan_alone, attention_lower, true, gpu_attention_plan,
     gpu_attention_lower, true},
    {LOOM_OP_ATTENTION_GRADIENT, attention_plan_alone, attention_gradient_lower, true,
     gpu_attention_gradient_plan, gpu_attention_gradient_lower, true},
};

const alone_kind *alone_find(const lower_kernel *kernel, MlirOperation *out) {
  for (MlirOperation op = mlirBlockGetFirstOperation(kernel->block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_opcode code = loom_op_of(op);
    for (size_t i = 0; i < sizeof alone_kinds / sizeof *alone_kinds; i++)
      if (alone_kinds[i].code == code && loom_class_of(op) != LOOM_CLASS_MOVE) {
        *out = op;
        return &alone_kinds[i];
      }
  }
  return NULL;
}

bool alone_refuse(MlirOperation op, const char *text) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_emit_error(mlirOperationGetLocation(op), "cannot lower '%.*s': %s", (int)name.length,
                         name.data, text);
}

/* Sizes and strides of every operand and result are known: most lowerings here compute with them.
 */
static bool alone_is_static(const lower_kernel *kernel) {
  for (int i = 0; i < kernel->operand_count + kernel->result_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i]; /* results follow operands */
    if (loom_type_elements(&buffer->type) < 0) return false;
    for (int d = 0; d < buffer->type.rank; d++)
      if (LOOM_STRIDE_IS_SYM(buffer->strides[d])) return false;
  }
  return true;
}

/* Are the sizes of all that the kernel reads and makes known? */
static bool alone_sizes_known(const lower_kernel *kernel) {
  for (int i = 0; i < kernel->operand_count; i++)
    if (loom_type_elements(&kernel->operands[i].type) < 0) return false;
  for (MlirOperation op = mlirBlockGetFirstOperation(kernel->block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
      loom_type type;
      if (loom_type_from_mlir(mlirValueGetType(loom_result(op, i)), &type) &&
          loom_type_elements(&type) < 0)
        return false;
    }
  return true;
}

static bool alone_plan_gpu(const alone_kind *kind, const lower_kernel *kernel, alone_plan *out) {
  if (!kind->gpu_symbolic && !alone_sizes_known(kernel))
    return loom_emit_error(mlirOperationGetLocation(out->op), "symbolic sizes on a GPU");
  return kind->gpu_plan(kernel, out);
}

bool alone_plan_make(const alone_kind *kind, const lower_kernel *kernel, MlirOperation op,
                     alone_plan *out) {
  memset(out, 0, sizeof *out);
  out->op = op;
  if (kernel->target == LANES_GPU) return alone_plan_gpu(kind, kernel, out);
  if (!kind->symbolic && !alone_is_static(kernel)) return alone_refuse(op, "a symbolic size");
  return kind->plan(kernel, out);
}

bool alone_schedule(const alone_kind *kind, const lower_kernel *kernel, MlirOperation op) {
  alone_plan p;
  if (!alone_plan_make(kind, kernel, op, &p)) return false;
  MlirContext ctx = kernel->ctx;
  MlirAttribute name = loom_attr_str(ctx, loom_op_table[kind->code].name);
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
    if (!LOOM_STRIDE_IS_SYM(sizes[i]) && sizes[i] <= 1) continue; /* always 0 */
    lower_index_divmod(l, &linear, sizes[i], &quotient, &out[i]);
    linear = quotient;
  }
}

/* ---- small arithmetic at the current scope ---- */

loom_builder alone_here(const lower *l) { return lower_at_level(l, l->depth); }
MlirValue alone_const(lower *l, int64_t value) { return lower_int(l, value).v; }

MlirValue alone_op2(lower *l, const char *name, MlirValue x, MlirValue y) {
  loom_builder b = alone_here(l);
  return lane_op2(&b, name, x, y);
}

MlirValue alone_op(lower *l, const char *name, MlirValue x, int64_t y) {
  return alone_op2(l, name, x, alone_const(l, y));
}

MlirValue alone_add_scaled(lower *l, MlirValue x, MlirValue y, int64_t scale) {
  return alone_op2(l, "arith.addi", x, scale == 1 ? y : alone_op(l, "arith.muli", y, scale));
}

MlirValue alone_address(lower *l, MlirValue ptr, MlirValue offset, loom_dtype dtype) {
  loom_builder b = alone_here(l);
  return lane_address(&b, ptr, offset, dtype);
}

void alone_prefetch(lower *l, MlirValue ptr) {
  loom_builder b = alone_here(l);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  loom_named attrs[3] = {{"rw", mlirIntegerAttrGet(i32, 0)},
                         {"hint", mlirIntegerAttrGet(i32, 3)},
                         {"cache", mlirIntegerAttrGet(i32, 1)}};
  loom_build(&b, "llvm.intr.prefetch", 1, &ptr, 0, NULL, 3, attrs);
}

MlirValue alone_multiply_add(loom_builder *b, loom_dtype dtype, MlirValue x, MlirValue y,
                             MlirValue sum) {
  if (loom_dtype_is_float(dtype)) return lane_fma(b, x, y, sum);
  return lane_op2(b, "arith.addi", lane_op2(b, "arith.muli", x, y), sum);
}

void alone_set(lower *l, int var, MlirValue iv) {
  l->vars[var].iv = iv;
  l->vars[var].level = l->depth;
}

void alone_coef(const lower *l, lower_index *index, int var, int64_t coef) {
  if (l->vars[var].extent != 1) index->coef[var] = coef;
}

void alone_block(lower *l, MlirValue block, int64_t size, int64_t limit, MlirValue *low,
                 MlirValue *high) {
  *low = alone_op(l, "arith.muli", block, size);
  *high = alone_op(l, "arith.minsi", alone_op(l, "arith.addi", *low, size), limit);
}

lower_lanes alone_lanes(const lower *l, int var, int64_t extent, loom_dtype dtype) {
  int size = (int)loom_dtype_size(dtype), width = l->kernel->vector_bytes / size;
  while (width > 1 && !LOOM_STRIDE_IS_SYM(extent) && width > extent)
    width /= 2;
  lower_lanes lanes = {var, width, LOWER_TAIL_NONE};
  /* Masked loads and stores exist for elements of 4 and 8 bytes; with AVX-512 for all. */
  bool even = loom_num_multiple(extent, width);
  if (!even) lanes.tail = LOWER_TAIL_SCALAR;
  if (!even && (size >= 4 || l->kernel->vector_bytes == 64)) lanes.tail = LOWER_TAIL_MASK;
  return lanes;
}
