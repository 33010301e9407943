/* Calls sized.mlir's function for several sizes and compares with plain loops. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sized.h"

static double weighted(const float *x, const float *w, int64_t m, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < m; k++)
    sum += (double)x[i * m + k] * w[k];
  return (double)x[i * m + j] * w[j] - sum;
}

static double product(const float *x, const float *w, int64_t m, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < m; k++)
    sum += weighted(x, w, m, i, k) * x[j * m + k];
  return sum;
}

static double check(int64_t n, int64_t m) {
  const int64_t sizes[] = {n, m};
  float *x = calloc((size_t)(n * m + 1), sizeof *x), *w = calloc((size_t)m + 1, sizeof *w);
  float *y = calloc((size_t)(n * m + 1), sizeof *y), *s = calloc((size_t)n + 1, sizeof *s);
  float *z = calloc((size_t)(n * n + 1), sizeof *z);
  void *workspace = aligned_alloc(64, (size_t)(rows_workspace(sizes) / 64 + 1) * 64);
  for (int64_t i = 0; i < n * m; i++)
    x[i] = (float)(i % 13 - 6) / 8;
  for (int64_t i = 0; i < m; i++)
    w[i] = (float)(i % 5 - 2) / 4;
  const void *inputs[] = {x, w};
  void *outputs[] = {y, s, z};
  double worst = rows(sizes, inputs, outputs, workspace);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < m; j++)
      worst = fmax(worst, fabs(y[i * m + j] - weighted(x, w, m, i, j)));
    for (int64_t j = 0; j < n; j++)
      worst = fmax(worst, fabs(z[i * n + j] - product(x, w, m, i, j) - product(x, w, m, j, i)));
  }
  void *all[] = {x, w, y, s, z, workspace};
  for (int i = 0; i < 6; i++)
    free(all[i]);
  return worst;
}

int main(void) {
  const int64_t sizes[][2] = {{1, 1}, {2, 3}, {17, 5}, {5, 40}, {64, 64}, {33, 100}, {0, 3}};
  double worst = 0;
  for (int i = 0; i < 7; i++)
    worst = fmax(worst, check(sizes[i][0], sizes[i][1]));
  printf("largest difference from plain loops: %s\n", worst < 1e-2 ? "small" : "large");
  return worst < 1e-2 ? 0 : 1;
}
