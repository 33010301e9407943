/* Symbolic sizes of a captured graph on a call, and which symbols they are made of. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"

uint64_t size_symbols(const loom_graph *graph, uint32_t index) {
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_CONST) return 0;
  if (e->kind == LOOM_EXPR_SYMBOL) return (uint64_t)1 << e->value;
  return size_symbols(graph, e->lhs) | size_symbols(graph, e->rhs);
}

bool size_type_is_late(const loom_graph *graph, const loom_type *type, uint64_t late) {
  for (int i = 0; i < type->rank && late; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i]) &&
        (size_symbols(graph, LOOM_DIM_EXPR(type->dims[i])) & late))
      return true;
  return false;
}

bool size_type_is_symbolic(const loom_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i])) return true;
  return false;
}

bool size_resolve(const loom_graph *graph, const loom_type *type, const int64_t *strides,
                  const int64_t *symbols, loom_type *type_out, int64_t *strides_out) {
  *type_out = *type;
  int64_t total = 1;
  for (int i = 0; i < type->rank; i++) {
    if (!loom_dim_eval(graph, type->dims[i], symbols, &type_out->dims[i]) ||
        type_out->dims[i] < 0 || __builtin_mul_overflow(total, type_out->dims[i], &total))
      return false;
    if (strides && !loom_stride_eval(graph, strides[i], symbols, &strides_out[i])) return false;
  }
  return true;
}
