/* Where an operation may raise a floating-point flag, told by what goes into it alone. */
#ifndef LOOM_FRONTEND_DOMAIN_H
#define LOOM_FRONTEND_DOMAIN_H

#include "graph/build.h"

/* Does domain_raises tell of this operation on integers? */
bool domain_has_integers(loom_opcode op);

/* `*where` gets a bool for each element of the result: may this operation on floats (or integers,
 * if domain_has_integers), of operands of the result's shape, raise `flag` (one of LOOM_FP_DIVIDE,
 * OVERFLOW, INVALID) there? It is true wherever it does, and LOOM_NO_VALUE when it never does.
 * False: its operands alone do not tell. */
bool domain_raises(loom_builder *b, loom_opcode op, const loom_value *operands, uint32_t flag,
                   loom_value *where);

#endif
