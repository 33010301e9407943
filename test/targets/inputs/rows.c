#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

int main(void) {
  static double table[40][8], result[40][8];
  int64_t n = 39, times = 2;
  for (int i = 0; i < 40; i++)
    for (int k = 0; k < 8; k++)
      table[i][k] = i + k + 1;
  const void *inputs[] = {table, &n, &times};
  void *outputs[] = {result};
  void *workspace = aligned_alloc(64, (ROWS_WORKSPACE + 127) / 64 * 64);
  int status = rows(inputs, outputs, workspace), wrong = 0;
  for (int k = 0; k < 8; k++) {
    double want = k + 1;
    for (int i = 0; i < 40; i++, want /= 2)
      wrong += result[i][k] != want || table[i][k] != i + k + 1;
  }
  free(workspace);
  printf("status %d, %d wrong\n", status, wrong);
  return 0;
}
