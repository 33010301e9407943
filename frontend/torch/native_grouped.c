/* Grouped products: a product of torch's own for each group of rows, where data tells how many rows
 * a group has. Operands have the layouts that they would have in eager torch, and so have the
 * results. */
#include "frontend/base/base.h"
#include "frontend/torch/torch_internal.h"

#include <string.h>

/* Elements `start` up to `end` along an axis of a tensor. */
static torch_array grouped_part(const torch_array *a, int axis, int64_t start, int64_t end) {
  torch_array part = *a;
  int64_t size = (int64_t)loom_dtype_size(a->spec.dtype);
  part.data = (char *)a->data + start * a->spec.strides[axis] * size;
  part.spec.sizes[axis] = end - start;
  return part;
}

/* Number i of a batch of matrices. */
static torch_array grouped_matrix(const torch_array *a, int64_t i) {
  torch_array part = grouped_part(a, 0, i, i + 1);
  part.spec.rank = 2;
  for (int k = 0; k < 2; k++) {
    part.spec.sizes[k] = a->spec.sizes[k + 1];
    part.spec.strides[k] = a->spec.strides[k + 1];
  }
  return part;
}

static torch_array grouped_turned(const torch_array *a) {
  torch_array turned = *a;
  for (int k = 0; k < 2; k++) {
    turned.spec.sizes[k] = a->spec.sizes[1 - k];
    turned.spec.strides[k] = a->spec.strides[1 - k];
  }
  return turned;
}

/* Sets a dense array to zeros. */
static void grouped_clear(const torch_array *a) {
  size_t bytes = loom_dtype_size(a->spec.dtype);
  for (int i = 0; i < a->spec.rank; i++)
    bytes *= (size_t)a->spec.sizes[i];
  if (bytes) memset(a->data, 0, bytes);
}

static int64_t grouped_offset(const torch_array *offsets, int64_t i) {
  const char *at = (const char *)offsets->data;
  i *= offsets->spec.strides[0];
  return offsets->spec.dtype == LOOM_I32 ? ((const int32_t *)at)[i] : ((const int64_t *)at)[i];
}

/* Do the offsets ascend within n rows? Else torch tells what is wrong with them. */
static bool grouped_ascends(const torch_array *offsets, int64_t n) {
  int64_t start = 0;
  for (int64_t i = 0; i < offsets->spec.sizes[0]; i++) {
    int64_t end = grouped_offset(offsets, i);
    if (end < start || end > n) return false;
    start = end;
  }
  return true;
}

/* (rows, weights, offsets): for each group its rows times its matrix. Other rows are 0. */
int torch_grouped_rows(const torch_array *in, torch_array *out, const int64_t *numbers) {
  (void)numbers;
  int64_t start = 0, groups = in[2].spec.sizes[0];
  if (!grouped_ascends(&in[2], in[0].spec.sizes[0])) return TORCH_HOST_OTHER;
  grouped_clear(out);
  for (int64_t i = 0, end; i < groups; i++, start = end) {
    if ((end = grouped_offset(&in[2], i)) == start) continue;
    torch_array rows = grouped_part(&in[0], 0, start, end), weight = grouped_matrix(&in[1], i),
                to = grouped_part(out, 0, start, end);
    if (!torch_product(&rows, &weight, &to)) return 1;
  }
  return 0;
}

/* (columns, rows, offsets): for each group the product over its part of what is summed over. */
int torch_grouped_sums(const torch_array *in, torch_array *out, const int64_t *numbers) {
  (void)numbers;
  int64_t start = 0, groups = in[2].spec.sizes[0];
  if (!grouped_ascends(&in[2], in[1].spec.sizes[0])) return TORCH_HOST_OTHER;
  grouped_clear(out);
  for (int64_t i = 0, end; i < groups; i++, start = end) {
    if ((end = grouped_offset(&in[2], i)) == start) continue;
    torch_array l = grouped_part(&in[0], 1, start, end), r = grouped_part(&in[1], 0, start, end),
                to = grouped_matrix(out, i);
    if (!torch_product(&l, &r, &to)) return 1;
  }
  return 0;
}

/* (rows, weights, offsets, gradient): those of torch_grouped_rows. */
int torch_grouped_gradients(const torch_array *in, torch_array *out, const int64_t *numbers) {
  torch_array turned = in[1];
  for (int k = 1; k < 3; k++) {
    turned.spec.sizes[k] = in[1].spec.sizes[3 - k];
    turned.spec.strides[k] = in[1].spec.strides[3 - k];
  }
  const torch_array rows[] = {in[3], turned, in[2]},
                    sums[] = {grouped_turned(&in[0]), in[3], in[2]};
  int failed = torch_grouped_rows(rows, &out[0], numbers);
  return failed ? failed : torch_grouped_sums(sums, &out[1], numbers);
}
