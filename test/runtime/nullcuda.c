/* What the CUDA driver of the tests has beside what both have: contexts, and the linker that makes
 * a "cubin" (a header and the PTX) of PTX. */
#include "nullgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBIN_MAGIC "nullcubin"
#define CONTEXT_STACK 64

int null_version = 12040, null_architecture = 90;
const int null_first = 100; /* a handle is no ordinal */
static int cuda_contexts[NULL_DEVICES];
static _Thread_local void *context_stack[CONTEXT_STACK];
static _Thread_local int context_depth;

typedef struct null_link {
  char *log;
  size_t log_size;
  uint8_t *cubin;
  size_t size;
} null_link;

/* In front of the PTX. */
typedef struct null_cubin {
  char magic[16];
  uint64_t architecture, size;
} null_cubin;

/* ---- errors ---- */

const char *null_error_name(int error, bool text) {
  static const struct {
    int error;
    const char *name, *text;
  } errors[] = {
      {DRIVER_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
      {DRIVER_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
      {DRIVER_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
      {DRIVER_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
      {DRIVER_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
      {DRIVER_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
      {DRIVER_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
      {DRIVER_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
      {DRIVER_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
      {DRIVER_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
      {DRIVER_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
      {DRIVER_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
      {DRIVER_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
  };
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].error == error) return text ? errors[i].text : errors[i].name;
  return NULL;
}

/* ---- devices and contexts ---- */

int null_parse_architecture(const char *text) { return atoi(text); }

int null_current(void) {
  return context_depth ? (int)((int *)context_stack[context_depth - 1] - cuda_contexts) : -1;
}

int loom_nullgpu_depth(void) { return context_depth; }

long null_contexts_live(void) {
  long live = 0;
  for (int i = 0; i < NULL_DEVICES; i++)
    live += cuda_contexts[i];
  return live;
}

static bool cuda_is_device(int device) {
  return device >= null_first && device < null_first + null_devices;
}

int null_DeviceGetAttribute(int *value, int attribute, int device) {
  NULL_CALL(DeviceGetAttribute, false);
  if (!cuda_is_device(device)) return DRIVER_INVALID_DEVICE;
  switch (attribute) {
  case CUDA_MAJOR: *value = null_architecture / 10; return 0;
  case CUDA_MINOR: *value = null_architecture % 10; return 0;
  case CUDA_MEMORY_POOLS: *value = 1; return 0;
  default: return DRIVER_INVALID_VALUE;
  }
}

int null_PrimaryCtxRetain(void **context, int device) {
  NULL_CALL(PrimaryCtxRetain, false);
  if (!cuda_is_device(device)) return DRIVER_INVALID_DEVICE;
  *context = &cuda_contexts[device - null_first];
  cuda_contexts[device - null_first]++;
  return 0;
}

int null_PrimaryCtxRelease(int device) {
  NULL_CALL(PrimaryCtxRelease, false);
  if (!cuda_is_device(device) || !cuda_contexts[device - null_first]) return DRIVER_INVALID_DEVICE;
  cuda_contexts[device - null_first]--;
  return 0;
}

int null_CtxPushCurrent(void *context) {
  NULL_CALL(CtxPushCurrent, false);
  int *counter = context;
  if (counter < cuda_contexts || counter >= cuda_contexts + NULL_DEVICES || !*counter ||
      context_depth == CONTEXT_STACK)
    return DRIVER_INVALID_CONTEXT;
  context_stack[context_depth++] = context;
  return 0;
}

/* Cannot be made to fail: nobody could do anything about it. */
int null_CtxPopCurrent(void **context) {
  if (!context_depth) return DRIVER_INVALID_CONTEXT;
  *context = context_stack[--context_depth];
  return 0;
}

/* ---- launches ---- */

int null_LaunchKernelEx(const cuda_launch *launch, void *function, void **parameters,
                        void **extra) {
  NULL_CALL(LaunchKernelEx, true);
  if (launch->shared || launch->attribute_count || extra) return DRIVER_INVALID_VALUE;
  return null_launch(launch->stream, function, launch->grid, launch->block, parameters);
}

/* ---- machine code ---- */

bool null_image_check(const void *image, const char **text) {
  null_cubin head;
  memcpy(&head, image, sizeof head);
  *text = (const char *)image + sizeof head;
  return strcmp(head.magic, CUBIN_MAGIC) == 0 && head.architecture == (uint64_t)null_architecture;
}

/* A module needs nothing of its cubin when it is loaded. */
bool null_image_has(const void *image, const char *name) { return true; }

int null_LinkCreate(unsigned count, int *options, void **values, void **link) {
  NULL_CALL(LinkCreate, true);
  null_link *made = calloc(1, sizeof *made);
  if (!made || !null_add(NULL_LINK, made)) return free(made), DRIVER_OUT_OF_MEMORY;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == CUDA_JIT_ERROR_LOG) made->log = values[i];
    if (options[i] == CUDA_JIT_ERROR_LOG_SIZE) made->log_size = (size_t)(uintptr_t)values[i];
  }
  *link = made;
  return 0;
}

static int link_refuse(const null_link *link, const char *why) {
  if (link->log && link->log_size) snprintf(link->log, link->log_size, "ptxas error: %s", why);
  return DRIVER_INVALID_PTX;
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

int null_LinkAddData(void *handle, int type, void *data, size_t size, const char *name,
                     unsigned count, int *options, void **values) {
  NULL_CALL(LinkAddData, true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return DRIVER_INVALID_HANDLE;
  if (type != CUDA_INPUT_PTX || link->cubin) return DRIVER_INVALID_VALUE;
  int status = link_check(link, data, size);
  if (status) return status;
  null_cubin head = {CUBIN_MAGIC, (uint64_t)null_architecture, size};
  link->size = sizeof head + size;
  link->cubin = malloc(link->size);
  if (!link->cubin) return DRIVER_OUT_OF_MEMORY;
  memcpy(link->cubin, &head, sizeof head);
  memcpy(link->cubin + sizeof head, data, size);
  return 0;
}

int null_LinkComplete(void *handle, void **cubin, size_t *size) {
  NULL_CALL(LinkComplete, true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return DRIVER_INVALID_HANDLE;
  if (!link->cubin) return DRIVER_INVALID_VALUE;
  *cubin = link->cubin;
  *size = link->size;
  return 0;
}

/* The cubin is the linker's: it ends with it. */
int null_LinkDestroy(void *handle) {
  NULL_CALL(LinkDestroy, true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return DRIVER_INVALID_HANDLE;
  null_remove(NULL_LINK, link);
  if (link->cubin) memset(link->cubin, 0, link->size);
  free(link->cubin);
  free(link);
  return 0;
}
