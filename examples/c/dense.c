/* Calls a function that loom-compile made. Build and run:
 *
 *   loom-compile examples/c/dense.mlir -o dense.o --emit-header=dense.h
 *   cc -I. examples/c/dense.c dense.o -lm -o dense && ./dense
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dense.h"

static float x[64][128], w[128][32], bias[32], y[64][32];

static double reference(int i, int j) {
  double sum = bias[j];
  for (int k = 0; k < 128; k++)
    sum += (double)x[i][k] * w[k][j];
  return fmax(sum, 0);
}

int main(void) {
  for (int i = 0; i < 64 * 128; i++)
    x[i / 128][i % 128] = (float)(i % 13 - 6);
  for (int i = 0; i < 128 * 32; i++)
    w[i / 32][i % 32] = (float)(i % 7 - 3) / 8;
  for (int j = 0; j < 32; j++)
    bias[j] = (float)j;
  const void *inputs[] = {x, w, bias};
  void *outputs[] = {y};
  void *workspace = aligned_alloc(64, DENSE_WORKSPACE / 64 * 64 + 64);
  if (!workspace || dense(inputs, outputs, workspace) != 0) return 1;
  double worst = 0;
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 32; j++)
      worst = fmax(worst, fabs(y[i][j] - reference(i, j)));
  printf("largest difference from a plain loop: %s\n", worst < 1e-4 ? "below 1e-4" : "too large");
  free(workspace);
  return worst < 1e-4 ? 0 : 1;
}
