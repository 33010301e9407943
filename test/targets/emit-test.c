/* Emits a module of the LLVM dialect as an image, maps it, runs its kernels and checks them.
 *
 * emit-test FILE: prints entries, one result of each known kernel, or the error. With -t, times of
 * ten emissions.
 */
#include <llvm-c/Core.h>
#include <math.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/IR.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/runtime.h"
#include "targets/target.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  char *text = calloc(1, 1 << 20);
  size_t size = text ? fread(text, 1, (1 << 20) - 1, file) : 0;
  fclose(file);
  if (size) return text;
  free(text);
  return NULL;
}

static int check_add(const uint8_t *code) {
  float a[256], b[256], c[256];
  for (int i = 0; i < 256; i++)
    a[i] = (float)i, b[i] = (float)(i % 7), c[i] = -1;
  void *buffers[] = {a, b, c};
  loom_kernel_fn kernel;
  memcpy(&kernel, &code, sizeof kernel);
  uint32_t status = kernel(buffers, NULL, NULL, 1, 3);
  for (int i = 0; i < 256; i++)
    if (c[i] != (i >= 64 && i < 192 ? a[i] + 3 * b[i] : -1)) return printf("add_s0: wrong\n"), 1;
  printf("add_s0: status %u, right\n", status);
  return 0;
}

static int check_rem(const uint8_t *code) {
  float a[8] = {5, -5, 7.5f, 1, 9, 10, 3, 2}, b[8] = {3, 3, 2, 4, -2, 5, 7, 1}, c[8];
  void *buffers[] = {a, b, c};
  loom_kernel_fn kernel;
  memcpy(&kernel, &code, sizeof kernel);
  uint32_t status = kernel(buffers, NULL, NULL, 0, 8);
  for (int i = 0; i < 8; i++)
    if (c[i] != fmodf(a[i], b[i])) return printf("rem_s0: wrong\n"), 1;
  printf("rem_s0: status %u, right\n", status);
  return 0;
}

static int run(const loom_bytes *bytes, const loom_entries *entries) {
  loom_image image;
  loom_error err;
  if (!loom_image_map(bytes->data, bytes->size, &image, &err))
    return printf("map: %s\n", err.message), 1;
  int failed = 0;
  for (size_t i = 0; i < entries->count; i++) {
    const uint8_t *code = image.base + entries->items[i].offset;
    if (strcmp(entries->items[i].name, "add_s0") == 0) failed |= check_add(code);
    if (strcmp(entries->items[i].name, "rem_s0") == 0) failed |= check_rem(code);
  }
  loom_image_unmap(&image);
  return failed;
}

static int emit(MlirModule module, bool timed) {
  loom_target_options options = {.cpu = "native"};
  loom_error err = {0};
  loom_bytes image;
  loom_entries entries;
  for (int i = 0; i < (timed ? 10 : 1); i++) {
    double start = now_ms();
    if (!loom_x86_emit(module, &options, &image, &entries, &err))
      return printf("error: %s\n", err.message), 1;
    if (timed) printf("%.2f ms\n", now_ms() - start);
    int failed = i == 0 ? run(&image, &entries) : 0;
    loom_entries_fini(&entries);
    free(image.data);
    if (failed) return failed;
  }
  return 0;
}

static int write_object(MlirModule module, const char *path) {
  loom_target_options options = {.cpu = "native"};
  loom_error err = {0};
  loom_bytes object;
  if (!loom_target_emit(&loom_target_x86, module, &options, LOOM_EMIT_OBJECT, &object, &err))
    return printf("error: %s\n", err.message), 1;
  FILE *file = fopen(path, "wb");
  bool ok = file && fwrite(object.data, 1, object.size, file) == object.size;
  if (file) fclose(file);
  free(object.data);
  return ok ? 0 : 1;
}

int main(int argc, char **argv) {
  const char *object = argc > 3 && strcmp(argv[1], "-o") == 0 ? argv[2] : NULL;
  bool timed = argc > 2 && strcmp(argv[1], "-t") == 0;
  char *text = argc > 1 ? read_file(argv[argc - 1]) : NULL;
  if (!text) return fprintf(stderr, "usage: emit-test [-t] FILE\n"), 2;
  MlirContext ctx = mlirContextCreateWithThreading(false);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__llvm__(), ctx);
  MlirModule module = mlirModuleCreateParse(ctx, mlirStringRefCreateFromCString(text));
  int failed = 1;
  if (!mlirModuleIsNull(module))
    failed = object ? write_object(module, object) : emit(module, timed);
  if (!mlirModuleIsNull(module)) mlirModuleDestroy(module);
  mlirContextDestroy(ctx);
  free(text);
  return failed;
}
