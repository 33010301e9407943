/* Sizes that are known only when a plan runs. A host call with the effect "sizes" reports them. An
 * op that has such a size has to come after that call, even if it reads none of the call's results.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "passes/passes.h"

static bool late_is_told(MlirOperation op) {
  if (loom_class_of(op) != LOOM_CLASS_HOST) return false;
  MlirStringRef words = loom_get_str(op, "effects");
  for (size_t i = 0; i + 5 <= words.length; i++)
    if (!memcmp(words.data + i, "sizes", 5)) return true;
  return false;
}

/* The symbol that a size is, or -1. */
static int64_t late_symbol(loom_dim dim) {
  const loom_expr *expr = LOOM_DIM_IS_SYM(dim) ? &loom_sizes()->exprs[LOOM_DIM_EXPR(dim)] : NULL;
  return expr && expr->kind == LOOM_EXPR_SYMBOL ? expr->value : -1;
}

/* The symbols that are sizes of a value and belong to nobody yet are those of call `call`; -1: they
 * are known before the plan runs. */
static void late_mark(loom_late *late, MlirValue value, int32_t call) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return;
  for (int d = 0; d < type.rank; d++) {
    int64_t symbol = late_symbol(type.dims[d]);
    if (symbol >= 0 && !late->told[symbol]) late->told[symbol] = call;
  }
}

bool loom_late_find(loom_late *late, MlirBlock block) {
  uint32_t symbols = loom_sizes()->symbol_count;
  *late = (loom_late){.symbols = symbols};
  if (!symbols) return true;
  late->told = calloc(symbols, sizeof *late->told);
  late->calls = calloc(symbols + 1u, sizeof *late->calls);
  if (!late->told || !late->calls) return false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    late_mark(late, mlirBlockGetArgument(block, i), -1);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!late_is_told(op)) continue;
    int32_t call = late->count + 1;
    bool tells = false;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
      late_mark(late, loom_result(op, i), call);
    for (uint32_t i = 0; i < symbols && !tells; i++)
      tells = late->told[i] == call;
    if (tells) late->calls[late->count++] = op;
  }
  for (uint32_t i = 0; i < symbols; i++)
    if (late->told[i] < 0) late->told[i] = 0;
  return true;
}

void loom_late_fini(loom_late *late) {
  free(late->told);
  free(late->calls);
}

int32_t loom_late_number(const loom_late *late, int64_t number) {
  if (!late->count || !LOOM_STRIDE_IS_SYM(number)) return 0;
  const loom_expr *expr = &loom_sizes()->exprs[LOOM_STRIDE_EXPR(number)];
  if (expr->kind == LOOM_EXPR_CONST) return 0;
  if (expr->kind == LOOM_EXPR_SYMBOL) return late->told[expr->value];
  int32_t lhs = loom_late_number(late, LOOM_STRIDE_SYM(expr->lhs));
  int32_t rhs = loom_late_number(late, LOOM_STRIDE_SYM(expr->rhs));
  return lhs > rhs ? lhs : rhs;
}

int32_t loom_late_value(const loom_late *late, MlirValue value) {
  loom_type type;
  int32_t last = 0;
  if (!late->count || !loom_type_from_mlir(mlirValueGetType(value), &type)) return 0;
  for (int d = 0; d < type.rank; d++) {
    int32_t call = loom_late_number(late, loom_num_dim(type.dims[d]));
    if (call > last) last = call;
  }
  return last;
}

intptr_t loom_late_told(const loom_late *late, int32_t call, int64_t *out, intptr_t room) {
  intptr_t count = 0;
  for (uint32_t i = 0; i < late->symbols && count < room; i++)
    if (late->told[i] == call) out[count++] = i;
  return count;
}
