/* All opcodes, LOOM_OP_ADD and so on, for files that have a table of ops. What names a few of them
 * includes the headers of their groups, and is not built anew for an op of another group. */
#ifndef LOOM_OPS_H
#define LOOM_OPS_H

#include "loom_ops_arithmetic.h"
#include "loom_ops_compiler.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#endif
