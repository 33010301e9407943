/* Runs a function that loom-compile made for AMD's GPUs, on the first of them. Build and run:
 *
 *   loom-compile --target=amdgpu --mcpu=gfx942 --emit=hsaco examples/c/dense.mlir \
 *     -o dense.hsaco --emit-header=dense.h
 *   cc -I. examples/c/dense_hip.c -lamdhip64 -lm -o dense_hip && ./dense_hip dense.hsaco
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
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

static void must(hipError_t result, const char *what) {
  if (result == hipSuccess) return;
  fprintf(stderr, "%s: %s\n", what, hipGetErrorName(result));
  exit(1);
}

static char *read_image(const char *path) {
  FILE *file = fopen(path, "rb");
  char *image = NULL;
  if (file && fseek(file, 0, SEEK_END) == 0) {
    long size = ftell(file);
    rewind(file);
    image = calloc(1, (size_t)size + 1);
    if (image && fread(image, 1, (size_t)size, file) != (size_t)size) image = NULL;
  }
  if (file) fclose(file);
  if (!image) fprintf(stderr, "%s cannot be read\n", path);
  return image;
}

static hipDeviceptr_t to_device(const void *from, size_t size, hipStream_t stream) {
  hipDeviceptr_t memory;
  must(hipMallocAsync(&memory, size, stream), "memory");
  if (from) must(hipMemcpyHtoDAsync(memory, (void *)from, size, stream), "a copy to the device");
  return memory;
}

int main(int argc, char **argv) {
  hipStream_t stream;
  dense_module module;
  dense_arguments arguments;
  uint32_t status;
  char *image = argc > 1 ? read_image(argv[1]) : NULL;
  if (!image) return 1;
  for (int i = 0; i < 64 * 128; i++)
    x[i / 128][i % 128] = (float)(i % 13 - 6);
  for (int i = 0; i < 128 * 32; i++)
    w[i / 32][i % 32] = (float)(i % 7 - 3) / 8;
  for (int j = 0; j < 32; j++)
    bias[j] = (float)j;

  must(hipInit(0), "the driver");
  must(hipSetDevice(0), "the device");
  must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "the stream");
  must(dense_load(&module, image), "the kernels");

  arguments.input0 = to_device(x, sizeof x, stream);
  arguments.input1 = to_device(w, sizeof w, stream);
  arguments.input2 = to_device(bias, sizeof bias, stream);
  arguments.output0 = to_device(NULL, sizeof y, stream);
  arguments.workspace = to_device(NULL, DENSE_WORKSPACE, stream);
  must(dense_launch(&module, &arguments, stream), "the launch");
  must(hipMemcpyDtoHAsync(y, arguments.output0, sizeof y, stream), "a copy to the host");
  must(dense_status(&arguments, stream, &status), "the work");

  double worst = 0;
  for (int i = 0; i < 64; i++)
    for (int j = 0; j < 32; j++)
      worst = fmax(worst, fabs(y[i][j] - reference(i, j)));
  printf("status %u, largest difference from a plain loop: %s\n", status,
         worst < 1e-4 ? "below 1e-4" : "too large");

  must(dense_unload(&module), "the end");
  must(hipStreamDestroy(stream), "the end"); /* memory goes with the process */
  free(image);
  return status == 0 && worst < 1e-4 ? 0 : 1;
}
