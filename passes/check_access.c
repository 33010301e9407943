/* loom-check, one access: where its pointer comes from, the bounds as values, and the comparison.
 */
#include <mlir-c/Dialect/Arith.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/Dialect/SCF.h>
#include <mlir-c/Dialect/Vector.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/check.h"
#include "passes/gpu.h"

/* ---- what accesses memory ---- */

static const check_kind check_kinds[] = {
    {"llvm.load", "load", 0, -1, -1, false, 0},
    {"llvm.store", "store", 1, -1, 0, true, 0},
    {"llvm.intr.masked.load", "load", 0, 1, -1, false, 0},
    {"llvm.intr.masked.store", "store", 1, 2, 0, true, 0},
    {"llvm.intr.masked.gather", "gather", 0, 1, -1, false, 0},
    {"llvm.intr.masked.scatter", "scatter", 1, 2, 0, true, 0},
    {"llvm.intr.prefetch", "prefetch", 0, -1, -2, false, 0},
    {"loom_gpu_ldmatrix", "load", 0, -1, -1, false, 16},
    {"loom_gpu_ldmatrix_turned", "load", 0, -1, -1, false, 16},
    {"loom_gpu_copy4", "load", 1, -1, -1, false, 4},
    {"loom_gpu_copy4", "store", 0, -1, -1, true, 4},
    {"loom_gpu_copy8", "load", 1, -1, -1, false, 8},
    {"loom_gpu_copy8", "store", 0, -1, -1, true, 8},
    {"loom_gpu_copy16", "load", 1, -1, -1, false, 16},
    {"loom_gpu_copy16", "store", 0, -1, -1, true, 16},
};
enum { CHECK_KINDS = sizeof check_kinds / sizeof *check_kinds };

const check_kind *check_kind_of(MlirOperation op, const check_kind *after) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  if (loom_is_named(op, "func.call"))
    name = mlirFlatSymbolRefAttrGetValue(loom_get_attr(op, "callee"));
  for (int i = after ? (int)(after - check_kinds) + 1 : 0; i < CHECK_KINDS; i++)
    if (loom_str_is(name, check_kinds[i].name)) return &check_kinds[i];
  return NULL;
}

bool check_is_pointer(MlirValue value) {
  return mlirTypeIsALLVMPointerType(lane_element(mlirValueGetType(value)));
}

/* Bytes in memory; 0 for a type that no kernel loads. */
int64_t check_bytes(MlirType type) {
  MlirType element = lane_element(type);
  int64_t bytes = 0;
  if (mlirTypeIsAInteger(element)) {
    unsigned width = mlirIntegerTypeGetWidth(element);
    bytes = width % 8 ? 0 : width / 8;
  } else if (mlirTypeIsAF16(element) || mlirTypeIsABF16(element)) {
    bytes = 2;
  } else if (mlirTypeIsAF32(element)) {
    bytes = 4;
  } else if (mlirTypeIsAF64(element)) {
    bytes = 8;
  }
  return bytes * lane_width(type);
}

static MlirType check_type(MlirOperation op, const check_kind *kind) {
  if (kind->value == -2) return mlirIntegerTypeGet(mlirOperationGetContext(op), 8);
  return mlirValueGetType(kind->value < 0 ? loom_result(op, 0) : loom_operand(op, kind->value));
}

bool check_constant(MlirValue value, int64_t *out) {
  MlirOperation op = loom_def(value);
  if (!op.ptr || !(loom_is_named(op, "arith.constant") || loom_is_named(op, "llvm.mlir.constant")))
    return false;
  MlirAttribute attr = loom_get_attr(op, "value");
  if (!mlirAttributeIsAInteger(attr)) return false;
  *out = mlirIntegerAttrGetValueInt(attr);
  return true;
}

/* ---- where a pointer comes from ---- */

check_base *check_add_base(check_function *f, MlirValue root, MlirOperation anchor, int64_t number,
                           int64_t known) {
  if (!loom_grow(&f->bases, (size_t)f->base_count, &f->base_capacity, sizeof *f->bases))
    return NULL;
  check_base *base = malloc(sizeof *base);
  if (!base) return NULL;
  *base = (check_base){.root = root, .anchor = anchor, .number = number, .known = known};
  return f->bases[f->base_count++] = base;
}

check_base *check_root(check_function *f, MlirValue value) {
  for (int i = 0; i < f->base_count; i++)
    if (mlirValueEqual(f->bases[i]->root, value)) return f->bases[i];
  return NULL;
}

/* What a loop's or branch's value is before it: an argument of the body is what the loop begins
 * with (what it goes on with is looked at where the loop is). Null: something else. */
static MlirValue check_through(MlirValue value) {
  MlirValue none = {NULL};
  if (mlirValueIsABlockArgument(value)) {
    MlirOperation loop = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
    intptr_t number = mlirBlockArgumentGetArgNumber(value);
    return loom_is_named(loop, "scf.for") && number > 0 ? loom_operand(loop, 2 + number) : none;
  }
  MlirOperation op = loom_def(value);
  intptr_t number = mlirOpResultGetResultNumber(value);
  if (loom_is_named(op, "scf.for")) return loom_operand(op, 3 + number);
  if (loom_is_named(op, "llvm.getelementptr")) return loom_operand(op, 0);
  return none;
}

/* One of two values: both are of the same buffer. */
static check_base *check_either(check_function *f, MlirValue a, MlirValue b) {
  check_base *base = check_trace(f, a);
  return base && base == check_trace(f, b) ? base : NULL;
}

check_base *check_trace(check_function *f, MlirValue value) {
  for (;;) {
    check_base *base = check_root(f, value);
    if (base) return base;
    MlirValue before = check_through(value);
    if (!before.ptr) break;
    value = before;
  }
  MlirOperation op = loom_def(value);
  if (!op.ptr) return NULL;
  if (loom_is_named(op, "arith.select") || loom_is_named(op, "llvm.select"))
    return check_either(f, loom_operand(op, 1), loom_operand(op, 2));
  if (!loom_is_named(op, "scf.if")) return NULL;
  intptr_t number = mlirOpResultGetResultNumber(value);
  MlirValue ends[2];
  for (int i = 0; i < 2; i++)
    ends[i] = loom_operand(mlirBlockGetTerminator(check_body(op, i)), number);
  return check_either(f, ends[0], ends[1]);
}

/* Does it load a pointer out of the array of buffers? Which one. */
bool check_is_entry(check_function *f, MlirOperation load, int64_t *number) {
  MlirValue pointer = loom_operand(load, 0);
  if (!f->table.ptr) return false;
  *number = 0;
  if (mlirValueEqual(pointer, f->table)) return true;
  MlirOperation step = loom_def(pointer);
  if (!step.ptr || !loom_is_named(step, "llvm.getelementptr") ||
      !mlirValueEqual(loom_operand(step, 0), f->table))
    return false;
  MlirAttribute raw = loom_get_attr(step, "rawConstantIndices");
  MlirAttribute element = loom_get_attr(step, "elem_type");
  if (mlirDenseArrayGetNumElements(raw) != 1 || !mlirAttributeIsAType(element)) return false;
  MlirType type = mlirTypeAttrGetValue(element);
  if (!mlirTypeIsALLVMPointerType(type) && check_bytes(type) != 8) return false;
  *number = mlirDenseI32ArrayGetElement(raw, 0);
  if (mlirOperationGetNumOperands(step) == 2) return check_constant(loom_operand(step, 1), number);
  return true;
}

/* ---- the bounds, as values ---- */

static MlirType check_i64(const check_function *f) { return mlirIntegerTypeGet(f->m->ctx, 64); }

MlirValue check_int(check_function *f, loom_builder *b, int64_t value) {
  return loom_build_int(b, check_i64(f), value);
}

static MlirValue check_word(check_function *f, loom_builder *b, int64_t word) {
  MlirValue at = lane_address(b, f->frame, check_int(f, b, word), LOOM_I64);
  return lane_load(b, at, LOOM_I64, 1, (MlirValue){NULL});
}

static int64_t check_bounds_word(int64_t number) {
  if (number == LOOM_CHECK_PARAMS) return CHECK_FRAME_WORD(params);
  if (number == LOOM_CHECK_SCRATCH) return CHECK_FRAME_WORD(scratch);
  return CHECK_FRAME_WORD(buffers) + 2 * number;
}

static void check_open_base(check_function *f, check_base *base) {
  if (base->start.ptr) return;
  loom_builder b = loom_builder_before(base->anchor);
  base->start = loom_build1(&b, "llvm.ptrtoint", base->root, check_i64(f));
  if (base->number <= LOOM_CHECK_STACK) {
    base->size = check_int(f, &b, base->known);
    return;
  }
  int64_t word = check_bounds_word(base->number);
  base->start = lane_op2(&b, "arith.addi", base->start, check_word(f, &b, word));
  base->size = check_word(f, &b, word + 1);
}

/* The offset before which an access of so many bytes has to begin. */
static MlirValue check_limit(check_function *f, check_base *base, int64_t bytes) {
  check_open_base(f, base);
  for (int i = 0; i < base->limit_count; i++)
    if (base->bytes[i] == bytes) return base->limits[i];
  loom_builder b = loom_builder_before(base->anchor);
  MlirValue fits = lane_cmpi(&b, "uge", base->size, check_int(f, &b, bytes));
  MlirValue room = lane_op2(&b, "arith.subi", base->size, check_int(f, &b, bytes - 1));
  MlirValue limit = lane_select(&b, fits, room, check_int(f, &b, 0));
  if (base->limit_count < CHECK_LIMITS) {
    base->bytes[base->limit_count] = bytes;
    base->limits[base->limit_count++] = limit;
  }
  return limit;
}

/* ---- the sites ---- */

static void check_place(MlirLocation loc, char *out, size_t size) {
  if (mlirLocationIsAName(loc)) loc = mlirLocationNameGetChildLoc(loc);
  *out = 0;
  if (!mlirLocationIsAFileLineColRange(loc)) return;
  MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(loc));
  snprintf(out, size, ", %.*s:%d:%d", (int)file.length, file.data,
           mlirLocationFileLineColRangeGetStartLine(loc),
           mlirLocationFileLineColRangeGetStartColumn(loc));
}

static bool check_grow(check_module *m) {
  if (m->count < m->capacity) return true;
  intptr_t capacity = m->capacity ? 2 * m->capacity : 64;
  MlirAttribute *texts = realloc(m->texts, sizeof *texts * (size_t)capacity);
  if (texts) m->texts = texts;
  int64_t *numbers = realloc(m->numbers, sizeof *numbers * (size_t)capacity);
  if (numbers) m->numbers = numbers;
  int64_t *bytes = realloc(m->bytes, sizeof *bytes * (size_t)capacity);
  if (bytes) m->bytes = bytes;
  if (!texts || !numbers || !bytes) return false;
  m->capacity = capacity;
  return true;
}

/* The number of a new site; -1 after a diagnostic. */
static int64_t check_site(check_function *f, MlirOperation op, const check_kind *kind,
                          const check_base *base, int64_t bytes) {
  char text[768], place[512];
  MlirLocation loc = mlirOperationGetLocation(op);
  if (!check_grow(f->m)) return loom_emit_error(loc, "out of memory"), -1;
  check_place(loc, place, sizeof place);
  MlirStringRef by = {"", 0};
  if (mlirLocationIsAName(loc)) by = mlirIdentifierStr(mlirLocationNameGetName(loc));
  snprintf(text, sizeof text, "%s of %lld bytes in kernel %.*s%s%.*s%s", kind->what,
           (long long)bytes, (int)f->kernel.length, f->kernel.data, by.length ? ", " : "",
           (int)by.length, by.data, place);
  f->m->texts[f->m->count] = loom_attr_str(f->m->ctx, text);
  f->m->numbers[f->m->count] = base->number;
  f->m->bytes[f->m->count] = bytes;
  return f->m->count++;
}

/* ---- one access ---- */

/* The lowest address of the lanes that are bad. */
static MlirValue check_lowest(check_function *f, loom_builder *b, MlirValue bad,
                              MlirValue address) {
  MlirType type = mlirValueGetType(address);
  if (!mlirTypeIsAVector(type)) return address;
  MlirValue lowest = lane_select(b, bad, address, lane_const_int(b, type, -1));
  return loom_build1(b, "llvm.intr.vector.reduce.umin", lowest, check_i64(f));
}

/* if (bad, in any lane) the first to come writes down where; all others write next to it. */
static void check_report(check_function *f, loom_builder *b, MlirValue bad, MlirValue address,
                         int64_t site) {
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  loom_builder in = loom_builder_at_end(block, b->loc);
  MlirType i64 = check_i64(f);
  MlirValue any = lane_any(b, bad);
  address = check_lowest(f, &in, bad, address);
  MlirValue operands[] = {f->frame, check_int(f, &in, 1)};
  loom_named attrs[] = {
      {"bin_op", mlirIntegerAttrGet(i64, 0)},   /* xchg */
      {"ordering", mlirIntegerAttrGet(i64, 7)}, /* seq_cst */
  };
  MlirValue before =
      loom_result(loom_build(&in, "llvm.atomicrmw", 2, operands, 1, &i64, 2, attrs), 0);
  MlirValue first = lane_cmpi(&in, "eq", before, check_int(f, &in, 0));
  MlirValue word = lane_select(&in, first, check_int(f, &in, CHECK_FRAME_WORD(site)),
                               check_int(f, &in, CHECK_FRAME_WORD(ignored)));
  MlirValue at = lane_address(&in, f->frame, word, LOOM_I64), none = {NULL};
  lane_store(&in, check_int(f, &in, site), at, LOOM_I64, none);
  at = lane_address(&in, at, check_int(f, &in, 1), LOOM_I64);
  lane_store(&in, address, at, LOOM_I64, none);
  loom_build(&in, "scf.yield", 0, NULL, 0, NULL, 0, NULL);
  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  mlirRegionAppendOwnedBlock(regions[0], block);
  loom_build_regions(b, "scf.if", 1, &any, 0, NULL, 0, NULL, 2, regions);
}

/* Tells the simulator: of no byte where the access goes to spare memory (bad: null for never). */
static void check_tell(check_function *f, MlirOperation op, const check_kind *kind, MlirValue bad,
                       int64_t bytes, int64_t site) {
  if (!f->m->simulated) return;
  loom_builder b = loom_builder_before(op);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  MlirType types[] = {mlirTypeParseGet(b.ctx, loom_str("!llvm.ptr")), i32, i32};
  MlirValue size = loom_build_int(&b, i32, bytes);
  if (bad.ptr) size = lane_select(&b, bad, loom_build_int(&b, i32, 0), size);
  MlirValue operands[] = {loom_operand(op, kind->pointer), size,
                          loom_build_int(&b, i32, 2 * site + kind->writes)};
  gpu_call(&b, f->m->op, "loom_gpu_access", 3, types, operands, (MlirType){NULL});
}

/* One address, all of its bytes. */
static void check_whole(check_function *f, MlirOperation op, const check_kind *kind,
                        check_base *base, int64_t bytes, int64_t site) {
  MlirValue limit = check_limit(f, base, bytes), pointer = loom_operand(op, kind->pointer);
  loom_builder b = loom_builder_before(op);
  MlirValue address = loom_build1(&b, "llvm.ptrtoint", pointer, check_i64(f));
  MlirValue offset = lane_op2(&b, "arith.subi", address, base->start);
  MlirValue bad = lane_cmpi(&b, "uge", offset, limit);
  check_report(f, &b, bad, address, site);
  check_tell(f, op, kind, bad, bytes, site);
  mlirOperationSetOperand(op, kind->pointer, lane_select(&b, bad, f->spare, pointer));
}

/* A lane at a time: consecutive elements, or a vector of pointers. */
static void check_lanes(check_function *f, MlirOperation op, const check_kind *kind,
                        check_base *base, int64_t bytes, int64_t site) {
  MlirValue pointer = loom_operand(op, kind->pointer), mask = loom_operand(op, kind->mask);
  int width = lane_width(check_type(op, kind));
  MlirValue limit = check_limit(f, base, bytes);
  loom_builder b = loom_builder_before(op);
  MlirType lanes = lane_int(f->m->ctx, 64, width);
  MlirValue address;
  if (mlirTypeIsAVector(mlirValueGetType(pointer))) {
    address = loom_build1(&b, "llvm.ptrtoint", pointer, lanes);
  } else {
    address = loom_build1(&b, "llvm.ptrtoint", pointer, check_i64(f));
    MlirValue steps =
        lane_op2(&b, "arith.muli", lane_id(&b, lanes), lane_const_int(&b, lanes, bytes));
    address = lane_op2(&b, "arith.addi", lane_splat(&b, address, width), steps);
  }
  MlirValue offset = lane_op2(&b, "arith.subi", address, lane_splat(&b, base->start, width));
  MlirValue beyond = lane_cmpi(&b, "uge", offset, lane_splat(&b, limit, width));
  MlirValue bad = lane_op2(&b, "arith.andi", beyond, mask);
  check_report(f, &b, bad, address, site);
  MlirValue within =
      lane_op2(&b, "arith.xori", beyond, lane_const_int(&b, mlirValueGetType(beyond), -1));
  mlirOperationSetOperand(op, kind->mask, lane_op2(&b, "arith.andi", within, mask));
}

static bool check_one(check_function *f, MlirOperation op, const check_kind *kind) {
  MlirLocation loc = mlirOperationGetLocation(op);
  check_base *base = check_trace(f, loom_operand(op, kind->pointer));
  if (!base) return loom_emit_error(loc, "which buffer a %s accesses cannot be told", kind->what);
  int64_t bytes = kind->bytes;
  bool lanes = true;
  if (!bytes) {
    MlirType type = check_type(op, kind);
    bytes = check_bytes(kind->mask < 0 ? type : lane_element(type));
    lanes = mlirTypeIsAVector(type);
  }
  if (bytes <= 0 || bytes > LOOM_CHECK_SPARE || (kind->mask >= 0 && !lanes))
    return loom_emit_error(loc, "a %s of a type whose size is not known", kind->what);
  if (base->number <= LOOM_CHECK_STACK && base->number != LOOM_CHECK_SHARED && kind->mask < 0 &&
      bytes <= base->known && mlirValueEqual(loom_operand(op, kind->pointer), base->root))
    return true;
  if (!f->frame.ptr && base->number != LOOM_CHECK_SHARED)
    return loom_emit_error(loc, "a %s out of the launch's reach", kind->what);
  int64_t site = check_site(f, op, kind, base, bytes);
  if (site < 0) return false;
  if (base->number == LOOM_CHECK_SHARED)
    check_tell(f, op, kind, (MlirValue){NULL}, bytes, site);
  else if (kind->mask < 0)
    check_whole(f, op, kind, base, bytes, site);
  else
    check_lanes(f, op, kind, base, bytes, site);
  return true;
}

bool check_access(check_function *f, MlirOperation op) {
  for (const check_kind *kind = NULL; (kind = check_kind_of(op, kind));)
    if (!check_one(f, op, kind)) return false;
  return true;
}
