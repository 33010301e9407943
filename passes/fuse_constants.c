/* What loom-fuse refuses of arithmetic on constants. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "passes/fuse.h"

static bool fuse_constant(MlirOperation op, intptr_t i, loom_cell *out) {
  MlirOperation def = loom_def(loom_operand(op, i));
  loom_type type;
  loom_attr scalar;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, i)), &type) ||
      !loom_scalar_from_mlir(loom_get_attr(def, "value"), type.dtype, &scalar))
    return false;
  *out = loom_cell_from_attr(type.dtype, &scalar);
  return true;
}

/* Does an op on constants, which folding has left, raise an exception that the library warns of? */
static bool fuse_constants_raise(MlirOperation op) {
  loom_opcode code;
  loom_type type;
  loom_cell x, y, result;
  fenv_t saved;
  intptr_t count = mlirOperationGetNumOperands(op);
  if (!loom_opcode_of(op, &code) || count > 2 ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type) ||
      !loom_dtype_is_float(type.dtype) || !fuse_constant(op, 0, &x) ||
      (count == 2 && !fuse_constant(op, 1, &y)))
    return true;
  feholdexcept(&saved);
  bool known = count == 2 ? loom_cell_binary(code, type.dtype, x, y, &result)
                          : loom_cell_unary(code, type.dtype, x, &result);
  int raised = fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
  fesetenv(&saved);
  return !known || raised;
}

/* ---- values that hold a few constants, wherever they have come from -------------------------- */

#define CONSTANTS_MOST 4

/* All that the elements of a value can be. */
typedef struct constants {
  loom_dtype dtype;
  int count; /* 0: not known */
  loom_cell cells[CONSTANTS_MOST];
} constants;

typedef struct constants_of {
  loom_map places; /* result of an op -> its place in `rows` */
  constants *rows;
  int64_t count, capacity;
} constants_of;

static constants constants_find(const constants_of *all, MlirValue v) {
  loom_type type;
  loom_attr scalar;
  MlirOperation def = loom_def(v);
  constants none = {.count = 0};
  int64_t at = loom_map_get(&all->places, v.ptr, -1);
  if (at >= 0) return all->rows[at];
  if (!def.ptr || !loom_is(def, "loom.constant") ||
      !loom_type_from_mlir(mlirValueGetType(v), &type) ||
      !loom_scalar_from_mlir(loom_get_attr(def, "value"), type.dtype, &scalar))
    return none;
  return (constants){type.dtype, 1, {loom_cell_from_attr(type.dtype, &scalar)}};
}

static void constants_join(constants *out, loom_cell cell) {
  for (int i = 0; i < out->count; i++)
    if (!memcmp(&out->cells[i], &cell, sizeof cell)) return;
  if (out->count < CONSTANTS_MOST)
    out->cells[out->count++] = cell;
  else
    out->count = CONSTANTS_MOST + 1;
}

/* Those of the operands from `first` to `last`, in the result's elements. */
static constants constants_moved(const constants_of *all, MlirOperation op, intptr_t first,
                                 intptr_t last, loom_dtype dtype) {
  constants out = {.dtype = dtype};
  for (intptr_t i = first; i < last; i++) {
    constants from = constants_find(all, loom_operand(op, i));
    if (!from.count || from.dtype != dtype) return (constants){.count = 0};
    for (int k = 0; k < from.count; k++)
      constants_join(&out, from.cells[k]);
  }
  return out;
}

/* What arithmetic makes of each of them; *raises: with an exception that the library warns of. */
static constants constants_computed(const constants_of *all, MlirOperation op, loom_opcode code,
                                    loom_dtype dtype, bool *raises) {
  intptr_t count = mlirOperationGetNumOperands(op);
  constants x = constants_find(all, loom_operand(op, 0)), y = {.count = 1}, out = {.dtype = dtype};
  if (count == 2) y = constants_find(all, loom_operand(op, 1));
  bool known = x.count && y.count && (count == 1 || x.dtype == y.dtype);
  fenv_t saved;
  feholdexcept(&saved);
  for (int i = 0; known && i < x.count * y.count; i++) {
    loom_cell a = x.cells[i / y.count], b = y.cells[i % y.count], made;
    if (code == LOOM_OP_CONVERT)
      made = loom_cell_convert(x.dtype, dtype, a);
    else if (count == 2)
      known = loom_cell_binary(code, x.dtype, a, b, &made);
    else
      known = loom_cell_unary(code, x.dtype, a, &made);
    if (known) constants_join(&out, made);
  }
  *raises = known && loom_dtype_is_float(x.dtype) && fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
  fesetenv(&saved);
  return known && x.dtype == dtype          ? out
         : known && code == LOOM_OP_CONVERT ? out
                                            : (constants){.count = 0};
}

/* False after an error: the op raises. */
static bool constants_note(constants_of *all, MlirOperation op) {
  loom_opcode code;
  loom_type type;
  loom_class class = loom_class_of(op);
  intptr_t count = mlirOperationGetNumOperands(op);
  constants made = {.count = 0};
  bool raises = false;
  if (mlirOperationGetNumResults(op) != 1 || count == 0 || !loom_opcode_of(op, &code) ||
      !loom_type_from_mlir(mlirValueGetType(mlirOperationGetResult(op, 0)), &type))
    return true;
  if (class == LOOM_CLASS_VIEW || code == LOOM_OP_GATHER)
    made = constants_moved(all, op, 0, 1, type.dtype);
  else if (code == LOOM_OP_PAD || code == LOOM_OP_CONCATENATE)
    made = constants_moved(all, op, 0, count, type.dtype);
  else if (code == LOOM_OP_UPDATE_SLICE)
    made = constants_moved(all, op, 0, 2, type.dtype);
  else if (code == LOOM_OP_SELECT)
    made = constants_moved(all, op, 1, 3, type.dtype);
  else if (class == LOOM_CLASS_POINTWISE && count <= 2)
    made = constants_computed(all, op, code, type.dtype, &raises);
  if (raises && loom_fp_of(op)) return false;
  if (!made.count || made.count > CONSTANTS_MOST) return true;
  if (all->count == all->capacity) {
    int64_t capacity = all->capacity ? 2 * all->capacity : 16;
    constants *rows = realloc(all->rows, (size_t)capacity * sizeof *rows);
    if (!rows) return true;
    all->rows = rows;
    all->capacity = capacity;
  }
  if (loom_map_put(&all->places, mlirOperationGetResult(op, 0).ptr, all->count))
    all->rows[all->count++] = made;
  return true;
}

static bool constants_refuse(MlirOperation op) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_emit_error(mlirOperationGetLocation(op),
                         "'%.*s' of constants raises a floating-point exception at every call",
                         (int)name.length, name.data);
}

/* What folding left of arithmetic on constants may raise a floating-point exception, whatever the
 * input. LLVM would fold it and lose the exception, also where the constants have been moved about
 * first, and the library would be asked for its warning at every call: it is left to the library.
 */
bool fuse_check_constants(MlirBlock block) {
  constants_of all = {.count = 0};
  bool good = true;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr && good;
       op = mlirOperationGetNextInBlock(op)) {
    intptr_t count = mlirOperationGetNumOperands(op);
    bool arithmetic = loom_class_of(op) == LOOM_CLASS_POINTWISE && count > 0 && loom_fp_of(op);
    bool constant = arithmetic;
    for (intptr_t i = 0; i < count && constant; i++)
      constant = loom_def(loom_operand(op, i)).ptr &&
                 loom_is(loom_def(loom_operand(op, i)), "loom.constant");
    good = !(constant && fuse_constants_raise(op)) && constants_note(&all, op);
    if (!good) constants_refuse(op);
  }
  loom_map_fini(&all.places);
  free(all.rows);
  return good;
}
