/* Tensors that get other sizes in place (unsqueeze_(), t_() and their like): the value stays, and
 * is seen in another way from here on. Views that were made of it before stay what they are. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"

#include <string.h>

/* What the tensor was, as a view of what it is; `now` is the view of it that it becomes. */
static value *reshaped_back(tracer *t, np_array *of, const np_array *was, const np_array *now) {
  int64_t inverse[LOOM_MAX_RANK];
  if (now->kind != VIEW_TRANSPOSE)
    return np_view_reshape(t, of, was->type.rank, was->type.dims, was->strides);
  for (int i = 0; i < was->type.rank; i++)
    inverse[now->a[i]] = i;
  return np_view_transpose(t, of, inverse);
}

/* A tensor that owns its memory goes on doing so: views of what it was become views of it. */
static bool reshaped_root(tracer *t, value *v, np_array *view, const tensor_look *look) {
  np_array *was = np_layout_of(v), *now = trace_alloc(t, sizeof *now);
  np_storage *s = was->storage;
  loom_value node = now ? np_read(t, view) : LOOM_NO_VALUE;
  if (node == LOOM_NO_VALUE) return false;
  *now = *was;
  now->type = look->type;
  now->node = LOOM_NO_VALUE;
  memcpy(now->strides, look->strides, sizeof now->strides);
  value *back = reshaped_back(t, now, was, view);
  if (!back) return false;
  int64_t strides[LOOM_MAX_RANK];
  memcpy(strides, was->strides, sizeof strides);
  *was = *np_layout_of(back);
  memcpy(was->strides, strides, sizeof strides);
  s->current = node;
  s->version++;
  s->written[0] = now;
  s->written_count = s->written_count != 0;
  v->array.layout = now;
  return true;
}

/* Is it a tensor of which nobody else but views of it knows? */
static bool reshaped_is_own(const value *v) {
  const np_storage *s = np_layout_of(v)->storage;
  return s->root == v && !s->source && !s->list && !s->placed && !s->crossed && !v->lent;
}

static bool reshaped_break(tracer *t, const char *name) {
  if (!trace_pending(t))
    trace_break(t, BREAK_TENSOR,
                "%s_() of a tensor from before the call, or of what is a view here", name);
  return false;
}

bool tensor_emit_reshape(tracer *t, PyObject *meta, PyObject *before, PyObject *view) {
  const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(view, 0));
  value *v = tensor_of_meta(t, meta);
  tensor_look look, base;
  int64_t offset;
  if (!v || !name) return reshaped_break(t, name ? name : "?");
  np_array *was = np_layout_of(v);
  bool root = was->kind == VIEW_ROOT;
  if (root && !reshaped_is_own(v)) return reshaped_break(t, name);
  if (!tensor_look_at(t, meta, &look) || !tensor_look_at(t, before, &base)) return false;
  value *made = tensor_view(t, was, base.offset, &look, name, PyTuple_GET_ITEM(view, 1));
  np_array *now = made ? np_layout_of(made) : NULL;
  if (trace_pending(t) ||
      !size_minus(t, np_plus(t, was->offset, look.offset), base.offset, &offset))
    return false;
  if (!now || !tensor_view_agrees(t, now, &look, offset)) return reshaped_break(t, name);
  if (now->kind == VIEW_ROOT || (root && now->parent != was)) return reshaped_break(t, name);
  if (root && !reshaped_root(t, v, now, &look)) return false;
  if (!root) {
    now->detached = was->detached;
    memcpy(now->strides, look.strides, sizeof look.strides);
    v->array.layout = now;
  }
  return tensor_stands_for(t, meta, v);
}
