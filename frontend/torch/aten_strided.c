/* as_strided and its like: elements of an operand by their place in its memory.
 *
 * Torch's "memory" is the operand's storage. A value of the graph knows its storage only if it is
 * the whole of it. The emitters here take such an operand in C order; torch itself is called for
 * one in any other order. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/index_internal.h"
#include "frontend/torch/torch.h"
#include "graph/emit.h"
#include "loom_ops_elements.h"

#include <string.h>

typedef struct strided {
  loom_type base, places; /* the operand; int64 in the shape of the view */
  int64_t strides[LOOM_MAX_RANK], offset;
  loom_dim elements; /* of the base */
} strided;

bool strided_reads_storage(const char *name) {
  return strstr(name, "as_strided") || strstr(name, "_reshape_alias");
}

/* The placeholders in its storage: a call is another one when they are parts of theirs. */
static bool strided_demand(fx_import *im, fx_value *of) {
  int share = 0;
  for (uint32_t i = 0; i < im->value_count && share >= 0; i++) {
    fx_value *v = &im->values[i];
    if (v->kind != FX_TENSOR || v->placeholder < 0) continue;
    share = fx_share(v, of);
    if (share > 0) im->inputs[v->placeholder].whole = true;
  }
  return share >= 0;
}

bool strided_takes_whole(fx_call *c) {
  fx_value *v = fx_has(c, 0) ? fx_value_of(c->im, c->args[0]) : NULL;
  fx_place place = {0};
  torch_spec spec;
  int64_t strides[LOOM_MAX_RANK], dense[LOOM_MAX_RANK];
  bool good = v && v->kind == FX_TENSOR && fx_read_spec(c->im, v->meta, &spec);
  if (good) memcpy(strides, spec.strides, sizeof strides);
  good = good && fx_read_place(c->im, v->meta, &spec, &place) && place.offset == 0 && place.sized &&
         place.end == place.size && fx_spec_dense(c->im, &spec, dense);
  for (int i = 0; good && i < spec.rank; i++)
    good = spec.sizes[i] == 1 || strides[i] == dense[i];
  good = good && strided_demand(c->im, v);
  if (!good && !PyErr_Occurred())
    PyErr_Format(PyExc_NotImplementedError, "%S looks into the storage of a part of it", c->target);
  return good;
}

/* Is operand 0 in C order? */
static bool strided_base(fx_call *c, strided *s) {
  const fx_value *v = fx_has(c, 0) ? fx_value_of(c->im, c->args[0]) : NULL;
  torch_spec spec;
  int64_t ordered[LOOM_MAX_RANK];
  if (!v || v->kind != FX_TENSOR || !fx_read_spec(c->im, v->meta, &spec)) return false;
  s->base = *loom_emit_type(c->b, v->value);
  s->elements = loom_type_elements(&s->base);
  if (s->elements <= 0) return fx_decline(c, "a size that is unknown or 0");
  loom_contiguous_strides(&s->base, ordered);
  for (int i = 0; i < s->base.rank; i++)
    if (spec.sizes[i] != 1 && spec.strides[i] != ordered[i])
      return fx_decline(c, "an operand in another order than C");
  return true;
}

/* Arguments size, stride, storage_offset at `at`...; the view lies within the operand. */
static bool strided_read(fx_call *c, int at, strided *s) {
  if (!strided_base(c, s)) return error_drop(), fx_decline(c, "an operand of unknown layout");
  int64_t last = s->offset = 0;
  if (fx_has(c, at + 2) && !fx_int(c, at + 2, &s->offset)) return false;
  s->places = loom_type_make(LOOM_I64, 0, NULL);
  s->places.rank = fx_ints(c, at, s->places.dims, LOOM_MAX_RANK);
  if (s->places.rank < 0 || fx_ints(c, at + 1, s->strides, LOOM_MAX_RANK) != s->places.rank)
    return fx_decline(c, "sizes or strides that are not known");
  last = s->offset;
  for (int i = 0; i < s->places.rank; i++) {
    if (s->places.dims[i] < 1) return fx_decline(c, "a size that is unknown or 0");
    if (s->strides[i] < 0) return fx_decline(c, "a negative stride");
    last += (s->places.dims[i] - 1) * s->strides[i];
  }
  return (s->offset >= 0 && last < s->elements) || fx_decline(c, "a view beyond its operand");
}

/* Is the view a contiguous piece in C order? */
static bool strided_is_piece(const strided *s) {
  int64_t ordered[LOOM_MAX_RANK];
  loom_contiguous_strides(&s->places, ordered);
  for (int i = 0; i < s->places.rank; i++)
    if (s->places.dims[i] != 1 && s->strides[i] != ordered[i]) return false;
  return true;
}

/* Is each place of the view surely another one? Each axis then steps over all that those of smaller
 * strides reach. */
static bool strided_is_apart(const strided *s) {
  int64_t reach = 0;
  for (int next = 0, last = -1;; last = next) {
    next = -1;
    for (int i = 0; i < s->places.rank; i++) { /* by stride, axes of one stride in their order */
      bool later = last < 0 || s->strides[i] > s->strides[last] ||
                   (s->strides[i] == s->strides[last] && i > last);
      if (s->places.dims[i] > 1 && later && (next < 0 || s->strides[i] < s->strides[next]))
        next = i;
    }
    if (next < 0) break;
    if (s->strides[next] <= reach) return false;
    reach += s->strides[next] * (s->places.dims[next] - 1);
  }
  return true;
}

static loom_value strided_line(fx_call *c, const strided *s) {
  return loom_emit_reshape(c->b, fx_tensor(c, 0), 1, &s->elements);
}

/* as_strided and as_strided_copy(self, size, stride, storage_offset). */
bool aten_as_strided(fx_call *c, loom_value *out) {
  strided s = {0};
  if (!strided_read(c, 1, &s)) return false;
  loom_value line = strided_line(c, &s), v;
  if (strided_is_piece(&s))
    v = loom_emit_slice(c->b, line, 0, s.offset, loom_type_elements(&s.places), 1);
  else
    v = index_gather(c, line, index_strided(c, &s.places, s.strides, s.offset), 0);
  out[0] = loom_emit_reshape(c->b, v, s.places.rank, s.places.dims);
  return out[0] != LOOM_NO_VALUE;
}

/* resize(self, size): the first elements in C order; there have to be enough. */
bool aten_resize(fx_call *c, loom_value *out) {
  strided s = {.elements = 0};
  int64_t wanted = loom_type_elements(&c->types[0]);
  if (!strided_base(c, &s)) return error_drop(), fx_decline(c, "an operand of unknown layout");
  if (wanted <= 0 || wanted > s.elements) return fx_decline(c, "more elements than there are");
  loom_value v = loom_emit_slice(c->b, strided_line(c, &s), 0, 0, wanted, 1);
  out[0] = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  return out[0] != LOOM_NO_VALUE;
}

/* as_strided_scatter(self, src, size, stride, storage_offset). Where places of the view coincide
 * torch raises, or writes them in an order of its own. */
bool aten_as_strided_scatter(fx_call *c, loom_value *out) {
  strided s = {0};
  if (!strided_read(c, 2, &s)) return false;
  if (!strided_is_apart(&s)) return fx_decline(c, "places of a view that may coincide");
  loom_value line = strided_line(c, &s), v;
  loom_value src = loom_emit_convert(c->b, fx_tensor(c, 1), s.base.dtype);
  if (strided_is_piece(&s)) {
    loom_dim size = loom_type_elements(&s.places);
    int64_t starts[1] = {s.offset}, steps[1] = {1};
    loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64S, .ints = starts, .count = 1},
                          {.kind = LOOM_ATTR_I64S, .ints = steps, .count = 1}};
    src = loom_emit_reshape(c->b, src, 1, &size);
    v = loom_emit(c->b, LOOM_OP_UPDATE_SLICE, (loom_value[]){line, src}, 2, attrs, 2, NULL, 0);
  } else {
    loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = 0}, {.kind = LOOM_ATTR_STR, .str = "set"}};
    loom_value at = index_strided(c, &s.places, s.strides, s.offset);
    v = loom_emit(c->b, LOOM_OP_SCATTER, (loom_value[]){line, at, src}, 3, attrs, 2, NULL, 0);
  }
  out[0] = loom_emit_reshape(c->b, v, s.base.rank, s.base.dims);
  return out[0] != LOOM_NO_VALUE;
}
