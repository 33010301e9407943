/* Calls a function that loom-compile made. Build and run:
 *
 *   loom-compile examples/c/normalize.mlir -o normalize.o --emit-header=normalize.h
 *   cc -I. examples/c/normalize.c normalize.o -lm -o normalize && ./normalize
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "normalize.h"

int main(void) {
  static float x[256][64], y[256][64];
  for (int i = 0; i < 256; i++)
    for (int j = 0; j < 64; j++)
      x[i][j] = (float)((i * 37 + j * 11) % 101) / 10.0f;
  const void *inputs[] = {x};
  void *outputs[] = {y};
  void *workspace = aligned_alloc(64, NORMALIZE_WORKSPACE / 64 * 64 + 64);
  if (!workspace || normalize(inputs, outputs, workspace) != 0) return 1;
  double worst = 0;
  for (int i = 0; i < 256; i++) {
    double sum = 0;
    for (int j = 0; j < 64; j++)
      sum += exp(x[i][j]);
    for (int j = 0; j < 64; j++)
      worst = fmax(worst, fabs(y[i][j] - exp(x[i][j]) / sum));
  }
  printf("largest difference from the C library: %s\n", worst < 1e-6 ? "below 1e-6" : "too large");
  free(workspace);
  return worst < 1e-6 ? 0 : 1;
}
