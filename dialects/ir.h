/* A thin layer over MLIR's C API: building an op, reading an attribute, walking, reporting. It
 * wraps no handle type and renames no call. (ir.c, but where another file is named)
 */
#ifndef LOOM_IR_H
#define LOOM_IR_H

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Diagnostics.h>
#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

static inline MlirStringRef loom_str(const char *text) {
  return mlirStringRefCreateFromCString(text);
}

/* ---- building ---------------------------------------------------------------------------- */

/* Where ops go: before `before` (or at the end of `block` when it is null), at `loc`. */
typedef struct loom_builder {
  MlirContext ctx;
  MlirLocation loc;
  MlirBlock block;
  MlirOperation before;
} loom_builder;

loom_builder loom_builder_before(MlirOperation op);
loom_builder loom_builder_at_end(MlirBlock block, MlirLocation loc);

typedef struct loom_named {
  const char *name;
  MlirAttribute value;
} loom_named;

/* Any op: operands, result types and attributes as arrays; a `type_count` of -1 lets MLIR infer the
 * result types. */
MlirOperation loom_build(loom_builder *b, const char *name, intptr_t operand_count,
                         const MlirValue *operands, intptr_t type_count, const MlirType *types,
                         intptr_t attr_count, const loom_named *attrs);
/* The same with regions, which the op takes over. */
MlirOperation loom_build_regions(loom_builder *b, const char *name, intptr_t operand_count,
                                 const MlirValue *operands, intptr_t type_count,
                                 const MlirType *types, intptr_t attr_count,
                                 const loom_named *attrs, intptr_t region_count,
                                 MlirRegion *regions);
/* One result, no attributes: the common cases. */
MlirValue loom_build1(loom_builder *b, const char *name, MlirValue a, MlirType type);
MlirValue loom_build2(loom_builder *b, const char *name, MlirValue a, MlirValue c, MlirType type);
MlirValue loom_build3(loom_builder *b, const char *name, MlirValue a, MlirValue c, MlirValue d,
                      MlirType type);
/* The same for an op of our own dialect. */
MlirOperation loom_build_op(loom_builder *b, loom_opcode op, intptr_t operand_count,
                            const MlirValue *operands, intptr_t type_count, const MlirType *types,
                            intptr_t attr_count, const loom_named *attrs);
MlirOperation loom_build_op_regions(loom_builder *b, loom_opcode op, intptr_t operand_count,
                                    const MlirValue *operands, intptr_t type_count,
                                    const MlirType *types, intptr_t attr_count,
                                    const loom_named *attrs, intptr_t region_count,
                                    MlirRegion *regions);
MlirValue loom_build_op1(loom_builder *b, loom_opcode op, MlirValue a, MlirType type);
MlirValue loom_build_op2(loom_builder *b, loom_opcode op, MlirValue a, MlirValue c, MlirType type);
MlirValue loom_build_op3(loom_builder *b, loom_opcode op, MlirValue a, MlirValue c, MlirValue d,
                         MlirType type);
/* arith.constant of an integer or index type; of a float type. */
MlirValue loom_build_int(loom_builder *b, MlirType type, int64_t value);
MlirValue loom_build_float(loom_builder *b, MlirType type, double value);

/* ---- attributes -------------------------------------------------------------------------- */

MlirAttribute loom_attr_i64(MlirContext ctx, int64_t value);
MlirAttribute loom_attr_i64s(MlirContext ctx, intptr_t count, const int64_t *values);
MlirAttribute loom_attr_str(MlirContext ctx, const char *text);

/* Names of the attributes that loom.td does not declare: loom_mark_strides is "loom.strides". */
#define LOOM_MARK(STEM, ON, WHAT) extern const char loom_mark_##STEM[];
#include "dialects/marks.def"
#undef LOOM_MARK

MlirAttribute loom_get_attr(MlirOperation op, const char *name); /* null attribute when absent */
int64_t loom_get_i64(MlirOperation op, const char *name, int64_t otherwise);
/* Number of entries of a DenseI64Array attribute copied to `out` (at most `capacity`); -1 when
 * absent. */
intptr_t loom_get_i64s(MlirOperation op, const char *name, int64_t *out, intptr_t capacity);
intptr_t loom_attr_read_i64s(MlirAttribute attr, int64_t *out, intptr_t capacity);
/* A view of a string attribute; length 0 when absent. */
MlirStringRef loom_get_str(MlirOperation op, const char *name);
void loom_set_attr(MlirOperation op, const char *name, MlirAttribute value);

/* ---- ops, types -------------------------------------------------------------------------- */

bool loom_str_is(MlirStringRef a, const char *b);
/* loom_is(): is it the op of our dialect with this opcode? loom_is_named(): is it the op with this
 * full name, of any dialect ("func.return")? */
bool loom_is(MlirOperation op, loom_opcode code);
bool loom_is_named(MlirOperation op, const char *name);
/* The opcode of any op: LOOM_OP_COUNT when it is of another dialect. */
loom_opcode loom_op_of(MlirOperation op);
/* The opcode of an op of a graph; false for any other op. */
bool loom_opcode_of(MlirOperation op, loom_opcode *out);
bool loom_opcode_of_name(MlirStringRef name, loom_opcode *out); /* "loom.add" */
/* Its row in the op table; for an op of another dialect, a row without any property. */
const loom_op_info *loom_info(MlirOperation op);
/* The value of the loom.constant that defines `value`; null for anything else. */
MlirAttribute loom_constant_of(MlirValue value);
/* The block of what one kernel computes, of a loom.fusion or a loom.kernel; null for other ops. */
MlirBlock loom_body(MlirOperation op);
/* The op that defines a value, or a null operation for a block argument. */
MlirOperation loom_def(MlirValue value);
static inline MlirValue loom_operand(MlirOperation op, intptr_t i) {
  return mlirOperationGetOperand(op, i);
}
static inline MlirValue loom_result(MlirOperation op, intptr_t i) {
  return mlirOperationGetResult(op, i);
}
/* A plain type from a ranked tensor or memref type: element type and sizes (symbolic ones by the
 * table of loom_sizes(); dynamic ones without an expression, or where no pass runs, become -1).
 * False with no diagnostic for anything else, a rank over LOOM_MAX_RANK, or 2^63 bytes and more. */
bool loom_type_from_mlir(MlirType type, loom_type *out);
MlirType loom_type_to_mlir(MlirContext ctx, const loom_type *type); /* tensor */
/* The same with symbolic sizes: a dynamic size is a result of the affine map that the tensor type
 * carries as its encoding, `tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>`, over symbols unique in
 * the module. The expressions go to and come from the graph's table; a dynamic size without an
 * expression is refused. */
bool loom_type_from_mlir_in(loom_graph *graph, MlirType type, loom_type *out);
/* The sizes alone, of a tensor with an encoding; `out` has the rank. */
bool loom_sizes_read(loom_graph *graph, MlirType type, loom_type *out);
MlirType loom_type_to_mlir_in(MlirContext ctx, const loom_graph *graph, const loom_type *type);
/* The module's table of symbolic sizes while a pass runs (a graph of nothing else), else NULL.
 * Numbers in attributes (strides, starts, chunks) may be LOOM_STRIDE_SYM codes of it in all passes:
 * the module keeps the table as `loom.symbols` and `loom.exprs`. */
loom_graph *loom_sizes(void);
/* For code outside of a pass: loads the table of the module around `root`, and stores it back.
 * False after a diagnostic; `leave` is called in that case, too. */
bool loom_sizes_enter(MlirOperation root);
void loom_sizes_leave(MlirOperation root);

/* Arithmetic on numbers (strides, extents, offsets) that may be symbolic. A result that cannot be
 * expressed is no number (loom_num_known), and makes the pass fail when it ends. (number.c) */
int64_t loom_num_add(int64_t a, int64_t b);
int64_t loom_num_sub(int64_t a, int64_t b);
int64_t loom_num_mul(int64_t a, int64_t b);
int64_t loom_num_div(int64_t a, int64_t b); /* floor; b > 0 */
int64_t loom_num_ceil(int64_t a, int64_t b);
/* The same of two numbers that are no symbols. */
static inline int64_t loom_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t loom_num_min(int64_t a, int64_t b);
int64_t loom_num_max(int64_t a, int64_t b);
int64_t loom_num_dim(loom_dim dim);
int64_t loom_num_hint(int64_t a); /* a likely value */
int64_t loom_num_low(int64_t a);  /* bounds */
int64_t loom_num_high(int64_t a);
bool loom_num_at_most(int64_t a, int64_t b); /* for all values of the symbols: a <= b */
bool loom_num_below(int64_t a, int64_t b);
bool loom_num_multiple(int64_t a, int64_t of);            /* of a constant, for all values */
bool loom_num_divide(int64_t a, int64_t b, int64_t *out); /* exactly, for all values */
bool loom_num_known(int64_t a);                           /* a value, or a code of the table */
int64_t loom_num_elements(const loom_type *type);
bool loom_num_take_failure(void); /* could a result not be expressed since the last call? */
bool loom_type_is_static(const loom_type *type);
bool loom_type_is_sized(const loom_type *type); /* all sizes known or expressed, the product too */
/* Strides of C order, of symbolic sizes too. */
bool loom_plain_strides(const loom_type *type, int64_t *out);
/* Reads the table of the module around an op into an empty graph; writes one. */
bool loom_sizes_load(MlirOperation inside, loom_graph *graph);
void loom_sizes_store(MlirOperation module, const loom_graph *graph);
MlirType loom_dtype_to_mlir(MlirContext ctx,
                            loom_dtype dtype); /* i1, i8, ui8, f32, complex<f32>, ... */
bool loom_dtype_from_mlir(MlirType element, loom_dtype *out);
/* A scalar of a dtype as an attribute: integer, float, or an array of two floats for complex. */
MlirAttribute loom_scalar_to_mlir(MlirContext ctx, loom_dtype dtype, const loom_attr *scalar);
bool loom_scalar_from_mlir(MlirAttribute attr, loom_dtype dtype, loom_attr *out);

/* Which floating-point exceptions an op can raise on its element types (loom_fp_flag bits). */
uint32_t loom_fp_of(MlirOperation op);
/* Could computing the value raise one that the library would warn of? Looks at a bounded number of
 * ops: what lies beyond could. (raise.c) */
bool loom_may_raise(MlirValue value);

/* Calls `visit` on each op of a block in order; `visit` may erase the op it is given. Stops and
 * returns false when `visit` does. */
bool loom_walk_block(MlirBlock block, bool (*visit)(MlirOperation op, void *user), void *user);

/* ---- errors ------------------------------------------------------------------------------ */

/* What MLIR's printers call for each piece of text: adds it to the message of `err`, a loom_error.
 */
void loom_error_append(MlirStringRef text, void *err);
/* Emits an error at `loc` and returns false. */
bool loom_emit_error(MlirLocation loc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- passes ------------------------------------------------------------------------------ */

/* An external pass whose `run` gets the root op and returns false after a diagnostic. `root`: ""
 * for any op, "builtin.module" for modules. One static MlirTypeID a pass is kept inside. */
typedef bool (*loom_pass_fn)(MlirOperation root);
MlirPass loom_pass_create(const char *name, const char *flag, const char *summary, const char *root,
                          loom_pass_fn run);
/* The same for a pass that makes ops of other dialects: they are loaded before it runs. */
MlirPass loom_pass_create_with(const char *name, const char *flag, const char *summary,
                               const char *root, loom_pass_fn run, intptr_t dialect_count,
                               MlirDialectHandle *dialects);

#endif
