/* Opcodes, generated from dialects/loom.td: LOOM_OP_ADD, ... Those of graphs come first; behind
 * LOOM_OP_COUNT are those of the ops that only the compiler makes (LOOM_OP_FUSION, ...). */
#ifndef LOOM_OPS_H
#define LOOM_OPS_H

enum {
#define LOOM_OP(ENUM, NAME) LOOM_OP_##ENUM,
#include "loom_names.inc"
  LOOM_OP_COUNT, /* ops of a graph; as an opcode: no op of the table */
#define LOOM_OP_INTERNAL(ENUM, NAME) LOOM_OP_##ENUM,
#include "loom_names.inc"
  LOOM_OP_END
};

#endif
