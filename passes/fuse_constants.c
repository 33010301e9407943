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

/* ---- values all of whose elements are one constant, wherever it has come from -----------------
 */

typedef struct uniform {
  bool known;
  loom_dtype dtype;
  loom_cell cell;
} uniform;

typedef struct uniforms {
  loom_map places; /* result of an op -> its place in `rows` */
  uniform *rows;
  int64_t count, capacity;
} uniforms;

static uniform uniform_of(const uniforms *all, MlirValue v) {
  loom_type type;
  loom_attr scalar;
  MlirOperation def = loom_def(v);
  int64_t at = loom_map_get(&all->places, v.ptr, -1);
  if (at >= 0) return all->rows[at];
  if (!def.ptr || !loom_is(def, "loom.constant") ||
      !loom_type_from_mlir(mlirValueGetType(v), &type) ||
      !loom_scalar_from_mlir(loom_get_attr(def, "value"), type.dtype, &scalar))
    return (uniform){.known = false};
  return (uniform){true, type.dtype, loom_cell_from_attr(type.dtype, &scalar)};
}

/* What the operands from `first` to `last` have in common. */
static uniform uniform_moved(const uniforms *all, MlirOperation op, intptr_t first, intptr_t last) {
  uniform out = uniform_of(all, loom_operand(op, first));
  for (intptr_t i = first + 1; i < last && out.known; i++) {
    uniform next = uniform_of(all, loom_operand(op, i));
    out.known = next.known && !memcmp(&next.cell, &out.cell, sizeof out.cell);
  }
  return out;
}

/* What arithmetic makes of them; *raises: with an exception that the library warns of. */
static uniform uniform_computed(const uniforms *all, MlirOperation op, loom_opcode code,
                                loom_dtype dtype, bool *raises) {
  bool two = mlirOperationGetNumOperands(op) == 2, converts = code == LOOM_OP_CONVERT;
  uniform x = uniform_of(all, loom_operand(op, 0)), y = x, out = {.dtype = dtype};
  if (two) y = uniform_of(all, loom_operand(op, 1));
  if (!x.known || !y.known || x.dtype != y.dtype) return out;
  fenv_t saved;
  feholdexcept(&saved);
  if (converts) out.cell = loom_cell_convert(x.dtype, dtype, x.cell);
  out.known = converts || (two ? loom_cell_binary(code, x.dtype, x.cell, y.cell, &out.cell)
                               : loom_cell_unary(code, x.dtype, x.cell, &out.cell));
  *raises = out.known && loom_dtype_is_float(x.dtype) && fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
  fesetenv(&saved);
  out.known &= converts || x.dtype == dtype;
  return out;
}

/* False: the op raises. */
static bool uniform_note(uniforms *all, MlirOperation op) {
  loom_opcode code;
  loom_type type;
  loom_class class = loom_class_of(op);
  intptr_t count = mlirOperationGetNumOperands(op);
  uniform made = {.known = false};
  bool raises = false;
  if (mlirOperationGetNumResults(op) != 1 || count == 0 || !loom_opcode_of(op, &code) ||
      !loom_type_from_mlir(mlirValueGetType(mlirOperationGetResult(op, 0)), &type) ||
      loom_type_elements(&type) == 0)
    return true;
  if (class == LOOM_CLASS_VIEW || code == LOOM_OP_GATHER)
    made = uniform_moved(all, op, 0, 1);
  else if (code == LOOM_OP_PAD || code == LOOM_OP_CONCATENATE)
    made = uniform_moved(all, op, 0, count);
  else if (code == LOOM_OP_UPDATE_SLICE)
    made = uniform_moved(all, op, 0, 2);
  else if (code == LOOM_OP_SELECT)
    made = uniform_moved(all, op, 1, 3);
  else if (class == LOOM_CLASS_POINTWISE && count <= 2)
    made = uniform_computed(all, op, code, type.dtype, &raises);
  if (raises && loom_fp_of(op)) return false;
  if (!made.known || made.dtype != type.dtype) return true;
  if (all->count == all->capacity) {
    int64_t capacity = all->capacity ? 2 * all->capacity : 16;
    uniform *rows = realloc(all->rows, (size_t)capacity * sizeof *rows);
    if (!rows) return true;
    all->rows = rows;
    all->capacity = capacity;
  }
  all->rows[all->count] = made;
  all->count += loom_map_put(&all->places, mlirOperationGetResult(op, 0).ptr, all->count);
  return true;
}

static bool fuse_refuse_constants(MlirOperation op) {
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
  uniforms all = {.count = 0};
  bool good = true;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr && good;
       op = mlirOperationGetNextInBlock(op)) {
    intptr_t count = mlirOperationGetNumOperands(op);
    bool arithmetic = loom_class_of(op) == LOOM_CLASS_POINTWISE && count > 0 && loom_fp_of(op);
    bool constant = arithmetic;
    for (intptr_t i = 0; i < count && constant; i++)
      constant = loom_def(loom_operand(op, i)).ptr &&
                 loom_is(loom_def(loom_operand(op, i)), "loom.constant");
    good = !(constant && fuse_constants_raise(op)) && uniform_note(&all, op);
    if (!good) fuse_refuse_constants(op);
  }
  loom_map_fini(&all.places);
  free(all.rows);
  return good;
}
