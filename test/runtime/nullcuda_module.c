/* Modules of the tests' driver: PTX becomes a "cubin" (a header and the PTX), and that a module. A
 * kernel is run by the simulator's code for it, which the compiler has written into a comment of
 * the PTX (runtime/device_code.h), or by a function that a test has named.
 */
#include "nullcuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device_code.h"

#define MODULE_MAGIC "nullcubin"
#define MODULE_FUNCTIONS 64 /* of tests */

typedef struct null_link {
  char *log;
  size_t log_size;
  uint8_t *cubin;
  size_t size;
} null_link;

typedef struct null_module {
  loom_image image;
  null_function *functions;
  uint32_t count;
} null_module;

/* In front of the PTX. */
typedef struct null_cubin {
  char magic[16];
  uint64_t architecture, size;
} null_cubin;

static null_function module_own[MODULE_FUNCTIONS];
static uint32_t module_own_count;
static null_module *module_all[256]; /* loaded */

void loom_nullcuda_kernel(const char *name, loom_kernel_fn function, uint32_t threads,
                          uint32_t flags) {
  null_function *f = &module_own[module_own_count++ % MODULE_FUNCTIONS];
  *f = (null_function){.run = function, .threads = threads, .flags = flags};
  strncpy(f->name, name, sizeof f->name - 1);
}

/* ---- linking ---- */

NULL_EXPORT int cuLinkCreate_v2(unsigned count, int *options, void **values, void **link) {
  NULL_CALL("cuLinkCreate_v2", true);
  null_link *made = calloc(1, sizeof *made);
  if (!made || !null_add(NULL_LINK, made)) return free(made), CUDA_OUT_OF_MEMORY;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == CUDA_JIT_ERROR_LOG) made->log = values[i];
    if (options[i] == CUDA_JIT_ERROR_LOG_SIZE) made->log_size = (size_t)(uintptr_t)values[i];
  }
  *link = made;
  return 0;
}

static int link_refuse(const null_link *link, const char *why) {
  if (link->log && link->log_size) snprintf(link->log, link->log_size, "ptxas error: %s", why);
  return CUDA_INVALID_PTX;
}

/* As the driver does: text with a NUL at its end, for this architecture or an older one. */
static int link_check(const null_link *link, const char *ptx, size_t size) {
  if (!size || ptx[size - 1]) return link_refuse(link, "the text does not end");
  const char *version = strstr(ptx, ".version "), *target = strstr(ptx, ".target sm_");
  if (!version || !target) return link_refuse(link, "Missing .version directive at start of file");
  if (atoi(target + strlen(".target sm_")) > null_architecture)
    return link_refuse(link, "SM version specified by .target is higher than the device's");
  return 0;
}

NULL_EXPORT int cuLinkAddData_v2(void *handle, int type, void *data, size_t size, const char *name,
                                 unsigned count, int *options, void **values) {
  NULL_CALL("cuLinkAddData_v2", true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return CUDA_INVALID_HANDLE;
  if (type != CUDA_INPUT_PTX || link->cubin) return CUDA_INVALID_VALUE;
  int status = link_check(link, data, size);
  if (status) return status;
  null_cubin head = {MODULE_MAGIC, (uint64_t)null_architecture, size};
  link->size = sizeof head + size;
  link->cubin = malloc(link->size);
  if (!link->cubin) return CUDA_OUT_OF_MEMORY;
  memcpy(link->cubin, &head, sizeof head);
  memcpy(link->cubin + sizeof head, data, size);
  return 0;
}

NULL_EXPORT int cuLinkComplete(void *handle, void **cubin, size_t *size) {
  NULL_CALL("cuLinkComplete", true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return CUDA_INVALID_HANDLE;
  if (!link->cubin) return CUDA_INVALID_VALUE;
  *cubin = link->cubin;
  *size = link->size;
  return 0;
}

/* The cubin is the linker's: it ends with it. */
NULL_EXPORT int cuLinkDestroy(void *handle) {
  NULL_CALL("cuLinkDestroy", true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return CUDA_INVALID_HANDLE;
  null_remove(NULL_LINK, link);
  if (link->cubin) memset(link->cubin, 0, link->size);
  free(link->cubin);
  free(link);
  return 0;
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
  }
  return true;
}

static int digit_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool module_read(null_module *module, const char *ptx) {
  const char *at = strstr(ptx, DEVICE_CODE_MARK);
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

NULL_EXPORT int cuModuleLoadData(void **module, const void *image) {
  NULL_CALL("cuModuleLoadData", true);
  null_cubin head;
  memcpy(&head, image, sizeof head);
  if (strcmp(head.magic, MODULE_MAGIC) != 0 || head.architecture != (uint64_t)null_architecture)
    return CUDA_INVALID_IMAGE;
  null_module *made = calloc(1, sizeof *made);
  if (!made) return CUDA_OUT_OF_MEMORY;
  if (!module_read(made, (const char *)image + sizeof head) || !module_keep(made))
    return module_free(made), CUDA_INVALID_IMAGE;
  *module = made;
  return 0;
}

NULL_EXPORT int cuModuleUnload(void *module) {
  NULL_CALL("cuModuleUnload", true);
  if (!null_has(NULL_MODULE, module)) return CUDA_INVALID_HANDLE;
  null_remove(NULL_MODULE, module);
  module_free(module);
  return 0;
}

NULL_EXPORT int cuModuleGetFunction(void **function, void *handle, const char *name) {
  NULL_CALL("cuModuleGetFunction", true);
  null_module *module = handle;
  if (!null_has(NULL_MODULE, module)) return CUDA_INVALID_HANDLE;
  for (uint32_t i = 0; i < module->count; i++)
    if (strcmp(module->functions[i].name, name) == 0) return *function = &module->functions[i], 0;
  for (uint32_t i = 0; i < module_own_count && i < MODULE_FUNCTIONS; i++)
    if (strcmp(module_own[i].name, name) == 0) return *function = &module_own[i], 0;
  return CUDA_NOT_FOUND;
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
