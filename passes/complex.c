/* loom-complex: complex arithmetic becomes arithmetic of real and imaginary parts.
 *
 *   %0 = loom.mul %a, %b : tensor<4xcomplex<f32>>
 * becomes
 *   %1 = loom.real %a, %2 = loom.imag %a, %3 = loom.real %b, %4 = loom.imag %b
 *   %5 = loom.mul %2, %4   %6 = loom.neg %5   %7 = loom.mul_add %1, %3, %6
 *   (and the imaginary part)
 *   %0 = loom.complex %7, %8
 *
 * What is left of complex numbers is how they lie in memory: loom.real and loom.imag of a
 * function's arguments (and of what a library made), loom.complex of its results.
 *
 * The column `parts` of loom.td says what becomes of an op: the same op on each part, a predicate
 * that holds for any part or for all, or a formula. Formulas of pointwise ops are the column `pair`
 * (complex_rules.c).
 *
 * Where only one part of a result is read, the other is computed beside it (loom.beside) if its
 * flags count.
 *
 * requires: nothing. keeps: values; flags up to spurious ones of a division by zero. breaks:
 * nothing. Ops without parts (sorting, functions, products of all elements) are diagnosed.
 */
#include <string.h>

#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/complex.h"
#include "passes/passes.h"

typedef struct parts {
  MlirValue whole, part[2]; /* real, imaginary */
} parts;

typedef struct complex_old {
  struct complex_old *next;
  MlirOperation op;
} complex_old;

typedef struct complex_job {
  loom_arena arena;
  parts *table; /* open addressing by the whole */
  size_t count, capacity;
  complex_old *old; /* replaced, the last one first */
  bool failed;
} complex_job;

/* ---- what is known of each complex value ---- */

static size_t complex_slot(const complex_job *job, MlirValue value) {
  size_t i = ((uintptr_t)value.ptr >> 4) * 0x9e3779b97f4a7c15u % job->capacity;
  while (job->table[i].whole.ptr && !mlirValueEqual(job->table[i].whole, value))
    i = (i + 1) % job->capacity;
  return i;
}

static void complex_note(complex_job *job, MlirValue whole, MlirValue re, MlirValue im) {
  if (2 * job->count >= job->capacity) {
    parts *old = job->table;
    size_t n = job->capacity;
    parts *grown = loom_arena_alloc(&job->arena, sizeof *grown * (n ? 2 * n : 64));
    if (!grown) {
      job->failed = true;
      return;
    }
    job->table = grown;
    job->capacity = n ? 2 * n : 64;
    for (size_t i = 0; i < n; i++)
      if (old[i].whole.ptr) job->table[complex_slot(job, old[i].whole)] = old[i];
  }
  size_t slot = complex_slot(job, whole);
  job->count += !job->table[slot].whole.ptr;
  job->table[slot] = (parts){whole, {re, im}};
}

static bool complex_is(MlirValue value, loom_type *out) {
  return loom_type_from_mlir(mlirValueGetType(value), out) && loom_dtype_is_complex(out->dtype);
}

static MlirType complex_part_type(MlirType type) {
  return complex_retype(type, mlirComplexTypeGetElementType(mlirShapedTypeGetElementType(type)));
}

static MlirValue complex_part(complex_job *job, loom_builder *b, MlirValue value, int part) {
  loom_type type;
  if (!complex_is(value, &type)) return value;
  if (job->capacity) {
    size_t slot = complex_slot(job, value);
    if (job->table[slot].whole.ptr) return job->table[slot].part[part];
  }
  MlirType element = complex_part_type(mlirValueGetType(value));
  MlirValue re = loom_build_op1(b, LOOM_OP_REAL, value, element);
  MlirValue im = loom_build_op1(b, LOOM_OP_IMAG, value, element);
  complex_note(job, value, re, im);
  return part ? im : re;
}

/* ---- ops ---- */

/* The op on one part of each complex operand (or on operand `other` of part `second`). */
static MlirValue complex_again(complex_job *job, loom_builder *b, MlirOperation op, int first,
                               int second) {
  loom_named attrs[16];
  intptr_t count = mlirOperationGetNumOperands(op), named = mlirOperationGetNumAttributes(op);
  MlirValue *operands = loom_arena_alloc(&job->arena, sizeof *operands * (size_t)(count + 1));
  if (!operands || named > 16) return (MlirValue){NULL};
  for (intptr_t i = 0; i < count; i++)
    operands[i] = complex_part(job, b, loom_operand(op, i), i ? second : first);
  for (intptr_t i = 0; i < named; i++) {
    MlirNamedAttribute attr = mlirOperationGetAttribute(op, i);
    char *key = loom_arena_alloc(&job->arena, mlirIdentifierStr(attr.name).length + 1);
    if (!key) return (MlirValue){NULL};
    memcpy(key, mlirIdentifierStr(attr.name).data, mlirIdentifierStr(attr.name).length);
    attrs[i] = (loom_named){key, attr.attribute};
  }
  loom_type complex;
  MlirType type = mlirValueGetType(loom_result(op, 0));
  if (complex_is(loom_result(op, 0), &complex)) type = complex_part_type(type);
  return loom_result(loom_build_op(b, loom_op_of(op), count, operands, 1, &type, named, attrs), 0);
}

/* Does the op act on each part alone? */
static bool complex_by_parts(MlirOperation op, loom_opcode code) {
  const loom_op_info *info = &loom_op_table[code];
  for (int i = 0; i < LOOM_MAX_ATTRS && info->attrs[i].name; i++) {
    if (info->attrs[i].kind != LOOM_ATTR_STR) continue;
    MlirStringRef word = loom_get_str(op, info->attrs[i].name);
    if (!loom_parts_take(info->attrs[i].name, word.data, word.length)) return false;
  }
  return info->parts == LOOM_PARTS_EACH;
}

static bool complex_from_constant(loom_builder *b, MlirOperation op, MlirValue *out) {
  loom_type type;
  loom_attr scalar;
  if (!complex_is(loom_result(op, 0), &type) ||
      !loom_scalar_from_mlir(loom_get_attr(op, "value"), type.dtype, &scalar))
    return false;
  loom_cell cell = loom_cell_from_attr(type.dtype, &scalar);
  MlirType part = complex_part_type(mlirValueGetType(loom_result(op, 0)));
  out[0] = complex_constant(b, part, cell.re);
  out[1] = complex_constant(b, part, cell.im);
  return true;
}

/* x of any type as complex of the result's. */
static bool complex_convert(complex_job *job, loom_builder *b, MlirOperation op, MlirValue *out) {
  loom_type from;
  MlirValue x = loom_operand(op, 0);
  MlirType part = complex_part_type(mlirValueGetType(loom_result(op, 0)));
  bool complex = complex_is(x, &from);
  for (int i = 0; i < 1 + complex; i++) {
    out[i] = complex_part(job, b, x, i);
    if (!mlirTypeEqual(mlirValueGetType(out[i]), part))
      out[i] = loom_build_op1(b, LOOM_OP_CONVERT, out[i], part);
  }
  if (!complex) out[1] = complex_constant(b, part, 0);
  return true;
}

static bool complex_product(complex_job *job, loom_builder *b, MlirOperation op, MlirValue *out) {
  MlirValue rr = complex_again(job, b, op, 0, 0), ii = complex_again(job, b, op, 1, 1);
  MlirValue ri = complex_again(job, b, op, 0, 1), ir = complex_again(job, b, op, 1, 0);
  out[0] = loom_build_op2(b, LOOM_OP_SUB, rr, ii, mlirValueGetType(rr));
  out[1] = loom_build_op2(b, LOOM_OP_ADD, ri, ir, mlirValueGetType(ri));
  return true;
}

/* The parts of a pointwise op by the formula of its row. */
static bool complex_formula(complex_job *job, loom_builder *b, MlirOperation op, loom_opcode code,
                            MlirValue *out) {
  complex_pair of[2] = {{{NULL}, {NULL}}, {{NULL}, {NULL}}};
  for (intptr_t i = 0; i < 2 && i < mlirOperationGetNumOperands(op); i++) {
    of[i].re = complex_part(job, b, loom_operand(op, i), 0);
    of[i].im = complex_part(job, b, loom_operand(op, i), 1);
  }
  complex_pair pair = complex_by_formula(b, code, of[0], of[1]);
  out[0] = pair.re;
  out[1] = pair.im;
  return pair.re.ptr && pair.im.ptr;
}

/* The parts of a complex result; false when there are no formulas. */
static bool complex_result(complex_job *job, loom_builder *b, MlirOperation op, loom_opcode code,
                           MlirValue *out) {
  if (complex_by_parts(op, code)) {
    out[0] = complex_again(job, b, op, 0, 0);
    out[1] = complex_again(job, b, op, 1, 1);
    return out[0].ptr && out[1].ptr;
  }
  switch (code) {
  case LOOM_OP_CONSTANT: return complex_from_constant(b, op, out);
  case LOOM_OP_CONVERT: return complex_convert(job, b, op, out);
  case LOOM_OP_DOT_GENERAL: return complex_product(job, b, op, out);
  case LOOM_OP_COMPLEX:
    out[0] = loom_operand(op, 0);
    out[1] = loom_operand(op, 1);
    return true;
  default:
    return loom_op_table[code].parts == LOOM_PARTS_FORMULA &&
           complex_formula(job, b, op, code, out);
  }
}

/* A predicate of both parts, joined by "and" where it has to hold for all. */
static MlirValue complex_predicate(complex_job *job, loom_builder *b, MlirOperation op, bool all) {
  MlirValue re = complex_again(job, b, op, 0, 0), im = complex_again(job, b, op, 1, 1);
  return loom_build_op2(b, all ? LOOM_OP_AND : LOOM_OP_OR, re, im,
                        mlirValueGetType(loom_result(op, 0)));
}

/* Complex numbers are equal where all parts are, and differ where any does. */
static MlirValue complex_compare(complex_job *job, loom_builder *b, MlirOperation op) {
  MlirStringRef direction = loom_get_str(op, "direction");
  bool all = loom_str_is(direction, "eq");
  if (!all && !loom_str_is(direction, "ne")) return (MlirValue){NULL};
  return complex_predicate(job, b, op, all);
}

/* The real part as another type, which drops the imaginary part. A bool asks whether any part is
 * not zero. */
static MlirValue complex_to_real(complex_job *job, loom_builder *b, MlirOperation op) {
  MlirType type = mlirValueGetType(loom_result(op, 0));
  MlirType element = mlirShapedTypeGetElementType(type);
  MlirValue re = complex_part(job, b, loom_operand(op, 0), 0);
  if (mlirTypeEqual(mlirValueGetType(re), type)) return re;
  bool truth = mlirTypeIsAInteger(element) && mlirIntegerTypeGetWidth(element) == 1;
  return truth ? complex_predicate(job, b, op, false) : complex_again(job, b, op, 0, 0);
}

/* A result that is not complex, of complex operands. */
static MlirValue complex_plain(complex_job *job, loom_builder *b, MlirOperation op,
                               loom_opcode code) {
  loom_parts how = loom_op_table[code].parts;
  if (how == LOOM_PARTS_ANY || how == LOOM_PARTS_ALL)
    return complex_predicate(job, b, op, how == LOOM_PARTS_ALL);
  switch (code) {
  case LOOM_OP_REAL: return complex_part(job, b, loom_operand(op, 0), 0);
  case LOOM_OP_IMAG: return complex_part(job, b, loom_operand(op, 0), 1);
  case LOOM_OP_COMPARE: return complex_compare(job, b, op);
  case LOOM_OP_CONVERT: return complex_to_real(job, b, op);
  default: return (MlirValue){NULL};
  }
}

/* Operands of what stays complex: results, calls of a library. */
static void complex_join(complex_job *job, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i);
    loom_type type;
    if (!complex_is(value, &type) || !job->capacity) continue;
    size_t slot = complex_slot(job, value);
    MlirOperation def = loom_def(value);
    if (!job->table[slot].whole.ptr || !def.ptr || loom_is(def, LOOM_OP_COMPLEX) ||
        loom_class_of(def) == LOOM_CLASS_HOST || loom_info(def)->control)
      continue;
    loom_builder b = loom_builder_before(op);
    const parts *p = &job->table[slot];
    mlirOperationSetOperand(
        op, i,
        loom_build_op2(&b, LOOM_OP_COMPLEX, p->part[0], p->part[1], mlirValueGetType(value)));
  }
}

static bool complex_touches(MlirOperation op) {
  loom_type type;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    if (complex_is(loom_operand(op, i), &type)) return true;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (complex_is(loom_result(op, i), &type)) return true;
  return false;
}

static bool complex_visit(MlirOperation op, void *user) {
  complex_job *job = user;
  loom_opcode code;
  loom_type type;
  MlirValue out[2] = {{NULL}, {NULL}};
  if (!complex_touches(op)) return true;
  bool table = loom_opcode_of(op, &code);
  if (!table || loom_op_table[code].fusion == LOOM_CLASS_HOST) {
    complex_join(job, op);
    return true;
  }
  loom_builder b = loom_builder_before(op);
  complex_old *old = loom_arena_alloc(&job->arena, sizeof *old);
  if (!old) return false;
  *old = (complex_old){job->old, op};
  job->old = old;
  bool whole = mlirOperationGetNumResults(op) == 1 && complex_is(loom_result(op, 0), &type);
  bool good = false;
  if (whole) {
    good = complex_result(job, &b, op, code, out);
    if (good) complex_note(job, loom_result(op, 0), out[0], out[1]);
  } else if (mlirOperationGetNumResults(op) == 1) {
    out[0] = complex_plain(job, &b, op, code);
    good = out[0].ptr != NULL;
    if (good) mlirValueReplaceAllUsesOfWith(loom_result(op, 0), out[0]);
  }
  if (good && !job->failed) return true;
  return loom_emit_error(mlirOperationGetLocation(op), "'%.*s' of complex numbers has no code",
                         (int)mlirIdentifierStr(mlirOperationGetName(op)).length,
                         mlirIdentifierStr(mlirOperationGetName(op)).data);
}

/* ---- parts that nobody reads ---- */

typedef struct complex_flags {
  loom_map pairs; /* part of a result whose flags count -> the number of the other part */
  loom_map live;
  MlirValue *others;
  int64_t count;
} complex_flags;

static bool complex_note_pair(complex_flags *f, MlirValue re, MlirValue im) {
  if (!loom_def(re).ptr || !loom_def(im).ptr) return true;
  f->others[f->count] = im;
  f->others[f->count + 1] = re;
  f->count += 2;
  return loom_map_put(&f->pairs, re.ptr, f->count - 2) &&
         loom_map_put(&f->pairs, im.ptr, f->count - 1);
}

static bool complex_pairs(complex_job *job, complex_flags *f) {
  int64_t count = 0;
  for (complex_old *old = job->old; old; old = old->next)
    count++;
  f->others = loom_arena_alloc(&job->arena, sizeof *f->others * (size_t)(2 * count + 1));
  if (!f->others) return false;
  for (complex_old *old = job->old; old && job->capacity; old = old->next) {
    loom_type type;
    if (mlirOperationGetNumResults(old->op) != 1 || !loom_fp_of(old->op)) continue;
    MlirValue whole = loom_result(old->op, 0);
    if (!complex_is(whole, &type)) continue;
    const parts *p = &job->table[complex_slot(job, whole)];
    if (p->whole.ptr && !complex_note_pair(f, p->part[0], p->part[1])) return false;
  }
  return true;
}

static bool complex_read(const complex_flags *f, MlirValue value) {
  return loom_map_get(&f->live, value.ptr, 0) != 0;
}

/* `op` makes a part; all that reads either of the two stands behind it. */
static bool complex_join_parts(complex_flags *f, MlirOperation op, MlirOperation next) {
  MlirValue part = loom_result(op, 0);
  int64_t at = loom_map_get(&f->pairs, part.ptr, -1);
  if (at < 0) return true;
  MlirValue other = f->others[at];
  if (complex_read(f, part) == complex_read(f, other)) return true;
  MlirValue read = complex_read(f, part) ? part : other;
  MlirValue unread = complex_read(f, part) ? other : part;
  loom_builder b = loom_builder_before(next);
  MlirValue both = loom_build_op2(&b, LOOM_OP_BESIDE, read, unread, mlirValueGetType(read));
  MlirOperation own = loom_def(both);
  mlirValueReplaceAllUsesExcept(read, both, 1, &own);
  return loom_map_put(&f->live, unread.ptr, 1);
}

/* From the last op to the first: what is read, and where a part is not but raises flags. */
static bool complex_keep_flags(complex_job *job, MlirBlock block) {
  complex_flags f = {.count = 0};
  int64_t count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    count++;
  MlirOperation *ops = loom_arena_alloc(&job->arena, sizeof *ops * (size_t)(count + 1));
  bool good = ops && complex_pairs(job, &f);
  if (good && f.count) ops[0] = mlirBlockGetFirstOperation(block);
  for (int64_t i = 1; good && f.count && i < count; i++)
    ops[i] = mlirOperationGetNextInBlock(ops[i - 1]);
  for (int64_t n = count; good && f.count && n-- > 0;) {
    MlirOperation op = ops[n];
    bool live = mlirOperationGetNumResults(op) == 0 || loom_class_of(op) == LOOM_CLASS_OTHER ||
                loom_class_of(op) == LOOM_CLASS_HOST || loom_checks_indices(op);
    if (n + 1 < count && mlirOperationGetNumResults(op) == 1)
      good = complex_join_parts(&f, op, ops[n + 1]);
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
      live |= complex_read(&f, loom_result(op, i));
    for (intptr_t i = 0; live && good && i < mlirOperationGetNumOperands(op); i++)
      good = loom_map_put(&f.live, loom_operand(op, i).ptr, 1);
  }
  loom_map_fini(&f.pairs);
  loom_map_fini(&f.live);
  return good;
}

static bool complex_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  complex_job job = {0};
  bool good = !block.ptr || loom_walk_block(block, complex_visit, &job);
  if (good && block.ptr && job.old && !complex_keep_flags(&job, block))
    good = loom_emit_error(mlirOperationGetLocation(function), "out of memory");
  for (complex_old *old = job.old; good && old; old = old->next) {
    bool used = false;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(old->op); i++)
      used |= mlirValueGetFirstUse(loom_result(old->op, i)).ptr != NULL;
    if (!used) mlirOperationDestroy(old->op);
  }
  loom_arena_fini(&job.arena);
  return good;
}

MlirPass loom_make_complex_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomComplex",
      .flag = "loom-complex",
      .summary = "Turn complex arithmetic into arithmetic of real and imaginary parts",
      .root = "builtin.module",
      .each_function = true,
      .run = complex_run};
  return loom_pass_of(&spec);
}
