/* Symbolic sizes of a plan: the registers that hold them, and the instructions that compute them.
 */
#include "targets/serialize.h"

#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "passes/passes.h"

/* Which expressions of the table a number needs. */
static void serial_need(uint8_t *needed, uint32_t index) {
  const loom_expr *expr = &loom_sizes()->exprs[index];
  if (needed[index]) return;
  needed[index] = 1;
  if (expr->kind == LOOM_EXPR_CONST || expr->kind == LOOM_EXPR_SYMBOL) return;
  serial_need(needed, expr->lhs);
  serial_need(needed, expr->rhs);
}

static void serial_need_number(uint8_t *needed, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number) && loom_num_known(number))
    serial_need(needed, LOOM_STRIDE_EXPR(number));
}

static bool serial_need_op(MlirOperation op, void *user) {
  static const char *const names[] = {"offset", "bytes", "chunks", "scratch"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    serial_need_number(user, loom_get_i64(op, names[i], 0));
  return true;
}

static bool serial_is_late(const serial_state *s, uint32_t index) {
  const loom_expr *expr = &loom_sizes()->exprs[index];
  if (expr->kind == LOOM_EXPR_CONST) return false;
  if (expr->kind == LOOM_EXPR_SYMBOL) return s->unknown[expr->value];
  return serial_is_late(s, expr->lhs) || serial_is_late(s, expr->rhs);
}

static void serial_compute(serial_state *s, uint32_t index) {
  const loom_expr *expr = &loom_sizes()->exprs[index];
  loom_plan_instr instr = {.opcode = LOOM_PLAN_SIZE,
                           .op = expr->kind,
                           .a = s->registers[index],
                           .b = s->registers[expr->lhs],
                           .c = s->registers[expr->rhs]};
  serial_put(&s->instrs, &instr, sizeof instr);
  s->pending[index] = 0;
}

bool serial_ready(serial_state *s, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return true;
  uint32_t index = LOOM_STRIDE_EXPR(number);
  const loom_expr *expr = &loom_sizes()->exprs[index];
  if (serial_is_late(s, index)) return loom_fail(s->err, "a size is needed before it is known");
  if (!s->pending[index]) return true;
  if (!serial_ready(s, LOOM_STRIDE_SYM(expr->lhs)) || !serial_ready(s, LOOM_STRIDE_SYM(expr->rhs)))
    return false;
  serial_compute(s, index);
  return true;
}

bool serial_registers(serial_state *s, MlirBlock block) {
  const loom_graph *sizes = loom_sizes();
  uint32_t count = sizes->expr_count;
  s->symbol_count = s->register_count = sizes->symbol_count;
  s->registers = malloc(sizeof *s->registers * (count + 1u));
  s->unknown = calloc(1, s->symbol_count + 1u);
  s->pending = calloc(1, count + 1u);
  uint8_t *needed = calloc(1, count + 1u);
  if (!s->registers || !needed || !s->unknown || !s->pending)
    return free(needed), loom_fail(s->err, "out of memory");
  MlirAttribute late = loom_get_attr(s->plan, loom_mark_late);
  for (intptr_t i = 0; late.ptr && i < mlirDenseArrayGetNumElements(late); i++)
    if (mlirDenseI64ArrayGetElement(late, i) < s->symbol_count)
      s->unknown[mlirDenseI64ArrayGetElement(late, i)] = 1;
  MlirAttribute bytes = loom_get_attr(s->plan, "bytes");
  for (intptr_t i = 0; bytes.ptr && i < mlirDenseArrayGetNumElements(bytes); i++)
    serial_need_number(needed, mlirDenseI64ArrayGetElement(bytes, i));
  for (intptr_t i = 0; s->reach.ptr && i < mlirDenseArrayGetNumElements(s->reach); i++)
    serial_need_number(needed, mlirDenseI64ArrayGetElement(s->reach, i));
  serial_need_number(needed, loom_get_i64(s->plan, "arena", 0));
  loom_walk_block(block, serial_need_op, needed);
  for (uint32_t i = 0; i < count; i++) {
    const loom_expr *expr = &sizes->exprs[i];
    s->registers[i] = UINT32_MAX;
    if (!needed[i]) continue;
    if (expr->kind == LOOM_EXPR_SYMBOL) s->registers[i] = (uint32_t)expr->value;
    if (expr->kind != LOOM_EXPR_CONST) continue;
    s->registers[i] = s->register_count++;
    s->constant_count++;
    serial_put(&s->constants, &expr->value, sizeof expr->value);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (!needed[i] || s->registers[i] != UINT32_MAX) continue;
    s->registers[i] = s->register_count++;
    if (serial_is_late(s, i)) {
      s->pending[i] = 1;
      continue;
    }
    serial_compute(s, i);
    s->prologue++;
  }
  free(needed);
  return true;
}

uint64_t serial_number(const serial_state *s, int64_t number, uint32_t flag, uint32_t *flags) {
  if (!LOOM_STRIDE_IS_SYM(number)) return (uint64_t)number;
  *flags |= flag;
  return s->registers[LOOM_STRIDE_EXPR(number)];
}

int64_t serial_size(const serial_state *s, MlirValue buffer) {
  loom_type type;
  MlirOperation op = loom_def(buffer);
  int64_t bytes = op.ptr ? loom_get_i64(op, "bytes", -1) : -1;
  MlirAttribute all = loom_get_attr(s->plan, "bytes");
  if (!op.ptr && all.ptr)
    bytes = mlirDenseI64ArrayGetElement(all, mlirBlockArgumentGetArgNumber(buffer));
  if (bytes != -1) return bytes;
  if (!loom_type_from_mlir(mlirValueGetType(buffer), &type)) return 0;
  int64_t elements = loom_type_elements(&type);
  return elements < 0 ? 0 : elements * (int64_t)loom_dtype_size(type.dtype);
}

/* What kernels may access: of an argument as `loom.extents` says, of other buffers all. */
static void serial_extent(serial_state *s, MlirValue buffer) {
  if (!s->reach.ptr) return;
  int64_t low = 0, size = serial_size(s, buffer);
  if (!loom_def(buffer).ptr) {
    intptr_t number = mlirBlockArgumentGetArgNumber(buffer);
    low = mlirDenseI64ArrayGetElement(s->reach, 2 * number);
    size = mlirDenseI64ArrayGetElement(s->reach, 2 * number + 1);
  }
  loom_plan_extent extent = {0};
  bool arena = loom_def(buffer).ptr && !loom_get_attr(loom_def(buffer), loom_mark_kept).ptr;
  if (arena) extent.storage = (uint32_t)(loom_get_i64(loom_def(buffer), loom_mark_storage, -1) + 1);
  extent.low = (int64_t)serial_number(s, low, LOOM_PLAN_OFFSET_REGISTER, &extent.flags);
  extent.size = (int64_t)serial_number(s, size, LOOM_PLAN_SIZE_REGISTER, &extent.flags);
  serial_put(&s->extents, &extent, sizeof extent);
}

/* 1 + the input that output `index` may share its buffer with, or 0. */
static uint32_t serial_overwrites(const serial_state *s, uint32_t index) {
  int64_t all[64];
  intptr_t count = loom_get_i64s(s->plan, loom_mark_overwrites, all, 64);
  return index < count && index < 64 ? (uint32_t)(all[index] + 1) : 0;
}

bool serial_buffer(serial_state *s, MlirValue value, loom_plan_buffer_kind kind, uint32_t index,
                   int64_t offset) {
  loom_plan_buffer buffer = {.kind = kind, .index = index};
  buffer.offset = serial_number(s, offset, LOOM_PLAN_OFFSET_REGISTER, &buffer.flags);
  buffer.size = serial_number(s, serial_size(s, value), LOOM_PLAN_SIZE_REGISTER, &buffer.flags);
  if (kind == LOOM_PLAN_BUFFER_OUTPUT) buffer.overwrites = serial_overwrites(s, index);
  int64_t size = serial_size(s, value),
          late = loom_def(value).ptr ? loom_get_i64(loom_def(value), loom_mark_late, 0) : 0;
  bool output = kind == LOOM_PLAN_BUFFER_OUTPUT && LOOM_STRIDE_IS_SYM(size) &&
                serial_is_late(s, LOOM_STRIDE_EXPR(size));
  if (late || output) { /* 1: allocated before its first use; 2: the host's own memory */
    int64_t storage = late ? 1 + loom_get_i64(loom_def(value), loom_mark_storage, -1) : 0;
    const void *key = (const void *)(uintptr_t)storage;
    int64_t known = storage ? loom_map_get(&s->late, key, -1) : -1;
    buffer.kind = LOOM_PLAN_BUFFER_LATE;
    buffer.index = known < 0 ? s->late_count++ : (uint32_t)known;
    buffer.offset = 0;
    buffer.overwrites = 0;
    if (storage && known < 0 && !loom_map_put(&s->late, key, buffer.index))
      return loom_fail(s->err, "out of memory");
    if (known < 0 && late != 2 && !loom_map_put(&s->waiting, value.ptr, output ? 1 + index : 0))
      return loom_fail(s->err, "out of memory");
  }
  if (loom_def(value).ptr && loom_get_attr(loom_def(value), loom_mark_kept).ptr) {
    const void *key =
        (const void *)(uintptr_t)(1 + loom_get_i64(loom_def(value), loom_mark_kept, 0));
    int64_t known = loom_map_get(&s->kept, key, -1);
    buffer.kind = LOOM_PLAN_BUFFER_KEPT;
    buffer.index = known < 0 ? s->kept_count++ : (uint32_t)known;
    if (known < 0 && !loom_map_put(&s->kept, key, buffer.index))
      return loom_fail(s->err, "out of memory");
  }
  serial_put(&s->buffer_table, &buffer, sizeof buffer);
  serial_extent(s, value);
  return loom_map_put(&s->buffers, value.ptr, s->buffer_count++) ||
         loom_fail(s->err, "out of memory");
}
