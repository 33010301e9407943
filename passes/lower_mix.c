/* Interleaved results (lower.h): an innermost dimension of two to four elements, as of numbers
 * stacked along a last axis or repeated.
 *
 * Lanes along so short a loop would be few. Instead they run along the loop around it: the vectors
 * for each place in the short dimension are made one after the other, as in a box that holds only
 * that place, and shuffled into the order of memory.
 */
#include "passes/lower.h"

#include <string.h>

#define MIX_LARGEST 4
#define MIX_LANES 16 /* the loop around is at least so long */

void lower_mix_find(lower *l) {
  lower_plan *plan = l->plan;
  lower_nest *kept = &plan->kept;
  plan->mix = 0;
  if (plan->reduced || plan->scan_count || plan->group_count || kept->count < 2 ||
      l->kernel->target == LANES_GPU)
    return;
  lower_loop inner = kept->loops[kept->count - 1], around = kept->loops[kept->count - 2];
  if (LOOM_STRIDE_IS_SYM(inner.extent) || inner.extent < 2 || inner.extent > MIX_LARGEST ||
      l->vars[inner.var].extent != inner.extent || loom_num_hint(around.extent) < MIX_LANES)
    return;
  for (int i = 0; i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    if (a->store && (a->opaque || loom_dtype_is_complex(a->dtype) || a->coef[inner.var] != 1 ||
                     a->coef[around.var] != inner.extent))
      return;
  }
  plan->mix = (int)inner.extent;
  plan->mix_var = inner.var;
  plan->lanes.var = around.var;
  kept->count--;
  kept->rows = 1;
  for (int i = 0; i + 1 < kept->count; i++)
    kept->rows = loom_num_mul(kept->rows, kept->loops[i].extent);
}

/* Where lane 0 of the first place of a result lies. */
static MlirValue mix_address(lower *l, loom_builder *b, int result, loom_dtype dtype) {
  lower_index index = {0};
  lower_value offset;
  for (int i = 0; i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    if (!a->store || a->operand != result) continue;
    memcpy(index.coef, a->coef, sizeof index.coef);
    index.constant = a->constant;
  }
  index.coef[l->plan->mix_var] = 0;
  if (!lower_index_base(l, &index, &offset)) offset = lower_int(l, 0);
  return lane_address(b, l->pointers[l->kernel->results[result].slot], offset.v, dtype);
}

/* Vector number `part` of the interleaved ones. */
static MlirValue mix_vector(loom_builder *b, const MlirValue *places, int count, int width,
                            int part) {
  MlirValue out = places[0];
  int64_t picks[128];
  for (int c = 1; c < count; c++) {
    for (int t = 0; t < width; t++) {
      int k = part * width + t;
      picks[t] = k % count == c ? width + k / count : c > 1 ? t : k % count ? 0 : k / count;
    }
    out = lane_shuffle2(b, out, places[c], width, picks);
  }
  return out;
}

static void mix_store(lower *l, int result, const lower_value *values) {
  int count = l->plan->mix;
  loom_builder b = lower_at_level(l, l->depth);
  loom_dtype dtype = l->kernel->results[result].type.dtype;
  MlirValue places[MIX_LARGEST], masks[MIX_LARGEST], none = {NULL};
  for (int c = 0; c < count; c++) {
    places[c] = lower_wide(l, values[c]);
    masks[c] = l->mask;
    if (dtype == LOOM_BOOL) places[c] = lane_to_memory(&b, places[c], dtype);
  }
  if (dtype == LOOM_BOOL) dtype = LOOM_U8;
  MlirValue address = mix_address(l, &b, result, dtype);
  for (int c = 0; c < count; c++) {
    MlirValue v = l->width > 1 ? mix_vector(&b, places, count, l->width, c) : places[c];
    MlirValue mask = l->mask.ptr ? mix_vector(&b, masks, count, l->width, c) : none;
    MlirValue at = lane_address(&b, address, lower_int(l, (int64_t)c * l->width).v, dtype);
    lane_store(&b, v, at, dtype, mask);
  }
}

/* All results are made before any is stored, since a result may overwrite an operand. */
void lower_mix_body(lower *l) {
  lower_value values[64][MIX_LARGEST];
  lower_var saved = l->vars[l->plan->mix_var];
  uint32_t outer = l->box;
  for (int c = 0; c < l->plan->mix && !l->failed; c++) {
    l->box = ++l->box_count;
    l->vars[l->plan->mix_var] = (lower_var){
        .extent = saved.extent, .iv = lower_int(l, c).v, .low = c, .cut = l->plan->mix - 1 - c};
    for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
      values[i][c] = lower_emit(l, l->kernel->results[i].value, l->plan->at[i]);
  }
  l->vars[l->plan->mix_var] = saved;
  l->box = outer;
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    mix_store(l, i, values[i]);
}
