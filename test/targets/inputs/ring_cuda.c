/* Runs a product of 200 x 72 and 136 x 72 elements whose kernel copies boxes, by the header that
 * loom-compile made: of bfloat16, or with -DWIDE of f32. With an argument after the image, operands
 * do not begin at a multiple of 16 bytes. Sums are small whole numbers, and exact. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring.h"

#ifdef WIDE
typedef float element;
#else
typedef uint16_t element;
#endif

enum { ROWS = 200, COLUMNS = 136, DEPTH = 72 };

static element x[ROWS * DEPTH], w[COLUMNS * DEPTH], y[ROWS * COLUMNS];

static element of(int number) {
#ifdef WIDE
  return (float)number;
#else
  float f = (float)number;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)(bits >> 16);
#endif
}

static int of_x(int i) { return i % 5 - 2; }
static int of_w(int i) { return i % 3 - 1; }

static void must(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, (int)result);
  exit(1);
}

static char *read_image(const char *path) {
  FILE *file = fopen(path, "rb");
  char *image = NULL;
  if (!file || fseek(file, 0, SEEK_END)) return NULL;
  long size = ftell(file);
  rewind(file);
  image = calloc(1, (size_t)size + 1);
  if (image && fread(image, 1, (size_t)size, file) != (size_t)size) image = NULL;
  fclose(file);
  return image;
}

static CUdeviceptr to_device(const void *from, size_t size, size_t skew, CUstream stream) {
  CUdeviceptr memory;
  must(cuMemAllocAsync(&memory, size + skew, stream), "memory");
  if (from) must(cuMemcpyHtoDAsync(memory + skew, from, size, stream), "a copy to the device");
  return memory + skew;
}

int main(int argc, char **argv) {
  CUdevice device;
  CUcontext context;
  CUstream stream;
  ring_module module;
  ring_arguments arguments;
  uint32_t status;
  int wrong = 0;
  size_t skew = argc > 2 ? sizeof(element) : 0;
  char *image = argc > 1 ? read_image(argv[1]) : NULL;
  if (!image) return 1;
  for (int i = 0; i < ROWS * DEPTH; i++)
    x[i] = of(of_x(i));
  for (int i = 0; i < COLUMNS * DEPTH; i++)
    w[i] = of(of_w(i));
  must(cuInit(0), "the driver");
  must(cuDeviceGet(&device, 0), "the device");
  must(cuDevicePrimaryCtxRetain(&context, device), "the context");
  must(cuCtxPushCurrent(context), "the context");
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "the stream");
  must(ring_load(&module, image), "the kernels");
  arguments.input0 = to_device(x, sizeof x, skew, stream);
  arguments.input1 = to_device(w, sizeof w, skew, stream);
  arguments.output0 = to_device(NULL, sizeof y, 0, stream);
#ifdef SIZED
  arguments.sizes[0] = ROWS;
  arguments.workspace = to_device(NULL, (size_t)ring_workspace(arguments.sizes), 0, stream);
#else
  arguments.workspace = to_device(NULL, RING_WORKSPACE, 0, stream);
#endif
  must(ring_launch(&module, &arguments, stream), "the launch");
  must(cuMemcpyDtoHAsync(y, arguments.output0, sizeof y, stream), "a copy to the host");
  must(ring_status(&arguments, stream, &status), "the work");
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      int sum = 0;
      for (int k = 0; k < DEPTH; k++)
        sum += of_x(i * DEPTH + k) * of_w(j * DEPTH + k);
      wrong += y[i * COLUMNS + j] != of(sum);
    }
  must(ring_unload(&module), "the end");
  must(cuStreamDestroy(stream), "the end");
  must(cuDevicePrimaryCtxRelease(device), "the end");
  free(image);
  printf("status %u, %d wrong\n", status, wrong);
  return 0;
}
