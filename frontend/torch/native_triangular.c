/* Systems of triangular equations, small ones: each column of the right side by substitution. The
 * other triangle, and the diagonal where it counts as ones, are not read. */
#include "frontend/base/base.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"
#include "runtime/runtime.h"

#include <string.h>

typedef struct triangular_job {
  const torch_array *matrix, *right;
  torch_array *out;
  int64_t n, columns, batches, chunk;
  /* Steps in elements: along a row and down a column of the matrix, from one equation and from one
   * column to the next of the right side and of the result. */
  int64_t row, column, right_equation, right_column, equation, out_column;
  bool upper, unit;
} triangular_job;

/* Where a batch begins in an array whose leading axes broadcast to those of the result. */
static int64_t triangular_batch(const torch_spec *spec, const torch_spec *out, int64_t batch) {
  int64_t at = 0;
  for (int i = out->rank - 3; i >= 0; i--) {
    int own = i - (out->rank - spec->rank);
    if (own >= 0 && spec->sizes[own] != 1) at += batch % out->sizes[i] * spec->strides[own];
    batch /= out->sizes[i];
  }
  return at;
}

#define TRIANGULAR_PANEL 8 /* columns that are solved at once, side by side */

/* The panel holds the solutions of some columns, an equation after the other; columns that are not
 * there are zeros. */
#define TRIANGULAR(TYPE)                                                                           \
  static void triangular_##TYPE(const triangular_job *j, const TYPE *a, const TYPE *b, TYPE *x,    \
                                TYPE *panel) {                                                     \
    for (int64_t first = 0; first < j->columns; first += TRIANGULAR_PANEL) {                       \
      int64_t count =                                                                              \
          j->columns - first < TRIANGULAR_PANEL ? j->columns - first : TRIANGULAR_PANEL;           \
      for (int64_t k = 0; k < j->n; k++) {                                                         \
        int64_t i = j->upper ? j->n - 1 - k : k, from = j->upper ? i + 1 : 0;                      \
        const TYPE *line = a + i * j->column;                                                      \
        TYPE sums[TRIANGULAR_PANEL] = {0}, pivot = j->unit ? 1 : line[i * j->row];                 \
        for (int64_t c = 0; c < count; c++)                                                        \
          sums[c] = b[i * j->right_equation + (first + c) * j->right_column];                      \
        for (int64_t m = from; m < from + k; m++)                                                  \
          for (int c = 0; c < TRIANGULAR_PANEL; c++)                                               \
            sums[c] -= line[m * j->row] * panel[m * TRIANGULAR_PANEL + c];                         \
        for (int64_t c = 0; c < TRIANGULAR_PANEL; c++)                                             \
          panel[i * TRIANGULAR_PANEL + c] = c < count ? sums[c] / pivot : 0;                       \
        for (int64_t c = 0; c < count; c++)                                                        \
          x[i * j->equation + (first + c) * j->out_column] = panel[i * TRIANGULAR_PANEL + c];      \
      }                                                                                            \
    }                                                                                              \
  }
TRIANGULAR(float)
TRIANGULAR(double)

static uint32_t triangular_chunks(void *const *buffers, const uint64_t *params, void *scratch,
                                  int64_t begin, int64_t end) {
  const triangular_job *j = buffers[0];
  const torch_spec *out = &j->out->spec;
  int64_t stop = end * j->chunk < j->batches ? end * j->chunk : j->batches;
  (void)params;
  for (int64_t batch = begin * j->chunk; batch < stop; batch++) {
    int64_t a = triangular_batch(&j->matrix->spec, out, batch),
            b = triangular_batch(&j->right->spec, out, batch),
            x = triangular_batch(out, out, batch);
    if (out->dtype == LOOM_F32)
      triangular_float(j, (float *)j->matrix->data + a, (float *)j->right->data + b,
                       (float *)j->out->data + x, scratch);
    else
      triangular_double(j, (double *)j->matrix->data + a, (double *)j->right->data + b,
                        (double *)j->out->data + x, scratch);
  }
  return 0;
}

#define TRIANGULAR_WORK 8192 /* multiplications that make a chunk worth its launch */

/* (A, B), (upper, left, unitriangular): A X = B, or X A = B, which is the same with all turned. */
int torch_triangular(const torch_array *in, torch_array *out, const int64_t *numbers) {
  const torch_spec *a = &in[0].spec, *b = &in[1].spec, *x = &out->spec;
  bool left = numbers[1];
  int equations = x->rank - (left ? 2 : 1), columns = x->rank - (left ? 1 : 2);
  int shift = x->rank - b->rank;
  triangular_job j = {.matrix = &in[0],
                      .right = &in[1],
                      .out = out,
                      .n = x->sizes[equations],
                      .columns = x->sizes[columns],
                      .batches = 1,
                      .row = a->strides[a->rank - (left ? 1 : 2)],
                      .column = a->strides[a->rank - (left ? 2 : 1)],
                      .right_equation = b->strides[equations - shift],
                      .right_column = b->strides[columns - shift],
                      .equation = x->strides[equations],
                      .out_column = x->strides[columns],
                      .upper = left ? numbers[0] : !numbers[0],
                      .unit = numbers[2]};
  for (int i = 0; i < x->rank - 2; i++)
    j.batches *= x->sizes[i];
  int64_t work = 1 + j.n * j.n * j.columns / 2;
  j.chunk = work < TRIANGULAR_WORK ? TRIANGULAR_WORK / work : 1;
  void *buffers[] = {&j};
  uint32_t status = loom_threads_launch(triangular_chunks, buffers, NULL,
                                        (size_t)j.n * TRIANGULAR_PANEL * sizeof(double), 0,
                                        (j.batches + j.chunk - 1) / j.chunk);
  if (status & LOOM_STATUS_MEMORY) PyErr_NoMemory();
  return (status & LOOM_STATUS_MEMORY) != 0;
}
