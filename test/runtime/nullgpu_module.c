/* Modules of the tests' drivers. A kernel is run by the simulator's code for it, which the compiler
 * has written behind the kernels' code (runtime/device_code.h), or by a function that a test has
 * named.
 */
#include "nullgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device_code.h"

#define MODULE_FUNCTIONS 64 /* of tests */

typedef struct null_module {
  const void *code; /* its own, or the caller's: it is read as long as the module is loaded */
  void *copy;       /* its own, or NULL */
  loom_image image;
  null_function *functions;
  uint32_t count;
} null_module;

static null_function module_own[MODULE_FUNCTIONS];
static uint32_t module_own_count;
static null_module *module_all[256]; /* loaded */

void loom_nullgpu_kernel(const char *name, loom_kernel_fn function, uint32_t buffers,
                         uint32_t params, uint32_t threads, uint32_t flags) {
  null_function *f = &module_own[module_own_count++ % MODULE_FUNCTIONS];
  *f = (null_function){
      .run = function, .buffers = buffers, .params = params, .threads = threads, .flags = flags};
  strncpy(f->name, name, sizeof f->name - 1);
}

/* ---- loading ---- */

static bool module_take_code(null_module *module, const uint8_t *code, size_t size) {
  device_code_header head;
  if (size < sizeof head) return false;
  memcpy(&head, code, sizeof head);
  const uint8_t *rows = code + sizeof head, *image = rows + head.count * sizeof(device_code_row);
  if (size != sizeof head + head.count * sizeof(device_code_row) + head.image_size) return false;
  loom_error err;
  module->functions = calloc(head.count + 1u, sizeof *module->functions);
  if (!module->functions || !loom_image_map(image, head.image_size, &module->image, &err))
    return false;
  for (module->count = 0; module->count < head.count; module->count++) {
    device_code_row row;
    null_function *f = &module->functions[module->count];
    memcpy(&row, rows + module->count * sizeof row, sizeof row);
    memcpy(f->name, row.name, sizeof f->name);
    f->run = (loom_kernel_fn)(uintptr_t)(module->image.base + row.entry);
    f->threads = row.threads;
    f->flags = row.flags;
    f->buffers = row.buffers;
    f->params = row.params;
    f->maps = row.maps;
    f->shared = row.shared;
  }
  return true;
}

static int digit_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool module_read(null_module *module, const char *text) {
  const char *at = strstr(text, DEVICE_CODE_MARK);
  if (!at) return true; /* its kernels are the tests' */
  at += strlen(DEVICE_CODE_MARK);
  size_t size = strcspn(at, "\n") / 2;
  uint8_t *code = malloc(size + 1);
  bool good = code != NULL;
  for (size_t i = 0; good && i < size; i++) {
    int high = digit_of(at[2 * i]), low = digit_of(at[2 * i + 1]);
    good = high >= 0 && low >= 0;
    code[i] = (uint8_t)(high * 16 + low);
  }
  good = good && module_take_code(module, code, size);
  free(code);
  return good;
}

static void module_free(null_module *module) {
  for (size_t i = 0; i < sizeof module_all / sizeof *module_all; i++)
    if (module_all[i] == module) module_all[i] = NULL;
  loom_image_unmap(&module->image);
  free(module->copy);
  free(module->functions);
  free(module);
}

static bool module_keep(null_module *module) {
  size_t i = 0;
  while (i < sizeof module_all / sizeof *module_all && module_all[i])
    i++;
  if (i == sizeof module_all / sizeof *module_all) return false;
  module_all[i] = module;
  return null_add(NULL_MODULE, module);
}

int null_ModuleLoadData(void **module, const void *image) {
  NULL_CALL(ModuleLoadData, true);
  const char *text = NULL;
  if (!null_image_check(image, &text)) return DRIVER_INVALID_IMAGE;
  null_module *made = calloc(1, sizeof *made);
  if (!made) return DRIVER_OUT_OF_MEMORY;
  size_t size = null_image_size(image);
  made->copy = size ? malloc(size) : NULL;
  made->code = made->copy ? memcpy(made->copy, image, size) : image;
  if (!module_read(made, text) || !module_keep(made))
    return module_free(made), DRIVER_INVALID_IMAGE;
  *module = made;
  return 0;
}

int null_ModuleUnload(void *module) {
  NULL_CALL(ModuleUnload, true);
  if (!null_has(NULL_MODULE, module)) return DRIVER_INVALID_HANDLE;
  null_remove(NULL_MODULE, module);
  module_free(module);
  return 0;
}

int null_ModuleGetFunction(void **function, void *handle, const char *name) {
  NULL_CALL(ModuleGetFunction, true);
  null_module *module = handle;
  if (!null_has(NULL_MODULE, module)) return DRIVER_INVALID_HANDLE;
  for (uint32_t i = 0; i < module->count; i++)
    if (strcmp(module->functions[i].name, name) == 0 &&
        null_image_has(module->code, &module->functions[i]))
      return *function = &module->functions[i], 0;
  for (uint32_t i = 0; i < module_own_count && i < MODULE_FUNCTIONS; i++)
    if (strcmp(module_own[i].name, name) == 0) return *function = &module_own[i], 0;
  return DRIVER_NOT_FOUND;
}

size_t null_words(const null_function *f) {
  return f->buffers + f->params + f->maps * LOOM_MAP_BYTES / sizeof(uint64_t);
}

const null_function *null_function_of(const void *handle) {
  const null_function *f = handle;
  if (f >= module_own && f < module_own + MODULE_FUNCTIONS) return f;
  for (size_t i = 0; i < sizeof module_all / sizeof *module_all; i++)
    if (module_all[i] && f >= module_all[i]->functions &&
        f < module_all[i]->functions + module_all[i]->count)
      return f;
  return NULL;
}
