/* What the files of loom-simplify share: questions about ops, and the rules of two files.
 *
 * A rule gets an op and the op that defines one of its operands, of the opcodes that the table in
 * simplify.c names (null where any value will do and a block argument is there). It returns true
 * where it has replaced the op, which is gone then.
 */
#ifndef LOOM_SIMPLIFY_H
#define LOOM_SIMPLIFY_H

#include "dialects/ir.h"

typedef bool simplify_rule(MlirOperation op, MlirOperation def);

/* ---- simplify.c: what rules ask and do ---- */

/* Readers of the op's result read `value`, and the op is gone. Returns true. */
bool simplify_replace(MlirOperation op, MlirValue value);
/* The types of the first operand and of the result; false where one is no tensor of ours. */
bool simplify_types(MlirOperation op, loom_type *in, loom_type *out);
/* Are all sizes known? */
bool simplify_static(const loom_type *type);
/* Has the result the type of the first operand? */
bool simplify_same_type(MlirOperation op);
bool simplify_used_once(MlirValue value);

/* ---- simplify_view.c: views ---- */

/* A view of `operand` before `at`, with the attribute `attr` (NULL: it has none). */
MlirValue simplify_build_view(MlirOperation at, loom_opcode code, MlirValue operand, MlirType type,
                              const char *attr, intptr_t count, const int64_t *values);
/* A view of a constant is the constant at the view's type. */
simplify_rule simplify_view_of_constant;
/* A view that changes nothing is its operand, and a view of a view is one view. */
simplify_rule simplify_reshape_of_same, simplify_reshape_of_reshape;
simplify_rule simplify_transpose_of_same, simplify_transpose_of_transpose;
simplify_rule simplify_transpose_of_broadcast;
simplify_rule simplify_slice_of_same, simplify_slice_of_slice, simplify_pad_of_nothing;
simplify_rule simplify_broadcast_of_same, simplify_broadcast_of_broadcast;
/* ... where the reshape only adds dimensions of size 1. */
simplify_rule simplify_broadcast_of_reshape;
/* slice(update_slice(x, u)) of the same region is u when nobody else reads the updated array. If
 * somebody does, reading the region there costs less than keeping u as well. */
simplify_rule simplify_slice_of_update;
/* An update of the whole array is the new value. */
simplify_rule simplify_update_of_all;
/* An update of a region by the region's own elements is the array. */
simplify_rule simplify_update_by_slice;
/* Two updates of one region are the second. */
simplify_rule simplify_update_of_update;
/* Writing through a view: update(x, update(slice(x, A), u, B), A) is update(x, u, A then B). */
simplify_rule simplify_update_of_view;
/* Where the dimensions of `small` are in `large` when a reshape between them only adds dimensions
 * of size 1. Dimensions of size 1 are matched from the left. */
bool simplify_unit_map(const loom_type *small, const loom_type *large, int64_t *where);

/* ---- simplify_reshape.c: reshapes and pointwise ops ---- */

/* op(reshape(x), y) -> reshape(op(x, reshape'(y))) when the reshape only adds dimensions of size 1
 * to a computed value. */
bool simplify_sink_reshape(MlirOperation op);
/* reduce(reshape(x)) -> reshape(reduce(x)) when the reshape only adds dimensions of size 1 to a
 * computed value. So the sum is taken at the rank at which its terms were computed. */
simplify_rule simplify_sink_below_reduce;
/* reshape(broadcast(x)) -> broadcast(x) when the reshape only drops dimensions of size 1. */
simplify_rule simplify_reshape_of_broadcast;
/* reshape(op(x, y)) -> op(reshape(x), reshape(y)) when nobody else reads the op and the operands'
 * reshapes are free. A returned reshape is its operand's buffer as it is. */
simplify_rule simplify_raise_reshape;
/* reshape(op(x, y)) -> op(reshape(x), reshape(y)) when the reshape only drops dimensions of size 1
 * and every reader of the op is such a reshape. Replaces all of them. */
simplify_rule simplify_raise_drop;

#endif
