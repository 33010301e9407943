/* What decode.c and encode.c have to know about a version's instructions, besides opcodes.def. */
#ifndef LOOM_FRONTEND_OPCODES_H
#define LOOM_FRONTEND_OPCODES_H

#include "frontend/base/python.h"

#include <opcode.h>
#include <stdbool.h>

/* The argument of COMPARE_OP: its upper bits are the comparison, its lower bits are for the
 * interpreter. One of the lower bits asks for the truth of the result. */
#if LOOM_PYTHON >= 313
#define OPCODE_COMPARE_SHIFT 5
#define OPCODE_COMPARE_TRUTH 16
#elif LOOM_PYTHON >= 312
#define OPCODE_COMPARE_SHIFT 4
#define OPCODE_COMPARE_TRUTH 0
#else
#define OPCODE_COMPARE_SHIFT 0
#define OPCODE_COMPARE_TRUTH 0
#endif

/* FOR_ITER goes on behind the END_FOR (and, from 3.13 on, the POP_TOP) that stands at its target,
 * units. */
#define OPCODE_FOR_SKIPS (LOOM_PYTHON >= 313 ? 2 : LOOM_PYTHON >= 312 ? 1 : 0)

/* From 3.13 on the NULL of a call is above the callable on the stack, before that below it. */
#define OPCODE_NULL_ABOVE (LOOM_PYTHON >= 313)

#if LOOM_PYTHON >= 312
/* Numbers of CALL_INTRINSIC_1. */
enum {
  OPCODE_STOPITERATION_ERROR = 3,
  OPCODE_INTRINSIC_POSITIVE = 5,
  OPCODE_INTRINSIC_LIST_TO_TUPLE = 6
};
#endif

/* Jumps that can be made again as jumps forward: (name, as a jump forward, direction, inline
 * caches). */
#if LOOM_PYTHON >= 312
#define OPCODE_JUMPS(JUMP)                                                                         \
  JUMP(FOR_ITER, FOR_ITER, 1, 1)                                                                   \
  JUMP(POP_JUMP_IF_FALSE, POP_JUMP_IF_FALSE, 1, LOOM_PYTHON >= 313)                                \
  JUMP(POP_JUMP_IF_TRUE, POP_JUMP_IF_TRUE, 1, LOOM_PYTHON >= 313)                                  \
  JUMP(POP_JUMP_IF_NONE, POP_JUMP_IF_NONE, 1, LOOM_PYTHON >= 313)                                  \
  JUMP(POP_JUMP_IF_NOT_NONE, POP_JUMP_IF_NOT_NONE, 1, LOOM_PYTHON >= 313)
#define OPCODE_JUMP_IF_TRUE POP_JUMP_IF_TRUE
#else
#define OPCODE_JUMPS(JUMP)                                                                         \
  JUMP(FOR_ITER, FOR_ITER, 1, 0)                                                                   \
  JUMP(JUMP_IF_FALSE_OR_POP, JUMP_IF_FALSE_OR_POP, 1, 0)                                           \
  JUMP(JUMP_IF_TRUE_OR_POP, JUMP_IF_TRUE_OR_POP, 1, 0)                                             \
  JUMP(POP_JUMP_FORWARD_IF_FALSE, POP_JUMP_FORWARD_IF_FALSE, 1, 0)                                 \
  JUMP(POP_JUMP_FORWARD_IF_TRUE, POP_JUMP_FORWARD_IF_TRUE, 1, 0)                                   \
  JUMP(POP_JUMP_FORWARD_IF_NONE, POP_JUMP_FORWARD_IF_NONE, 1, 0)                                   \
  JUMP(POP_JUMP_FORWARD_IF_NOT_NONE, POP_JUMP_FORWARD_IF_NOT_NONE, 1, 0)                           \
  JUMP(POP_JUMP_BACKWARD_IF_FALSE, POP_JUMP_FORWARD_IF_FALSE, -1, 0)                               \
  JUMP(POP_JUMP_BACKWARD_IF_TRUE, POP_JUMP_FORWARD_IF_TRUE, -1, 0)                                 \
  JUMP(POP_JUMP_BACKWARD_IF_NONE, POP_JUMP_FORWARD_IF_NONE, -1, 0)                                 \
  JUMP(POP_JUMP_BACKWARD_IF_NOT_NONE, POP_JUMP_FORWARD_IF_NOT_NONE, -1, 0)
#define OPCODE_JUMP_IF_TRUE POP_JUMP_FORWARD_IF_TRUE
#endif

static inline bool opcode_prepares_call(int opcode) {
#if LOOM_PYTHON <= 311
  if (opcode == PRECALL) return true;
#endif
#if LOOM_PYTHON <= 312
  return opcode == KW_NAMES;
#else
  return false;
#endif
}

/* From 3.13 on a jump wants a bool, which TO_BOOL makes of what is on the stack. */
static inline bool opcode_asks_truth(int opcode) {
#if LOOM_PYTHON >= 313
  return opcode == TO_BOOL;
#else
  return false;
#endif
}
#define OPCODE_TO_BOOL_CACHES 3
#define OPCODE_CONTAINS_CACHES (LOOM_PYTHON >= 313)

/* Does the instruction act on the truth of the item on the stack? */
static inline bool opcode_takes_truth(int opcode) {
#if LOOM_PYTHON >= 313
  return opcode == POP_JUMP_IF_FALSE || opcode == POP_JUMP_IF_TRUE || opcode == UNARY_NOT;
#else
  return false;
#endif
}

/* Is it an unconditional jump? */
static inline bool opcode_jumps(int opcode) {
  return opcode == JUMP_FORWARD || opcode == JUMP_BACKWARD;
}

static inline bool opcode_ends(int opcode) {
#if LOOM_PYTHON >= 312
  if (opcode == RETURN_CONST) return true;
#endif
  return opcode == RETURN_VALUE || opcode == RAISE_VARARGS || opcode == RERAISE;
}

#endif
