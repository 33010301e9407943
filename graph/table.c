/* The op table, generated from dialects/loom.td. */
#include "graph/graph.h"

#include <string.h>

const loom_op_info loom_op_table[LOOM_OP_COUNT] = {
#define LOOM_OP(ENUM, NAME, OPERANDS, RESULTS, REGIONS, SHAPE, LOWER, FP, DTYPES, ...)             \
  [LOOM_OP_##ENUM] = {NAME, OPERANDS, RESULTS, REGIONS, SHAPE, LOWER, FP, DTYPES, {__VA_ARGS__}},
#include "loom_ops.inc"
#undef LOOM_OP
};

bool loom_op_from_name(const char *name, loom_opcode *out) {
  for (int i = 0; i < LOOM_OP_COUNT; i++)
    if (strcmp(loom_op_table[i].name, name) == 0) {
      *out = (loom_opcode)i;
      return true;
    }
  return false;
}
