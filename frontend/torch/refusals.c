/* What eager torch refuses because of the elements of its arguments. What describes results without
 * elements, as capture and AOTAutograd do, loses such checks unless an op makes them. */
#include "frontend/base/base.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/index_internal.h"
#include "frontend/torch/torch_internal.h"
#include "graph/emit.h"
#include "loom_ops_logic.h"

#include <string.h>

/* Beginnings of the names of ops that raise for some elements. */
static const char *const refusals_ops[] = {"_linalg_",
                                           "linalg_",
                                           "cholesky",
                                           "geqrf",
                                           "lu_",
                                           "svd",
                                           "qr",
                                           "_ctc_loss",
                                           "max_unpool",
                                           "searchsorted",
                                           "bincount",
                                           "repeat_interleave",
                                           "masked_scatter",
                                           "histc",
                                           "histogram",
                                           "_histogram",
                                           "segment_reduce",
                                           "take",
                                           "put",
                                           "index",
                                           "gather",
                                           "scatter",
                                           "embedding",
                                           "_embedding_bag",
                                           "nll_loss",
                                           "multi_margin_loss",
                                           "multilabel_",
                                           "div",
                                           "floor_divide",
                                           "remainder",
                                           "fmod",
                                           "pow",
                                           "_assert",
                                           "is_nonzero",
                                           "unique_",
                                           NULL};

bool host_refuses_elements(const fx_call *c) {
  PyObject *text = c->im->keeps_refusals ? PyObject_Str(c->target) : NULL;
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  bool found = false;
  for (int i = 0; name && !strncmp(name, "aten.", 5) && refusals_ops[i] && !found; i++)
    found = !strncmp(name + 5, refusals_ops[i], strlen(refusals_ops[i]));
  found |= name && !strcmp(name, "frameloom.ctc_loss.default");
  error_drop();
  Py_XDECREF(text);
  return found;
}

bool refusals_check_all(fx_call *c, loom_value good) {
  if (good == LOOM_NO_VALUE) return false;
  uint32_t axes = (UINT32_C(1) << loom_emit_type(c->b, good)->rank) - 1;
  return index_check(c, axes ? loom_emit_reduce(c->b, "and", good, axes, false) : good);
}

/* frameloom.checked(x, low, high, words): x, all of whose elements have to be in [low, high]; a NaN
 * is not. (_torch_checked.py) */
bool aten_checked(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  double low, high;
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE || !fx_double(c, 1, &low) || !fx_double(c, 2, &high)) return false;
  loom_type type = *loom_emit_type(b, v);
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value wide = loom_emit_convert(b, v, type.dtype);
  loom_value above = loom_emit_compare(b, "ge", wide, loom_emit_float(b, &type, low));
  loom_value below = loom_emit_compare(b, "le", wide, loom_emit_float(b, &type, high));
  out[0] = v;
  return refusals_check_all(c, loom_emit2(b, LOOM_OP_AND, above, below));
}
