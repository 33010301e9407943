/* Views as layouts: where the elements of a view lie in the buffer under it. */
#include "loom_ops_shapes.h"
#include "passes/passes.h"

#include "dialects/ir.h"

#include <string.h>

static bool view_broadcast(MlirOperation op, const loom_layout *in, loom_layout *out) {
  int64_t dims[LOOM_MAX_RANK];
  if (loom_get_i64s(op, "dims", dims, LOOM_MAX_RANK) != in->type.rank) return false;
  for (int i = 0; i < in->type.rank; i++)
    if (in->type.dims[i] == out->type.dims[dims[i]]) out->strides[dims[i]] = in->strides[i];
  return true;
}

static bool view_transpose(MlirOperation op, const loom_layout *in, loom_layout *out) {
  int64_t perm[LOOM_MAX_RANK];
  if (loom_get_i64s(op, "perm", perm, LOOM_MAX_RANK) != in->type.rank) return false;
  for (int i = 0; i < in->type.rank; i++)
    out->strides[i] = in->strides[perm[i]];
  return true;
}

static bool view_slice(MlirOperation op, const loom_layout *in, loom_layout *out) {
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  if (loom_get_i64s(op, "starts", starts, LOOM_MAX_RANK) != in->type.rank ||
      loom_get_i64s(op, "steps", steps, LOOM_MAX_RANK) != in->type.rank)
    return false;
  for (int i = 0; i < in->type.rank; i++) {
    out->base = loom_num_add(out->base, loom_num_mul(in->strides[i], starts[i]));
    out->strides[i] = loom_num_mul(in->strides[i], steps[i]);
  }
  return true;
}

static bool view_windows(MlirOperation op, const loom_layout *in, loom_layout *out) {
  int64_t strides[LOOM_MAX_RANK], dilation[LOOM_MAX_RANK];
  int rank = in->type.rank;
  if (loom_get_i64s(op, "strides", strides, LOOM_MAX_RANK) != rank ||
      loom_get_i64s(op, "dilation", dilation, LOOM_MAX_RANK) != rank)
    return false;
  for (int i = 0; i < rank; i++) {
    out->strides[i] = loom_num_mul(in->strides[i], strides[i]);
    out->strides[rank + i] = loom_num_mul(in->strides[i], dilation[i]);
  }
  return true;
}

bool loom_layout_view(MlirOperation op, const loom_layout *in, loom_layout *out) {
  *out = (loom_layout){.base = in->base};
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &out->type)) return false;
  switch (loom_op_of(op)) {
  case LOOM_OP_BROADCAST: return view_broadcast(op, in, out);
  case LOOM_OP_TRANSPOSE: return view_transpose(op, in, out);
  case LOOM_OP_SLICE: return view_slice(op, in, out);
  case LOOM_OP_WINDOWS: return view_windows(op, in, out);
  case LOOM_OP_RESHAPE:
    return loom_reshape_strides(&in->type, in->strides, &out->type, out->strides);
  default: return false;
  }
}

MlirValue loom_buffer_root(MlirValue value) {
  for (MlirOperation def = loom_def(value); def.ptr && loom_info(def)->alias; def = loom_def(value))
    value = loom_operand(def, 0);
  return value;
}

MlirValue loom_view_root(MlirValue value) {
  for (MlirOperation def = loom_def(value); def.ptr && loom_class_of(def) == LOOM_CLASS_VIEW;
       def = loom_def(value))
    value = loom_operand(def, 0);
  return value;
}

bool loom_layout_follow(MlirValue value, MlirValue root, const loom_layout *of_root,
                        loom_layout *out) {
  loom_layout in;
  if (value.ptr == root.ptr) {
    *out = *of_root;
    return true;
  }
  MlirOperation def = loom_def(value);
  return def.ptr && loom_class_of(def) == LOOM_CLASS_VIEW &&
         loom_layout_follow(loom_operand(def, 0), root, of_root, &in) &&
         loom_layout_view(def, &in, out);
}
