/* Emitters: what an operation of torch's becomes, and what they share. */
#ifndef LOOM_FRONTEND_TORCH_EMIT_INTERNAL_H
#define LOOM_FRONTEND_TORCH_EMIT_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/fx.h"
#include "graph/emit.h"
#include "graph/graph.h"

/* ---- fx_args.c: arguments of an ATen call ---- */

/* Declines: the op runs through torch, for this reason. Always false. */
bool fx_decline(fx_call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool fx_has(const fx_call *c, int i); /* given and not None */
bool fx_is_tensor(const fx_call *c, int i);
/* Operand `i`, which has to be a tensor; LOOM_NO_VALUE after a failure of the builder. */
loom_value fx_tensor(fx_call *c, int i);
/* fx_tensor() as `dtype`. Halves that were just computed are not rounded in between: like torch's
 * own compiler, and closer to the exact result than eager torch. */
loom_value fx_tensor_as(fx_call *c, int i, loom_dtype dtype);
/* A computed value as the declared dtype of result `i`. */
loom_value fx_round(fx_call *c, uint32_t i, loom_value v);
/* The tensors of a list; -1 after a failure. */
int fx_tensors(fx_call *c, int i, loom_value *out, int capacity);
/* Operand `i`, tensor or number, as `dtype` in the shape of the first result. */
loom_value fx_operand(fx_call *c, int i, loom_dtype dtype, const loom_type *shape);
/* torch.result_type of the given operands (tensors, 0-d tensors and numbers rank differently). */
bool fx_promote(fx_call *c, const int *operands, int count, loom_dtype *out);
bool fx_int(fx_call *c, int i, int64_t *out); /* these decline when the argument has another type */
bool fx_double(fx_call *c, int i, double *out);
bool fx_bool(fx_call *c, int i, bool *out);
int fx_ints(fx_call *c, int i, int64_t *out, int capacity);  /* the count, or -1 */
int fx_dims(fx_call *c, int i, loom_dim *out, int capacity); /* sizes, maybe symbolic */
bool fx_number(fx_call *c, int i, int64_t *out);             /* an int, maybe symbolic */
int fx_numbers(fx_call *c, int i, int64_t *out, int capacity);
/* A number, maybe symbolic, as a tensor of this type. */
loom_value fx_number_value(fx_call *c, const loom_type *type, int64_t number);
/* The product of the sizes over the axes of a mask, maybe symbolic. */
bool fx_product(fx_call *c, const loom_type *type, uint32_t axes, int64_t *out);
const char *fx_text(fx_call *c, int i); /* "" when None */
/* An axis in [0, rank). */
bool fx_axis(fx_call *c, int i, int rank, int *out);
/* Has this argument, one of the graph's, its channels (axis 1) side by side in memory? */
bool fx_is_channels_last(fx_call *c, int i);
/* A mask of axes; None and the empty list are all of them. */
bool fx_axes(fx_call *c, int i, int rank, uint32_t *out);
/* `v` at the positions `at` (a vector) along an axis. A position out of bounds reads an arbitrary
 * element. */
loom_value fx_take_along(fx_call *c, loom_value v, int axis, loom_value at);
/* A vector along `axis` broadcast to `type`. */
loom_value fx_spread_line(fx_call *c, loom_value line, int axis, const loom_type *type);
/* Elements of a type over the axes of a mask; -1 when symbolic. */
int64_t fx_count(const loom_type *type, uint32_t axes);
/* Has it a size 0, or more elements than can be counted? */
bool fx_is_empty(const loom_type *type);
/* Are the sizes from axis `first` on no symbolic ones? */
bool fx_sizes_known(const loom_type *type, int first);
/* The dtype in which torch computes on this one: float32 for the halves. */
loom_dtype fx_compute_dtype(loom_dtype dtype);

/* ---- fx_real.c: symbolic floats ---- */

/* Is this the type of a symbolic float? */
bool fx_is_real(PyObject *meta);
loom_value fx_real(fx_call *c, PyObject *args);

/* ---- aten.c: the table of ATen ops ---- */

/* Emits a call: its results in `out`. False: declined, or the builder has failed. */
typedef bool (*aten_emit)(fx_call *c, loom_value *out);

typedef struct aten_row {
  const char *name; /* "add.Tensor" */
  aten_emit emit;
  loom_opcode op;
  const char *text;
} aten_row;

const aten_row *aten_find(const char *name);
/* Does the emitter take symbolic sizes (aten_sized.def)? */
bool aten_takes_sizes(const aten_row *row);

#define ATEN(NAME, EMIT, OP, TEXT) bool aten_##EMIT(fx_call *c, loom_value *out);
#include "frontend/torch/aten.def"
#undef ATEN

/* ---- aten_complex.c: complex numbers ---- */

/* Are all nodes from this one on that have to do with complex numbers supported by kernels? If not,
 * it declines. */
bool fx_complex_ok(fx_call *c, uint32_t first_node);
bool fx_is_complex_operand(fx_call *c, int i);
bool fx_complex_abs(fx_call *c, loom_value *out); /* of operand 0 */
bool fx_complex_angle(fx_call *c, loom_value *out);
bool fx_complex_to_real(fx_call *c, loom_value *out);

/* ---- aten_strided.c: views of a storage by strides ---- */

/* strided_reads_storage(): does this op read its operand's storage? strided_takes_whole(): may it,
 * since the operand is the whole of its storage? False with an exception. */
bool strided_reads_storage(const char *name);
bool strided_takes_whole(fx_call *c);

#endif
