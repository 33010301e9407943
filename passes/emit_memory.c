/* Loads and stores of kernels (lower.h): where the elements of a buffer lie for the lanes of an
 * index. */
#include "passes/emit.h"
#include "passes/gpu.h"
#include "passes/passes.h"

#include <string.h>

/* The offset in elements of an index into a buffer. */
static void emit_offset(lower *l, const lower_buffer *buffer, const lower_at *at,
                        lower_index *out) {
  memset(out, 0, sizeof *out);
  lower_at *linear = lower_at_new(l, buffer->type.rank);
  if (!linear) return;
  for (int d = 0; d < buffer->type.rank; d++) {
    const lower_index *index = &at->dims[d];
    for (int v = 0; v < l->var_count; v++)
      if (index->coef[v])
        out->coef[v] = loom_num_add(out->coef[v], loom_num_mul(buffer->strides[d], index->coef[v]));
    out->constant = loom_num_add(out->constant, loom_num_mul(buffer->strides[d], index->constant));
    if (!index->opaque.ptr || !buffer->strides[d]) continue;
    out->opaque_vars |= index->opaque_vars;
    lower_value part = {index->opaque, index->opaque_level, false, LOOM_I64}, sum = part;
    if (!l->dry) {
      lower_index alone = {0};
      alone.opaque = index->opaque, alone.opaque_level = index->opaque_level;
      part = lower_index_value(l, &alone);
      sum = part;
      if (out->opaque.ptr && out->opaque_level > sum.level) sum.level = out->opaque_level;
      loom_builder b = lower_at_level(l, sum.level);
      MlirType type = mlirValueGetType(part.v);
      sum.v = lane_op2(&b, "arith.muli", part.v, lower_int_like(l, &b, type, buffer->strides[d]));
      if (out->opaque.ptr) {
        bool wide = mlirTypeIsAVector(mlirValueGetType(out->opaque)) || mlirTypeIsAVector(type);
        int width = wide ? l->width : 1;
        sum.v = lane_op2(&b, "arith.addi", lane_splat(&b, sum.v, width),
                         lane_splat(&b, out->opaque, width));
      }
    }
    out->opaque = sum.v;
    out->opaque_level = sum.level;
  }
}

/* What the opaque part of an offset is a multiple of. */
static int64_t emit_opaque_step(const lower_buffer *buffer, const lower_at *at) {
  int64_t step = 0;
  for (int d = 0; d < buffer->type.rank; d++) {
    int64_t stride = buffer->strides[d];
    if (!at->dims[d].opaque.ptr || !stride) continue;
    if (LOOM_STRIDE_IS_SYM(stride)) return 1;
    for (int64_t rest = stride < 0 ? -stride : stride; rest;) {
      int64_t next = step % rest;
      step = rest;
      rest = next;
    }
  }
  return step;
}

static void emit_record(lower *l, const lower_index *offset, const lower_at *at, loom_dtype dtype,
                        bool store, int operand) {
  if (l->access_count == l->access_capacity) {
    int capacity = l->access_capacity ? 2 * l->access_capacity : 16;
    lower_access *grown = loom_arena_alloc(l->arena, sizeof *grown * (size_t)capacity);
    if (!grown) {
      l->failed = true;
      return;
    }
    if (l->access_count) memcpy(grown, l->accesses, sizeof *grown * (size_t)l->access_count);
    l->accesses = grown;
    l->access_capacity = capacity;
  }
  lower_access *access = &l->accesses[l->access_count++];
  memcpy(access->coef, offset->coef, sizeof access->coef);
  access->constant = offset->constant;
  access->at = at;
  access->guarded = at->guard.ptr != NULL;
  access->dtype = dtype;
  access->store = store;
  access->opaque = offset->opaque.ptr != NULL;
  access->opaque_vars = offset->opaque_vars;
  access->opaque_step =
      emit_opaque_step(store ? &l->kernel->results[operand] : &l->kernel->operands[operand], at);
  access->operand = operand;
}

/* ptr + the offset of lane 0; what outer scopes know is added there. */
static MlirValue emit_address(lower *l, MlirValue ptr, const lower_index *offset, loom_dtype dtype,
                              int *level_out) {
  int level = lower_index_level(l, offset);
  lower_index outer = *offset, inner = {0};
  for (int v = 0; v < l->var_count; v++)
    if (l->vars[v].iv.ptr && l->vars[v].level == level && level > 0) {
      inner.coef[v] = outer.coef[v];
      outer.coef[v] = 0;
    }
  if (outer.opaque.ptr && outer.opaque_level == level) {
    inner.opaque = outer.opaque;
    inner.opaque_level = outer.opaque_level;
    outer.opaque.ptr = NULL;
  }
  lower_value sum;
  if (lower_index_base(l, &outer, &sum)) {
    loom_builder b = lower_at_level(l, sum.level);
    ptr = lane_address(&b, ptr, sum.v, dtype);
  }
  if (lower_index_base(l, &inner, &sum)) {
    loom_builder b = lower_at_level(l, sum.level);
    ptr = lane_address(&b, ptr, sum.v, dtype);
  }
  *level_out = level;
  return ptr;
}

typedef struct emit_place {
  MlirValue address; /* of lane 0 */
  MlirValue offsets; /* of each lane from `address`; null when consecutive or reversed */
  int64_t step;      /* between lanes, when `offsets` is a multiple of their numbers */
  int level;
  bool wide, reversed;
} emit_place;

static emit_place emit_locate(lower *l, MlirValue ptr, lower_index *offset, loom_dtype dtype) {
  emit_place place = {{NULL}, {NULL}, 0, 0, false, false};
  int64_t lane_coef =
      l->lane_var >= 0 && l->vars[l->lane_var].iv.ptr ? offset->coef[l->lane_var] : 0;
  bool vector = offset->opaque.ptr && mlirTypeIsAVector(mlirValueGetType(offset->opaque));
  place.wide = lower_index_lanes(l, offset);
  place.reversed = lane_coef == -1 && !vector && l->width > 1;
  if (place.reversed) offset->constant = loom_num_sub(offset->constant, l->width - 1);
  place.address = emit_address(l, ptr, offset, dtype, &place.level);
  if (l->width == 1 || (!vector && (lane_coef == 0 || lane_coef == 1 || lane_coef == -1)))
    return place;
  loom_builder b = lower_at_level(l, place.level);
  MlirType type = lane_int(b.ctx, 64, l->width);
  if (!vector && !LOOM_STRIDE_IS_SYM(lane_coef)) place.step = lane_coef;
  if (lane_coef)
    place.offsets =
        lane_op2(&b, "arith.muli", lane_id(&b, type), lower_int_like(l, &b, type, lane_coef));
  if (vector)
    place.offsets = place.offsets.ptr ? lane_op2(&b, "arith.addi", place.offsets, offset->opaque)
                                      : offset->opaque;
  return place;
}

/* A guarded scalar load reads element 0 instead, whose place exists. */
static lower_value emit_load_one(lower *l, MlirValue ptr, const emit_place *place,
                                 const lower_at *at, loom_dtype dtype) {
  int level = place->level > emit_guard_level(at) ? place->level : emit_guard_level(at);
  loom_builder b = lower_at_level(l, level);
  MlirValue address = place->address;
  if (at->guard.ptr) address = lane_select(&b, at->guard, address, ptr);
  MlirValue none = {NULL};
  MlirValue v = place->wide ? gpu_load(l, &b, address, dtype, 1, none)
                            : lane_load(&b, address, dtype, 1, none);
  return (lower_value){v, level, place->wide, dtype};
}

/* Lanes a few elements apart: as many loads of consecutive elements, none beyond the first and the
 * last lane, and shuffles that pick the lanes. Gathers cost several times as much. */
static MlirValue emit_load_apart(lower *l, loom_builder *b, const emit_place *place,
                                 loom_dtype dtype) {
  int width = l->width;
  int64_t step = place->step < 0 ? -place->step : place->step, span = (width - 1) * step + 1;
  int64_t base = place->step < 0 ? 1 - span : 0, picks[128];
  MlirValue sum = {NULL};
  for (int64_t k = 0, had = 0; k < step; k++) {
    int64_t start = k * width < span - width ? k * width : span - width;
    MlirValue offset = lower_int(l, base + start).v;
    MlirValue next = lane_load(b, lane_address(b, place->address, offset, dtype), dtype, width,
                               (MlirValue){NULL});
    for (int i = 0; i < width; i++) {
      int64_t at = (place->step < 0 ? width - 1 - i : i) * step;
      bool here = at >= had && at < start + width;
      if (k == 0)
        picks[i] = at < width ? at : 0;
      else
        picks[i] = here ? width + at - start : i;
    }
    sum = lane_shuffle2(b, k ? sum : next, next, width, picks);
    had = start + width;
  }
  return sum;
}

/* The element of an empty array: zero. No loop reads it, but what does not depend on a loop is
 * computed before all loops. */
static lower_value emit_nothing(lower *l, loom_dtype dtype) {
  loom_builder b = lower_at_level(l, 0);
  bool complex = loom_dtype_is_complex(dtype);
  MlirType type =
      complex ? lane_type(b.ctx, lane_part_dtype(dtype), 2) : lane_type(b.ctx, dtype, 1);
  MlirValue zero = mlirTypeIsAInteger(lane_element(type)) ? lane_const_int(&b, type, 0)
                                                          : lane_const_float(&b, type, 0);
  return (lower_value){zero, 0, false, dtype};
}

lower_value emit_load(lower *l, const lower_buffer *buffer, int operand, const lower_at *at) {
  lower_index offset;
  loom_dtype dtype = buffer->type.dtype;
  lower_value out = {{NULL}, 0, false, dtype};
  emit_offset(l, buffer, at, &offset);
  if (l->dry) {
    emit_record(l, &offset, at, dtype, false, operand);
    l->guards |= at->guard.ptr != NULL;
    return out;
  }
  if (loom_type_elements(&buffer->type) == 0) return emit_nothing(l, dtype);
  if (lower_panel_load(l, operand, at, &out)) return out;
  MlirValue ptr = l->pointers[buffer->slot];
  emit_place place = emit_locate(l, ptr, &offset, dtype);
  bool guard_wide = at->guard.ptr && mlirTypeIsAVector(mlirValueGetType(at->guard));
  if (!place.wide && !guard_wide) return emit_load_one(l, ptr, &place, at, dtype);
  if (l->width == 1) return emit_load_one(l, ptr, &place, at, dtype);
  int level = place.level > emit_guard_level(at) ? place.level : emit_guard_level(at);
  loom_builder b = lower_at_level(l, level);
  MlirValue mask = emit_mask(l, &b, at, true);
  /* Processors take long over masked loads whose page is not there, even if every lane is off. */
  if (at->guard.ptr && !guard_wide) place.address = lane_select(&b, at->guard, place.address, ptr);
  if (!place.wide) { /* one place for all lanes: a gather of it under the mask */
    MlirType type = lane_int(b.ctx, 64, l->width);
    out.v = lane_gather(&b, place.address, lane_const_int(&b, type, 0), dtype, mask);
  } else if (!mask.ptr && !loom_dtype_is_complex(dtype) && place.step &&
             place.step >= -LOWER_APART && place.step <= LOWER_APART && l->width >= 4) {
    out.v = emit_load_apart(l, &b, &place, dtype);
  } else if (place.offsets.ptr) {
    out.v = lane_gather(&b, place.address, place.offsets, dtype, mask);
  } else {
    if (place.reversed && mask.ptr) mask = lane_reverse(&b, mask);
    out.v = gpu_load(l, &b, place.address, dtype, l->width, mask);
    if (place.reversed)
      out.v = loom_dtype_is_complex(dtype) ? lane_pair_reverse(&b, out.v) : lane_reverse(&b, out.v);
  }
  out.v = lower_repeat_first(l, &b, out.v);
  out.level = level;
  out.lanes = true;
  return out;
}

void lower_store(lower *l, int result, const lower_at *at, lower_value value) {
  const lower_buffer *buffer = &l->kernel->results[result];
  lower_index offset;
  emit_offset(l, buffer, at, &offset);
  if (l->dry) {
    emit_record(l, &offset, at, buffer->type.dtype, true, result);
    return;
  }
  if (l->failed) return;
  lower_locate(l, loom_def(buffer->value));
  MlirValue ptr = l->pointers[buffer->slot];
  emit_place place = emit_locate(l, ptr, &offset, buffer->type.dtype);
  loom_builder b = lower_at_level(l, l->depth);
  if (!place.wide || l->width == 1) {
    lane_store(&b, value.v, place.address, buffer->type.dtype, (MlirValue){NULL});
    return;
  }
  MlirValue mask = l->mask, v = lower_wide(l, value);
  if (place.offsets.ptr) {
    lane_scatter(&b, v, place.address, place.offsets, buffer->type.dtype, mask);
    return;
  }
  if (place.reversed) {
    v = loom_dtype_is_complex(value.dtype) ? lane_pair_reverse(&b, v) : lane_reverse(&b, v);
    if (mask.ptr) mask = lane_reverse(&b, mask);
  }
  gpu_align(l, lane_store(&b, v, place.address, buffer->type.dtype, mask), buffer->type.dtype);
}

lower_value emit_parameter(lower *l, const lower_buffer *buffer) {
  loom_dtype dtype = buffer->type.dtype;
  lower_value out = {{NULL}, 0, false, dtype};
  if (loom_dtype_is_complex(dtype)) lower_fail(l, l->kernel->op, "a complex scalar parameter");
  if (l->dry || l->failed) return out;
  loom_builder b = lower_at_level(l, 0);
  MlirValue index = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 64), buffer->scalar);
  MlirValue address = lane_address(&b, l->params, index, LOOM_I64);
  out.v = lane_load(&b, address, dtype, 1, (MlirValue){NULL});
  return out;
}
