/* loom-check: every access of a kernel is compared with the bounds of its buffer.
 *
 * Before: the functions of loom-lower. After: the same functions, in which each load, store, gather
 * and scatter finds out whether all that it touches (of a masked one the lanes that are on) lies in
 * the buffer that its pointer comes from. What does not is written into the launch's frame
 * (graph/check.h), and nothing is touched: a masked access loses the lane, any other goes to spare
 * memory. Each access has a number; `loom.sites` of the module says what they are. A prefetch reads
 * nothing and cannot fail, but an address outside says that an offset is wrong: it counts as a load
 * of its first byte.
 *
 * A pointer is traced through address arithmetic, selects and what loops carry to a pointer of the
 * launch, to the parameters, the scratch memory or the stack. One that cannot be is an error, and
 * so is every op on pointers that is not known here: nothing stays unchecked.
 *
 * requires: loom-lower. keeps: all but accesses.
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

#include "graph/check.h"
#include "passes/lanes.h"
#include "passes/passes.h"

#define CHECK_OPERANDS 96 /* of a call */
#define CHECK_RESULTS 8
#define CHECK_LIMITS 12
#define CHECK_FRAME_WORD(FIELD) ((int64_t)(offsetof(loom_check_frame, FIELD) / sizeof(uint64_t)))

/* A pointer that others come from, and the bounds that hold for all of them. */
typedef struct check_base {
  MlirValue root;
  MlirOperation anchor;  /* `root` is known before it, and so is what follows of it */
  int64_t number;        /* of the buffer, or LOOM_CHECK_* */
  int64_t known;         /* bytes of what is on the stack, or of a table in the code */
  MlirValue start, size; /* i64; null until one asks */
  int64_t bytes[CHECK_LIMITS];
  MlirValue limits[CHECK_LIMITS]; /* an access of so many bytes begins before this offset */
  int limit_count;
} check_base;

typedef struct check_list {
  MlirOperation *ops;
  intptr_t count;
  uint32_t capacity;
} check_list;

typedef struct check_module {
  MlirOperation op;
  MlirContext ctx;
  MlirAttribute *texts;
  int64_t *numbers, *bytes;
  intptr_t count, capacity;
  check_list done; /* functions that have been seen */
} check_module;

typedef struct check_function {
  check_module *m;
  MlirOperation op;
  MlirStringRef kernel; /* the entry's name */
  MlirValue frame, spare;
  MlirValue table;    /* the array of buffers, of an entry */
  check_base **bases; /* one for each table, say, that an op of a long chain reads */
  int base_count;
  uint32_t base_capacity;
  MlirOperation first;        /* what the frame says is read before it */
  check_list accesses, calls; /* collected before any is changed */
} check_function;

static MlirBlock check_body(MlirOperation op, intptr_t region) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

/* ---- what accesses memory ---- */

static const struct check_kind {
  const char *name, *what;
  int pointer, mask, value; /* operands; value -1: the result, -2: a byte; mask -1: none */
} check_kinds[] = {
    {"llvm.load", "load", 0, -1, -1},
    {"llvm.store", "store", 1, -1, 0},
    {"llvm.intr.masked.load", "load", 0, 1, -1},
    {"llvm.intr.masked.store", "store", 1, 2, 0},
    {"llvm.intr.masked.gather", "gather", 0, 1, -1},
    {"llvm.intr.masked.scatter", "scatter", 1, 2, 0},
    {"llvm.intr.prefetch", "prefetch", 0, -1, -2},
};

static const struct check_kind *check_kind_of(MlirOperation op) {
  for (size_t i = 0; i < sizeof check_kinds / sizeof *check_kinds; i++)
    if (loom_is_named(op, check_kinds[i].name)) return &check_kinds[i];
  return NULL;
}

static bool check_is_pointer(MlirValue value) {
  return mlirTypeIsALLVMPointerType(lane_element(mlirValueGetType(value)));
}

/* Bytes in memory; 0 for a type that no kernel loads. */
static int64_t check_bytes(MlirType type) {
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

static MlirType check_type(MlirOperation op, const struct check_kind *kind) {
  if (kind->value == -2) return mlirIntegerTypeGet(mlirOperationGetContext(op), 8);
  return mlirValueGetType(kind->value < 0 ? loom_result(op, 0) : loom_operand(op, kind->value));
}

static bool check_constant(MlirValue value, int64_t *out) {
  MlirOperation op = loom_def(value);
  if (!op.ptr || !(loom_is_named(op, "arith.constant") || loom_is_named(op, "llvm.mlir.constant")))
    return false;
  MlirAttribute attr = loom_get_attr(op, "value");
  if (!mlirAttributeIsAInteger(attr)) return false;
  *out = mlirIntegerAttrGetValueInt(attr);
  return true;
}

/* ---- where a pointer comes from ---- */

static check_base *check_add_base(check_function *f, MlirValue root, MlirOperation anchor,
                                  int64_t number, int64_t known) {
  if (!loom_grow(&f->bases, (size_t)f->base_count, &f->base_capacity, sizeof *f->bases))
    return NULL;
  check_base *base = malloc(sizeof *base);
  if (!base) return NULL;
  *base = (check_base){.root = root, .anchor = anchor, .number = number, .known = known};
  return f->bases[f->base_count++] = base;
}

static check_base *check_root(check_function *f, MlirValue value) {
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

static check_base *check_trace(check_function *f, MlirValue value);

/* One of two values: both are of the same buffer. */
static check_base *check_either(check_function *f, MlirValue a, MlirValue b) {
  check_base *base = check_trace(f, a);
  return base && base == check_trace(f, b) ? base : NULL;
}

static check_base *check_trace(check_function *f, MlirValue value) {
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
static bool check_is_entry(check_function *f, MlirOperation load, int64_t *number) {
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

static MlirValue check_int(check_function *f, loom_builder *b, int64_t value) {
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
static int64_t check_site(check_function *f, MlirOperation op, const struct check_kind *kind,
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

/* One address, all of its bytes. */
static void check_whole(check_function *f, MlirOperation op, const struct check_kind *kind,
                        check_base *base, int64_t bytes, int64_t site) {
  MlirValue limit = check_limit(f, base, bytes), pointer = loom_operand(op, kind->pointer);
  loom_builder b = loom_builder_before(op);
  MlirValue address = loom_build1(&b, "llvm.ptrtoint", pointer, check_i64(f));
  MlirValue offset = lane_op2(&b, "arith.subi", address, base->start);
  MlirValue bad = lane_cmpi(&b, "uge", offset, limit);
  check_report(f, &b, bad, address, site);
  mlirOperationSetOperand(op, kind->pointer, lane_select(&b, bad, f->spare, pointer));
}

/* A lane at a time: consecutive elements, or a vector of pointers. */
static void check_lanes(check_function *f, MlirOperation op, const struct check_kind *kind,
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

static bool check_access(check_function *f, MlirOperation op) {
  const struct check_kind *kind = check_kind_of(op);
  MlirLocation loc = mlirOperationGetLocation(op);
  check_base *base = check_trace(f, loom_operand(op, kind->pointer));
  if (!base) return loom_emit_error(loc, "which buffer a %s accesses cannot be told", kind->what);
  MlirType type = check_type(op, kind);
  int64_t bytes = check_bytes(kind->mask < 0 ? type : lane_element(type));
  if (bytes <= 0 || bytes > LOOM_CHECK_SPARE || (kind->mask >= 0 && !mlirTypeIsAVector(type)))
    return loom_emit_error(loc, "a %s of a type whose size is not known", kind->what);
  if (base->number <= LOOM_CHECK_STACK && kind->mask < 0 && bytes <= base->known &&
      mlirValueEqual(loom_operand(op, kind->pointer), base->root))
    return true;
  if (!f->frame.ptr) return loom_emit_error(loc, "a %s out of the launch's reach", kind->what);
  int64_t site = check_site(f, op, kind, base, bytes);
  if (site < 0) return false;
  if (kind->mask < 0)
    check_whole(f, op, kind, base, bytes, site);
  else
    check_lanes(f, op, kind, base, bytes, site);
  return true;
}

/* ---- a function ---- */

static MlirOperation check_find(const check_module *m, const char *kind, MlirStringRef name) {
  MlirOperation op = mlirBlockGetFirstOperation(check_body(m->op, 0));
  while (op.ptr &&
         !(loom_is_named(op, kind) && mlirStringRefEqual(loom_get_str(op, "sym_name"), name)))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

static bool check_keep(check_list *list, MlirOperation op) {
  if (!loom_grow(&list->ops, (size_t)list->count, &list->capacity, sizeof *list->ops))
    return loom_emit_error(mlirOperationGetLocation(op), "out of memory");
  list->ops[list->count++] = op;
  return true;
}

static bool check_see_stack(check_function *f, MlirOperation op) {
  int64_t count, bytes = 0;
  MlirAttribute element = loom_get_attr(op, "elem_type");
  if (mlirAttributeIsAType(element)) bytes = check_bytes(mlirTypeAttrGetValue(element));
  if (!check_constant(loom_operand(op, 0), &count) || count < 0 || count > 1 << 20 || !bytes ||
      !check_add_base(f, loom_result(op, 0), mlirOperationGetNextInBlock(op), LOOM_CHECK_STACK,
                      count * bytes))
    return loom_emit_error(mlirOperationGetLocation(op), "the size of what is on the stack is not "
                                                         "known");
  return true;
}

/* Pointers that a loop carries stay in their buffer. */
static bool check_see_loop(check_function *f, MlirOperation op) {
  MlirOperation yield = mlirBlockGetTerminator(check_body(op, 0));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    if (!check_is_pointer(loom_result(op, i))) continue;
    check_base *before = check_trace(f, loom_operand(op, 3 + i));
    if (!before || before != check_trace(f, loom_operand(yield, i)))
      return loom_emit_error(mlirOperationGetLocation(op),
                             "a loop carries a pointer from one buffer to another");
  }
  return true;
}

/* A table in the code: as large as its value. */
static bool check_see_table(check_function *f, MlirOperation op) {
  MlirAttribute name = loom_get_attr(op, "global_name");
  MlirOperation table = check_find(f->m, "llvm.mlir.global", mlirFlatSymbolRefAttrGetValue(name));
  MlirAttribute value = table.ptr ? loom_get_attr(table, "value") : mlirAttributeGetNull();
  if (!value.ptr || !mlirAttributeIsADenseElements(value) ||
      !check_add_base(f, loom_result(op, 0), mlirOperationGetNextInBlock(op), LOOM_CHECK_CONSTANT,
                      mlirElementsAttrGetNumElements(value) *
                          check_bytes(mlirShapedTypeGetElementType(mlirAttributeGetType(value)))))
    return loom_emit_error(mlirOperationGetLocation(op), "a table whose size is not known");
  return true;
}

static bool check_see_load(check_function *f, MlirOperation op) {
  int64_t number;
  if (mlirValueEqual(loom_result(op, 0), f->frame)) return true;
  if (!check_is_pointer(loom_result(op, 0))) return check_keep(&f->accesses, op);
  if (!check_is_entry(f, op, &number) || number < 0 || number >= LOOM_CHECK_BUFFERS ||
      !check_add_base(f, loom_result(op, 0), mlirOperationGetNextInBlock(op), number, 0))
    return loom_emit_error(mlirOperationGetLocation(op), "a pointer comes from memory that is not "
                                                         "the array of buffers");
  return true;
}

static bool check_region(check_function *f, MlirOperation op);

/* Every op on pointers is one that is known here. */
static bool check_see(MlirOperation op, void *user) {
  check_function *f = user;
  static const char *const harmless[] = {"llvm.getelementptr", "arith.select", "llvm.select",
                                         "scf.yield",          "scf.if",       "func.return"};
  const struct check_kind *kind = check_kind_of(op);
  if (kind && kind->value >= 0 && check_is_pointer(loom_operand(op, kind->value)))
    return loom_emit_error(mlirOperationGetLocation(op), "a pointer is stored");
  if (loom_is_named(op, "llvm.load")) return check_see_load(f, op);
  if (kind) return check_keep(&f->accesses, op);
  if (loom_is_named(op, "llvm.alloca")) return check_see_stack(f, op);
  if (loom_is_named(op, "llvm.mlir.addressof")) return check_see_table(f, op);
  if (loom_is_named(op, "func.call")) return check_keep(&f->calls, op);
  if (!check_region(f, op)) return false;
  if (loom_is_named(op, "scf.for")) return check_see_loop(f, op);
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (loom_is_named(op, harmless[i])) return true;
  bool pointers = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    pointers |= check_is_pointer(loom_operand(op, i)) ||
                mlirTypeIsAMemRef(mlirValueGetType(loom_operand(op, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    pointers |= check_is_pointer(loom_result(op, i));
  if (!pointers) return true;
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_emit_error(mlirOperationGetLocation(op), "'%.*s' on pointers cannot be checked",
                         (int)name.length, name.data);
}

static bool check_region(check_function *f, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
    for (; block.ptr; block = mlirBlockGetNextInRegion(block))
      if (!loom_walk_block(block, check_see, f)) return false;
  }
  return true;
}

/* ---- calls ---- */

static bool check_is_done(const check_module *m, MlirOperation function) {
  for (intptr_t i = 0; i < m->done.count; i++)
    if (mlirOperationEqual(m->done.ops[i], function)) return true;
  return false;
}

/* A private function gets the frame behind its other arguments. */
static bool check_add_frame(check_function *f) {
  MlirBlock block = check_body(f->op, 0);
  intptr_t count = mlirBlockGetNumArguments(block);
  MlirType *types = malloc(sizeof *types * (size_t)(count + 1));
  MlirAttribute *attrs = malloc(sizeof *attrs * (size_t)(count + 1));
  bool good = types && attrs;
  if (good) {
    MlirAttribute old = loom_get_attr(f->op, "arg_attrs");
    for (intptr_t i = 0; i < count; i++) {
      types[i] = mlirValueGetType(mlirBlockGetArgument(block, i));
      attrs[i] =
          old.ptr ? mlirArrayAttrGetElement(old, i) : mlirDictionaryAttrGet(f->m->ctx, 0, NULL);
    }
    types[count] = mlirTypeParseGet(f->m->ctx, loom_str("!llvm.ptr"));
    attrs[count] = mlirDictionaryAttrGet(f->m->ctx, 0, NULL);
    f->frame = mlirBlockAddArgument(block, types[count], mlirOperationGetLocation(f->op));
    MlirType before = mlirTypeAttrGetValue(loom_get_attr(f->op, "function_type"));
    MlirType results[CHECK_RESULTS];
    intptr_t result_count = mlirFunctionTypeGetNumResults(before);
    for (intptr_t i = 0; i < result_count && i < CHECK_RESULTS; i++)
      results[i] = mlirFunctionTypeGetResult(before, i);
    MlirType type = mlirFunctionTypeGet(f->m->ctx, count + 1, types, result_count, results);
    loom_set_attr(f->op, "function_type", mlirTypeAttrGet(type));
    loom_set_attr(f->op, "arg_attrs", mlirArrayAttrGet(f->m->ctx, count + 1, attrs));
  }
  free(types);
  free(attrs);
  return good || loom_emit_error(mlirOperationGetLocation(f->op), "out of memory");
}

static bool check_function_run(check_function *f);

static void check_free(check_function *f) {
  if (f) {
    for (int i = 0; i < f->base_count; i++)
      free(f->bases[i]);
    free(f->bases);
    free(f->accesses.ops);
    free(f->calls.ops);
  }
  free(f);
}

static void check_pass_frame(check_function *f, MlirOperation call) {
  MlirValue operands[CHECK_OPERANDS];
  intptr_t count = mlirOperationGetNumOperands(call);
  for (intptr_t i = 0; i < count; i++)
    operands[i] = loom_operand(call, i);
  operands[count] = f->frame;
  mlirOperationSetOperands(call, count + 1, operands);
}

/* The pointers that a function gets are pointers of the launch; their bounds hold in there. */
static bool check_pass_bases(check_function *f, MlirOperation call, check_function *callee) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(call); i++) {
    if (!check_is_pointer(loom_operand(call, i))) continue;
    const check_base *base = check_root(f, loom_operand(call, i));
    if (!base || base->number <= LOOM_CHECK_STACK)
      return loom_emit_error(mlirOperationGetLocation(call),
                             "a kernel passes a pointer that is not of its launch");
    check_add_base(callee, mlirBlockGetArgument(check_body(callee->op, 0), i), callee->first,
                   base->number, 0);
  }
  return true;
}

typedef struct check_table_walk {
  check_module *m;
  bool found;
} check_table_walk;

/* Does it read a table, or does a function that it calls? */
static bool check_sees_table(MlirOperation op, void *user) {
  check_table_walk *w = user;
  w->found |= loom_is_named(op, "llvm.mlir.addressof");
  if (loom_is_named(op, "func.call")) {
    MlirAttribute callee = loom_get_attr(op, "callee");
    MlirOperation called = check_find(w->m, "func.func", mlirFlatSymbolRefAttrGetValue(callee));
    if (called.ptr) check_sees_table(called, w);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
    for (; block.ptr; block = mlirBlockGetNextInRegion(block))
      loom_walk_block(block, check_sees_table, w);
  }
  return true;
}

/* A function without pointers may be called from anywhere, any other from one place. */
static bool check_call(check_function *f, MlirOperation call) {
  MlirLocation loc = mlirOperationGetLocation(call);
  check_function *callee = calloc(1, sizeof *callee);
  if (!callee) return loom_emit_error(loc, "out of memory");
  callee->m = f->m;
  callee->kernel = f->kernel;
  callee->op =
      check_find(f->m, "func.func", mlirFlatSymbolRefAttrGetValue(loom_get_attr(call, "callee")));
  bool pointers = false, good = callee->op.ptr && check_body(callee->op, 0).ptr &&
                                mlirOperationGetNumOperands(call) + 1 < CHECK_OPERANDS &&
                                mlirOperationGetNumResults(call) <= CHECK_RESULTS;
  if (!good) loom_emit_error(loc, "a kernel calls what is no function of the module");
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(call); i++)
    pointers |= check_is_pointer(loom_operand(call, i));
  bool done = good && check_is_done(f->m, callee->op);
  check_table_walk tables = {.m = f->m};
  if (good) check_sees_table(callee->op, &tables);
  bool framed = pointers || tables.found;
  if (done && pointers)
    good = loom_emit_error(loc, "a function of a kernel is called from more than one place");
  if (good && !done) {
    callee->first = mlirBlockGetFirstOperation(check_body(callee->op, 0));
    good = check_keep(&f->m->done, callee->op) && (!framed || check_add_frame(callee)) &&
           check_pass_bases(f, call, callee) && check_function_run(callee);
  }
  if (good && framed) check_pass_frame(f, call);
  check_free(callee);
  return good;
}

static bool check_function_run(check_function *f) {
  if (!check_region(f, f->op)) return false;
  if (f->accesses.count && f->frame.ptr) {
    loom_builder b = loom_builder_before(f->first);
    MlirValue at = lane_address(&b, f->frame, check_int(f, &b, CHECK_FRAME_WORD(spare)), LOOM_I64);
    f->spare = loom_build1(&b, "llvm.load", at, mlirValueGetType(f->frame));
  }
  for (intptr_t i = 0; i < f->accesses.count; i++)
    if (!check_access(f, f->accesses.ops[i])) return false;
  for (intptr_t i = 0; i < f->calls.count; i++)
    if (!check_call(f, f->calls.ops[i])) return false;
  return true;
}

/* The entry point of a stage: (buffers, params, scratch, begin, end) -> status. */
static bool check_entry(check_module *m, MlirOperation op) {
  MlirBlock block = check_body(op, 0);
  bool kernel = mlirBlockGetNumArguments(block) == 5;
  for (int i = 0; i < 3 && kernel; i++)
    kernel = check_is_pointer(mlirBlockGetArgument(block, i));
  if (!kernel)
    return loom_emit_error(mlirOperationGetLocation(op), "a public function that is no kernel");
  check_function *f = calloc(1, sizeof *f);
  if (!f) return loom_emit_error(mlirOperationGetLocation(op), "out of memory");
  f->m = m;
  f->op = op;
  f->kernel = loom_get_str(op, "sym_name");
  f->first = mlirBlockGetFirstOperation(block);
  loom_builder b = loom_builder_before(f->first);
  MlirValue buffers = mlirBlockGetArgument(block, 0);
  f->table = buffers;
  MlirValue at = lane_address(&b, buffers, check_int(f, &b, -1), LOOM_I64);
  f->frame = loom_build1(&b, "llvm.load", at, mlirValueGetType(buffers));
  check_add_base(f, mlirBlockGetArgument(block, 1), f->first, LOOM_CHECK_PARAMS, 0);
  check_add_base(f, mlirBlockGetArgument(block, 2), f->first, LOOM_CHECK_SCRATCH, 0);
  bool good = check_keep(&m->done, op) && check_function_run(f);
  check_free(f);
  return good;
}

/* ---- the pass ---- */

static bool check_functions(check_module *m) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(m->op, 0));
  MlirOperation op;
  for (op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && !loom_get_attr(op, "sym_visibility").ptr &&
        !check_entry(m, op))
      return false;
  for (op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && !check_is_done(m, op))
      return loom_emit_error(mlirOperationGetLocation(op), "no kernel calls this function");
  return true;
}

static bool check_run(MlirOperation root) {
  if (!mlirRegionGetFirstBlock(mlirOperationGetRegion(root, 0)).ptr) return true;
  if (loom_is_for_gpu(root))
    return loom_emit_error(mlirOperationGetLocation(root), "kernels for a GPU cannot be checked");
  check_module m = {.op = root, .ctx = mlirOperationGetContext(root)};
  bool good = check_functions(&m);
  if (good) {
    loom_set_attr(root, loom_mark_sites, mlirArrayAttrGet(m.ctx, m.count, m.texts));
    loom_set_attr(root, loom_mark_site_buffers, loom_attr_i64s(m.ctx, m.count, m.numbers));
    loom_set_attr(root, loom_mark_site_bytes, loom_attr_i64s(m.ctx, m.count, m.bytes));
  }
  free(m.texts);
  free(m.numbers);
  free(m.bytes);
  free(m.done.ops);
  return good;
}

MlirPass loom_make_check_pass(void) {
  MlirDialectHandle dialects[] = {mlirGetDialectHandle__arith__(), mlirGetDialectHandle__func__(),
                                  mlirGetDialectHandle__llvm__(), mlirGetDialectHandle__scf__(),
                                  mlirGetDialectHandle__vector__()};
  return loom_pass_create_with("loom-check", "loom-check",
                               "Compare every access of a kernel with the bounds of its buffer",
                               "builtin.module", check_run, 5, dialects);
}
