/* The instructions of a plan, for loom-plan (plan.c): launches of kernels, copies of whole buffers,
 * calls of the host, loops and branches over other plans, in the function's order.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"
#include "passes/plan.h"

/* Buffers of an op's operands and results, scalars apart. */
typedef struct write_lists {
  MlirValue *values; /* buffers, then scalars */
  intptr_t buffers, scalars;
  intptr_t reads; /* the first buffers: operands */
} write_lists;

typedef struct write_part { /* chunks [first, first + count) of a stage */
  int64_t stage, first, count;
} write_part;

static MlirValue write_output(const plan_state *s, intptr_t i) {
  return mlirBlockGetArgument(s->body, s->inputs + i);
}

static MlirValue write_arena_buffer(plan_state *s, loom_builder *b, int storage, MlirType type) {
  plan_storage *at = &s->storages[storage];
  if (at->buffer.ptr && mlirTypeEqual(mlirValueGetType(at->buffer), type)) return at->buffer;
  bool symbolic = LOOM_STRIDE_IS_SYM(at->offset) || LOOM_STRIDE_IS_SYM(at->size);
  if (at->kept) {
    loom_named kept[] = {{"offset", loom_attr_i64(s->ctx, 0)},
                         {loom_mark_kept, loom_attr_i64(s->ctx, storage)}};
    at->buffer = loom_result(loom_build_op(b, LOOM_OP_BUFFER, 0, NULL, 1, &type, 2, kept), 0);
    return at->buffer;
  }
  loom_named attrs[] = {{"offset", loom_attr_i64(s->ctx, at->offset)},
                        {"bytes", loom_attr_i64(s->ctx, at->size)},
                        {loom_mark_late, loom_attr_i64(s->ctx, at->late)},
                        {loom_mark_storage, loom_attr_i64(s->ctx, storage)}};
  bool checked =
      loom_option(s->function, loom_mark_check).ptr != NULL; /* which values share memory */
  int count = at->late || checked ? 4 : symbolic ? 2 : 1;
  MlirOperation made = loom_build_op(b, LOOM_OP_BUFFER, 0, NULL, 1, &type, count, attrs);
  at->buffer = loom_result(made, 0);
  return at->buffer;
}

/* The buffer of a value, made at the end of the plan when it lies in the arena. */
static MlirValue write_buffer(plan_state *s, loom_builder *b, MlirValue value) {
  MlirValue root = loom_buffer_root(value);
  if (mlirValueIsABlockArgument(root))
    return mlirBlockGetArgument(s->body, mlirBlockArgumentGetArgNumber(root));
  int storage = plan_storage_of(s, root);
  if (s->storages[storage].output >= 0) return write_output(s, s->storages[storage].output);
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  bool made = mlirValueEqual(root, value) && loom_type_from_mlir(mlirValueGetType(value), &type);
  if (made) loom_value_strides(s->function, value, &type, strides);
  return write_arena_buffer(s, b, storage,
                            plan_memref(s->ctx, mlirValueGetType(value), made ? strides : NULL));
}

static bool write_gather(plan_state *s, loom_builder *b, MlirOperation op, write_lists *out) {
  intptr_t operands = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  MlirValue *scalars = malloc(sizeof *scalars * (size_t)(operands + 1));
  out->values = malloc(sizeof *out->values * (size_t)(operands + results + 3));
  out->buffers = out->scalars = 0;
  if (!scalars || !out->values) {
    free(scalars);
    return plan_memory(s);
  }
  for (intptr_t i = 0; i < operands; i++) {
    MlirValue root = loom_buffer_root(loom_operand(op, i));
    if (!mlirValueEqual(root, loom_operand(op, i)) && !plan_root_is_plain(s, root)) {
      free(scalars);
      return loom_emit_error(mlirOperationGetLocation(op),
                             "a reshape between kernels of an array that is not in C order");
    }
    MlirValue buffer = write_buffer(s, b, loom_operand(op, i));
    if (mlirTypeIsAMemRef(mlirValueGetType(buffer)))
      out->values[out->buffers++] = buffer;
    else
      scalars[out->scalars++] = buffer;
  }
  out->reads = out->buffers;
  for (intptr_t i = 0; i < results; i++)
    out->values[out->buffers++] = write_buffer(s, b, loom_result(op, i));
  for (int kept = 0; kept < 2; kept++) {
    int slots = (int)loom_map_get(kept ? &s->kept_of : &s->storage_of, op.ptr, -1);
    if (slots < 0) continue;
    int64_t size = s->storages[slots].size;
    if (LOOM_STRIDE_IS_SYM(size)) size = mlirShapedTypeGetDynamicSize();
    MlirType bytes = mlirMemRefTypeContiguousGet(mlirIntegerTypeGet(s->ctx, 8), 1, &size,
                                                 mlirAttributeGetNull());
    out->values[out->buffers++] = write_arena_buffer(s, b, slots, bytes);
  }
  memcpy(out->values + out->buffers, scalars, sizeof *scalars * (size_t)out->scalars);
  free(scalars);
  return true;
}

/* The first operation of a kernel that may find an index out of bounds; empty: none. */
static MlirStringRef write_reports(MlirOperation kernel) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_info(op)->indexed) return mlirStringRefCreateFromCString(loom_info(op)->name);
  return (MlirStringRef){NULL, 0};
}

static void write_launch(plan_state *s, loom_builder *b, MlirOperation op, const write_lists *lists,
                         write_part part) {
  MlirOperation kernel = plan_kernel(s, op);
  int32_t segments[] = {(int32_t)lists->buffers, (int32_t)lists->scalars};
  loom_named attrs[11] = {
      {"kernel", loom_get_attr(op, "kernel")},
      {"stage", loom_attr_i64(s->ctx, part.stage)},
      {"chunks", loom_attr_i64(s->ctx, part.count)},
      {"scratch", loom_attr_i64(s->ctx, loom_get_i64(kernel, "scratch", 0))},
      {"fp", loom_attr_i64(s->ctx, loom_get_i64(kernel, "fp", 15))},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(s->ctx, 2, segments)},
  };
  int count = 6;
  if (loom_sizes()->symbol_count)
    attrs[count++] = (loom_named){"symbols", loom_attr_i64(s->ctx, loom_sizes()->symbol_count)};
  if (lists->reads && loom_is_for_gpu(op))
    attrs[count++] = (loom_named){loom_mark_reads, loom_attr_i64(s->ctx, lists->reads)};
  MlirStringRef reports = loom_is_for_gpu(op) ? write_reports(kernel) : (MlirStringRef){0};
  if (reports.length)
    attrs[count++] = (loom_named){loom_mark_reports, mlirStringAttrGet(s->ctx, reports)};
  if (part.first) attrs[count++] = (loom_named){loom_mark_first, loom_attr_i64(s->ctx, part.first)};
  if (loom_get_attr(op, loom_mark_once).ptr ||
      part.stage < loom_get_i64(kernel, loom_mark_once_stages, 0))
    attrs[count++] = (loom_named){loom_mark_once, mlirUnitAttrGet(s->ctx)};
  loom_build_op(b, LOOM_OP_LAUNCH, lists->buffers + lists->scalars, lists->values, 0, NULL, count,
                attrs);
}

/* A kernel that does nothing but copy a buffer in C order, which may turn out to be the same one.
 */
static bool write_is_copy(const plan_state *s, MlirOperation kernel, const write_lists *lists) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  MlirOperation first = mlirBlockGetFirstOperation(body);
  return loom_is(first, LOOM_OP_COPY) && loom_get_attr(first, loom_mark_inplace).ptr &&
         lists->buffers == 2 && lists->scalars == 0 &&
         mlirOperationEqual(mlirOperationGetNextInBlock(first), mlirBlockGetTerminator(body)) &&
         plan_is_plain(s->ctx, mlirValueGetType(lists->values[0])) &&
         plan_is_plain(s->ctx, mlirValueGetType(lists->values[1]));
}

static bool write_launches(plan_state *s, loom_builder *b, MlirOperation op, write_lists *lists) {
  MlirOperation kernel = plan_kernel(s, op);
  if (write_is_copy(s, kernel, lists)) {
    loom_build_op(b, LOOM_OP_COPY_BUFFER, 2, lists->values, 0, NULL, 0, NULL);
    return true;
  }
  int64_t stages[64];
  intptr_t count = loom_get_i64s(kernel, "stages", stages, 64);
  if (count < 1 || count > 64)
    return loom_emit_error(mlirOperationGetLocation(kernel), "a kernel has 1 to 64 stages");
  MlirAttribute parts = loom_get_attr(kernel, loom_mark_launches);
  if (!parts.ptr) {
    for (intptr_t i = 0; i < count; i++)
      write_launch(s, b, op, lists, (write_part){i, 0, stages[i]});
    return true;
  }
  for (intptr_t i = 0; i + 3 <= mlirDenseArrayGetNumElements(parts); i += 3) {
    write_part part = {mlirDenseI64ArrayGetElement(parts, i),
                       mlirDenseI64ArrayGetElement(parts, i + 1),
                       mlirDenseI64ArrayGetElement(parts, i + 2)};
    write_launch(s, b, op, lists, part);
  }
  return true;
}

/* Checks an instruction that is no launch: it takes only buffers, and writes them in C order. */
static bool write_check_buffers(const plan_state *s, MlirOperation op, const write_lists *lists,
                                const char *what) {
  if (lists->scalars)
    return loom_emit_error(mlirOperationGetLocation(op), "a %s takes no scalar inputs", what);
  for (intptr_t i = mlirOperationGetNumOperands(op); i < lists->buffers; i++)
    if (!plan_is_plain(s->ctx, mlirValueGetType(lists->values[i])))
      return loom_emit_error(mlirOperationGetLocation(op),
                             "a %s cannot write a result in another order than C", what);
  return true;
}

static bool write_control(plan_state *s, loom_builder *b, MlirOperation op, write_lists *lists) {
  if (!write_check_buffers(s, op, lists, "loop or branch")) return false;
  loom_named attrs[] = {
      {"kind", loom_get_attr(op, "kind")},
      {"plans", loom_get_attr(op, "bodies")},
      {"carry", loom_get_attr(op, "carry")},
      {"reads", loom_attr_i64(s->ctx, mlirOperationGetNumOperands(op))},
  };
  MlirOperation run =
      loom_build_op(b, LOOM_OP_RUN, lists->buffers, lists->values, 0, NULL, 4, attrs);
  const char *const marks[] = {loom_mark_symbol, loom_mark_count};
  for (int i = 0; i < 2; i++)
    if (loom_get_attr(op, marks[i]).ptr) loom_set_attr(run, marks[i], loom_get_attr(op, marks[i]));
  return true;
}

static bool write_host_call(plan_state *s, loom_builder *b, MlirOperation op, write_lists *lists) {
  if (!write_check_buffers(s, op, lists, "host call")) return false;
  loom_named attrs[] = {
      {"name", loom_get_attr(op, "name")},
      {"slot", loom_get_attr(op, "slot")},
      {"reads", loom_attr_i64(s->ctx, mlirOperationGetNumOperands(op))},
      {loom_mark_introduces, loom_get_attr(op, loom_mark_introduces)},
  };
  loom_build_op(b, LOOM_OP_CALL_HOST, lists->buffers, lists->values, 0, NULL,
                attrs[3].value.ptr ? 4 : 3, attrs);
  return true;
}

/* A value returned a second time, or an input returned as it is. */
static bool write_copy_outputs(plan_state *s, loom_builder *b, MlirOperation terminator) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
    MlirValue source = write_buffer(s, b, loom_operand(terminator, i)), target = write_output(s, i);
    if (mlirValueEqual(source, target)) continue;
    int storage = plan_storage_of(s, loom_operand(terminator, i));
    if (storage >= 0 && s->storages[storage].output == i) continue;
    if (!mlirTypeEqual(mlirValueGetType(source), mlirValueGetType(target)) ||
        !plan_lies_as_asked(s, loom_operand(terminator, i), i))
      return loom_emit_error(mlirOperationGetLocation(terminator),
                             "result %d is another value in another layout: run loom-fuse first",
                             (int)i);
    MlirValue both[] = {source, target};
    loom_build_op(b, LOOM_OP_COPY_BUFFER, 2, both, 0, NULL, 0, NULL);
  }
  return true;
}

static void write_trims(const plan_state *s, loom_builder *b, int step, int *next) {
  for (; *next < s->trim_count && s->trims[*next].step <= step; ++*next) {
    loom_named attrs[] = {{"offset", loom_attr_i64(s->ctx, s->trims[*next].offset)},
                          {"bytes", loom_attr_i64(s->ctx, s->trims[*next].size)}};
    loom_build_op(b, LOOM_OP_TRIM_ARENA, 0, NULL, 0, NULL, 2, attrs);
  }
}

bool plan_write(plan_state *s, MlirOperation terminator) {
  int step = 0, trim = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block);
       op.ptr && !mlirOperationEqual(op, terminator);
       op = mlirOperationGetNextInBlock(op), step++) {
    if (loom_info(op)->alias) continue;
    loom_builder b = loom_builder_at_end(s->body, mlirOperationGetLocation(op));
    write_trims(s, &b, step, &trim);
    write_lists lists;
    bool good = write_gather(s, &b, op, &lists);
    switch (loom_op_of(op)) {
    case LOOM_OP_APPLY: good = good && write_launches(s, &b, op, &lists); break;
    case LOOM_OP_CONTROL: good = good && write_control(s, &b, op, &lists); break;
    default: good = good && write_host_call(s, &b, op, &lists);
    }
    free(lists.values);
    if (!good) return false;
  }
  loom_builder b = loom_builder_at_end(s->body, mlirOperationGetLocation(terminator));
  return write_copy_outputs(s, &b, terminator);
}
