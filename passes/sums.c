/* loom-sums: adds up large arrays without an array for each term.
 *
 * Rows that are added to zeros, whose sum is then added to another array, are added to that array
 * directly:
 *   %0 = loom.scatter "add" %zeros, %rows, %values
 *   %1 = loom.add %base, %0
 * becomes
 *   %1 = loom.scatter "add" %base, %rows, %values
 * An example is the gradient of an embedding whose weights are those of the last layer, too.
 *
 * Products that are added up become one product of all operands side by side:
 *   %0 = loom.dot_general %a, %b contract = [0] x [0]
 *   %1 = loom.dot_general %c, %d contract = [0] x [0]
 *   %2 = loom.add %0, %1                                       // and more of them
 * becomes
 *   %3 = loom.concatenate %a, %c axis = 0
 *   %4 = loom.concatenate %b, %d axis = 0
 *   %2 = loom.dot_general %3, %4 contract = [0] x [0]
 * An example is the gradient of a weight that each step of a recurrence uses: each product has so
 * small a depth that it does little but add to an array as large as the weight.
 *
 * requires: canonical transposes (two in a row are gone). Runs on modules with `loom.open_sums` or
 * `loom.fastmath`, whose sums may be added up in any order; others are left as they are.
 *
 * keeps: values up to the order of a sum. breaks: nothing.
 *
 * It ends since each rewriting removes an addition and makes none.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

#define SUMS_FEWEST 4 /* products whose sum is worth moving their operands */
#define SUMS_MOST 4096

/* ---- rows ---- */

static bool sums_is_read_once(MlirValue value) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
}

/* The type of a value of f32 or f64 with known sizes. */
static bool sums_type(MlirValue value, loom_type *out) {
  return loom_type_from_mlir(mlirValueGetType(value), out) && loom_type_is_static(out) &&
         (out->dtype == LOOM_F32 || out->dtype == LOOM_F64);
}

static bool sums_is_zero(MlirValue value) {
  loom_type type;
  loom_attr scalar;
  MlirValue root = loom_view_root(value);
  MlirAttribute constant = loom_constant_of(root);
  return constant.ptr && sums_type(root, &type) &&
         loom_scalar_from_mlir(constant, type.dtype, &scalar) &&
         loom_cell_from_attr(type.dtype, &scalar).re == 0;
}

/* Rows added to zeros, which nobody but the addition reads. */
static bool sums_are_rows(MlirValue value) {
  MlirOperation def = loom_def(value);
  return def.ptr && loom_is(def, LOOM_OP_SCATTER) && sums_is_read_once(value) &&
         loom_str_is(loom_get_str(def, "combine"), "add") && sums_is_zero(loom_operand(def, 0));
}

static bool sums_add_rows(MlirOperation add, void *user) {
  loom_type type;
  (void)user;
  if (!loom_is(add, LOOM_OP_ADD) || !sums_type(loom_result(add, 0), &type)) return true;
  int rows = sums_are_rows(loom_operand(add, 1));
  MlirValue base = loom_operand(add, !rows);
  if ((!rows && !sums_are_rows(loom_operand(add, 0))) || !loom_def(base).ptr ||
      !sums_is_read_once(base))
    return true;
  MlirOperation scatter = loom_def(loom_operand(add, rows));
  MlirValue in[3] = {base, loom_operand(scatter, 1), loom_operand(scatter, 2)};
  MlirType result = mlirValueGetType(loom_result(add, 0));
  loom_named attrs[] = {{"axis", loom_get_attr(scatter, "axis")},
                        {"combine", loom_get_attr(scatter, "combine")}};
  loom_builder b = loom_builder_before(add);
  MlirOperation put = loom_build_op(&b, LOOM_OP_SCATTER, 3, in, 1, &result, 2, attrs);
  mlirValueReplaceAllUsesOfWith(loom_result(add, 0), loom_result(put, 0));
  mlirOperationDestroy(add);
  mlirOperationDestroy(scatter);
  return true;
}

/* ---- products ---- */

typedef struct sums_product { /* of two matrices, seen from the sum: rows come from side 0 */
  MlirValue value[2];         /* without the transposes around them */
  int64_t depth[2];           /* the dimension of each that is summed over */
} sums_product;

typedef struct sums_chain { /* product[0] + ... + product[count - 1] */
  sums_product *product;
  int count;
  loom_type type; /* of the sum */
} sums_chain;

/* If a transpose of a matrix defines `value`: its operand; else null. */
static MlirValue sums_turned(MlirValue value) {
  int64_t perm[LOOM_MAX_RANK];
  MlirOperation def = loom_def(value);
  bool turns = def.ptr && loom_is(def, LOOM_OP_TRANSPOSE) &&
               loom_get_i64s(def, "perm", perm, LOOM_MAX_RANK) == 2 && perm[0] == 1;
  return turns ? loom_operand(def, 0) : (MlirValue){NULL};
}

/* Reads a term of a sum that is a product of two matrices, perhaps transposed. Nobody else may
 * read what lies between the product and the sum. */
static bool sums_read(MlirValue term, sums_product *out) {
  int turns = 0;
  for (MlirValue inner; sums_is_read_once(term) && (inner = sums_turned(term)).ptr; turns++)
    term = inner;
  MlirOperation def = loom_def(term);
  if (!def.ptr || !sums_is_read_once(term) || !loom_is(def, LOOM_OP_DOT_GENERAL)) return false;
  int64_t depth[2][LOOM_MAX_RANK];
  loom_type type[2];
  if (loom_get_i64s(def, "lhs_contract", depth[0], LOOM_MAX_RANK) != 1 ||
      loom_get_i64s(def, "rhs_contract", depth[1], LOOM_MAX_RANK) != 1)
    return false;
  for (int side = 0; side < 2; side++) {
    int at = turns & 1 ? !side : side;
    MlirValue value = loom_operand(def, side), inner;
    if (!sums_type(value, &type[side]) || type[side].rank != 2) return false;
    for (; (inner = sums_turned(value)).ptr; depth[side][0] = !depth[side][0])
      value = inner;
    out->value[at] = value;
    out->depth[at] = depth[side][0];
  }
  return true;
}

/* Is a value an addition of this type that only one op reads? */
static bool sums_goes_on(MlirValue value, const loom_type *type) {
  loom_type own;
  MlirOperation def = loom_def(value);
  return def.ptr && loom_is(def, LOOM_OP_ADD) && sums_is_read_once(value) &&
         sums_type(value, &own) && own.dtype == type->dtype;
}

/* Does another addition add one more product? That one is looked at. */
static bool sums_is_inner(MlirOperation add) {
  MlirValue sum = loom_result(add, 0);
  sums_product other;
  if (!sums_is_read_once(sum)) return false;
  MlirOperation user = mlirOpOperandGetOwner(mlirValueGetFirstUse(sum));
  if (!loom_is(user, LOOM_OP_ADD)) return false;
  return sums_read(loom_operand(user, mlirValueEqual(loom_operand(user, 0), sum)), &other);
}

/* Reads the products that a chain of additions adds up, the first one first; false when there is
 * something else in it. */
static bool sums_collect(MlirOperation add, sums_chain *chain) {
  for (chain->count = 0;;) {
    if (chain->count >= SUMS_MOST - 1) return false;
    MlirValue rest = loom_operand(add, 0), last = loom_operand(add, 1);
    if (!sums_read(last, &chain->product[chain->count])) {
      rest = last;
      last = loom_operand(add, 0);
      if (!sums_read(last, &chain->product[chain->count])) return false;
    }
    chain->count++;
    if (sums_read(rest, &chain->product[chain->count])) {
      chain->count++;
      break;
    }
    if (!sums_goes_on(rest, &chain->type)) return false;
    add = loom_def(rest);
  }
  for (int i = 0, k = chain->count - 1; i < k; i++, k--) {
    sums_product first = chain->product[i];
    chain->product[i] = chain->product[k];
    chain->product[k] = first;
  }
  return true;
}

static int64_t sums_depth(const sums_product *p) {
  loom_type type;
  return sums_type(p->value[0], &type) ? type.dims[p->depth[0]] : 0;
}

/* Are the products so flat that adding one up costs more than moving its operands? */
static bool sums_are_flat(const sums_chain *chain) {
  int64_t rows = chain->type.dims[0], columns = chain->type.dims[1];
  for (int i = 0; i < chain->count; i++)
    if (sums_depth(&chain->product[i]) > rows * columns / (rows + columns)) return false;
  return chain->count >= SUMS_FEWEST;
}

/* ---- operands side by side ---- */

/* Of each operand of a side the product that has it; -1 of one that several have. */
static bool sums_number(const sums_chain *chain, int side, loom_map *out) {
  for (int i = 0; i < chain->count; i++) {
    const void *operand = chain->product[i].value[side].ptr;
    if (!loom_map_put(out, operand, loom_map_get(out, operand, -2) == -2 ? i : -1)) return false;
  }
  return true;
}

/* The products in the order of a concatenation's operands; false when these are not each of them
 * once. */
static bool sums_sort(const sums_chain *chain, const loom_map *numbers, MlirOperation joined,
                      bool *taken, sums_product *out) {
  memset(taken, 0, sizeof *taken * (size_t)chain->count);
  for (int i = 0; i < chain->count; i++) {
    int64_t at = loom_map_get(numbers, loom_operand(joined, i).ptr, -1);
    if (at < 0 || taken[at]) return false;
    taken[at] = true;
    out[i] = chain->product[at];
  }
  return true;
}

/* Where the graph has all operands of a side one after another already, in whatever order, for
 * another reader; the products are put into that order. */
static MlirOperation sums_joined(sums_chain *chain, int side) {
  int64_t axis = chain->product[0].depth[side];
  size_t count = (size_t)chain->count;
  sums_product *sorted = malloc(sizeof *sorted * count);
  bool *taken = malloc(sizeof *taken * count);
  loom_map numbers = {0};
  MlirOperation found = {NULL};
  bool good = sorted && taken && sums_number(chain, side, &numbers);
  for (int i = 1; i < chain->count; i++)
    good = good && chain->product[i].depth[side] == axis;
  for (MlirOpOperand use = mlirValueGetFirstUse(chain->product[0].value[side]);
       good && !found.ptr && !mlirOpOperandIsNull(use); use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (loom_is(user, LOOM_OP_CONCATENATE) && loom_get_i64(user, "axis", -1) == axis &&
        mlirOperationGetNumOperands(user) == chain->count &&
        sums_sort(chain, &numbers, user, taken, sorted))
      found = user;
  }
  if (found.ptr) memcpy(chain->product, sorted, sizeof *sorted * count);
  loom_map_fini(&numbers);
  free(taken);
  free(sorted);
  return found;
}

/* The operands of a side one after another along the dimension that is summed over: that of the
 * first. */
static MlirValue sums_join(loom_builder *b, const sums_chain *chain, int side) {
  int64_t axis = chain->product[0].depth[side], turn[2] = {1, 0}, total = 0;
  MlirValue *parts = malloc(sizeof *parts * (size_t)chain->count);
  loom_type type;
  if (!parts) return (MlirValue){NULL};
  for (int i = 0; i < chain->count; i++) {
    MlirValue value = chain->product[i].value[side];
    if (!sums_type(value, &type)) break;
    if (chain->product[i].depth[side] != axis) {
      int64_t first = type.dims[0];
      type.dims[0] = type.dims[1];
      type.dims[1] = first;
      MlirType turned = loom_type_to_mlir(b->ctx, &type);
      loom_named perm = {"perm", loom_attr_i64s(b->ctx, 2, turn)};
      value = loom_result(loom_build_op(b, LOOM_OP_TRANSPOSE, 1, &value, 1, &turned, 1, &perm), 0);
    }
    parts[i] = value;
    total += type.dims[axis];
  }
  type.dims[axis] = total;
  MlirType joined = loom_type_to_mlir(b->ctx, &type);
  loom_named attr = {"axis", loom_attr_i64(b->ctx, axis)};
  MlirOperation op =
      loom_build_op(b, LOOM_OP_CONCATENATE, chain->count, parts, 1, &joined, 1, &attr);
  free(parts);
  return loom_result(op, 0);
}

/* Do all readers of a value come behind `op`? */
static bool sums_are_read_behind(MlirValue value, MlirOperation op) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (!mlirOperationIsBeforeInBlock(op, mlirOpOperandGetOwner(use))) return false;
  return true;
}

/* One product in place of the additions that end in `root`. */
static void sums_replace(MlirOperation root, sums_chain *chain) {
  int64_t rows = chain->type.dims[0], columns = chain->type.dims[1], depth = 0;
  int side = 0;
  for (int i = 0; i < chain->count; i++)
    depth += sums_depth(&chain->product[i]);
  MlirOperation joined = sums_joined(chain, side), at = root;
  if (!joined.ptr) joined = sums_joined(chain, side = 1);
  if (joined.ptr && mlirOperationIsBeforeInBlock(root, joined)) at = joined;
  int64_t moved = (joined.ptr && side == 0 ? 0 : rows) + (joined.ptr && side == 1 ? 0 : columns);
  /* Operands would be there for long that need more memory than the sums. */
  if (depth * moved > 2 * rows * columns) {
    loom_remark(LOOM_REMARK_MISSED, mlirOperationGetLocation(root), "join",
                "%d products that are added up stay apart: their operands are larger than the sum",
                chain->count);
    return;
  }
  if (!mlirOperationEqual(at, root) && !sums_are_read_behind(loom_result(root, 0), at)) return;
  loom_builder b = loom_builder_before(mlirOperationGetNextInBlock(at));
  MlirValue in[2];
  for (int i = 0; i < 2; i++) {
    in[i] = joined.ptr && i == side ? loom_result(joined, 0) : sums_join(&b, chain, i);
    if (!in[i].ptr) return;
  }
  loom_named attrs[] = {{"lhs_batch", loom_attr_i64s(b.ctx, 0, NULL)},
                        {"rhs_batch", loom_attr_i64s(b.ctx, 0, NULL)},
                        {"lhs_contract", loom_attr_i64s(b.ctx, 1, &chain->product[0].depth[0])},
                        {"rhs_contract", loom_attr_i64s(b.ctx, 1, &chain->product[0].depth[1])}};
  MlirType type = mlirValueGetType(loom_result(root, 0));
  MlirOperation product = loom_build_op(&b, LOOM_OP_DOT_GENERAL, 2, in, 1, &type, 4, attrs);
  mlirValueReplaceAllUsesOfWith(loom_result(root, 0), loom_result(product, 0));
  loom_count(0, chain->count);
  loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(root), "join",
              "%d products that are added up are one product", chain->count);
}

static bool sums_join_products(MlirOperation add, void *user) {
  sums_chain *chain = user;
  if (loom_is(add, LOOM_OP_ADD) && !sums_is_inner(add) &&
      sums_type(loom_result(add, 0), &chain->type) && chain->type.rank == 2 &&
      loom_num_elements(&chain->type) > 0 && sums_collect(add, chain) && sums_are_flat(chain))
    sums_replace(add, chain);
  return true;
}

static bool sums_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  sums_chain chain = {0};
  bool open = loom_option(function, loom_mark_open_sums).ptr ||
              loom_option(function, loom_mark_fastmath).ptr;
  if (!block.ptr || !open) return true;
  loom_walk_block(block, sums_add_rows, NULL);
  chain.product = malloc(sizeof *chain.product * SUMS_MOST);
  if (!chain.product) return loom_emit_error(mlirOperationGetLocation(function), "out of memory");
  loom_walk_block(block, sums_join_products, &chain);
  free(chain.product);
  loom_sweep(block);
  return true;
}

MlirPass loom_make_sums_pass(void) {
  static const loom_pass_spec spec = {.name = "LoomSums",
                                      .flag = "loom-sums",
                                      .summary = "Add up large arrays without one for each term",
                                      .root = "builtin.module",
                                      .each_function = true,
                                      .run = sums_run,
                                      .counters = {{"products", "products that became one"}}};
  return loom_pass_of(&spec);
}
