/* A CUDA driver without a GPU, for the tests: the functions of runtime/cuda.def, and what it takes
 * to test that the runtime uses them as it must (nullcuda.h).
 *
 * Device memory faults when the host touches it. Work runs as late as it may: when a stream is
 * synchronised, in order (nullcuda_stream.c). Launches run the simulator's code of the same kernel,
 * which the compiler puts into comments of the PTX (nullcuda_module.c). Any call can be made to
 * fail. After a kernel has failed, every call does.
 */
#include "nullcuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NULL_DEVICES 4
#define NULL_NAMES 64
#define NULL_STACK 64

static pthread_mutex_t null_lock = PTHREAD_MUTEX_INITIALIZER;
static int null_version = 12040, null_devices = 2, null_broken, null_contexts[NULL_DEVICES];
static bool null_started;
int null_architecture = 90;
static _Thread_local void *null_stack[NULL_STACK];
static _Thread_local int null_depth;

static struct {
  char symbol[64];
  int skip, error;
  bool done;
} null_failure;

static struct {
  const char *symbol;
  long count;
} null_called[NULL_NAMES];

/* ---- calls ---- */

static void null_count(const char *symbol) {
  int i = 0;
  while (i < NULL_NAMES - 1 && null_called[i].symbol && strcmp(null_called[i].symbol, symbol) != 0)
    i++;
  null_called[i].symbol = symbol;
  null_called[i].count++;
}

int null_enter(const char *symbol, bool needs_context) {
  pthread_mutex_lock(&null_lock);
  null_count(symbol);
  int error = 0;
  if (strcmp(null_failure.symbol, symbol) == 0 && !null_failure.done && !null_failure.skip--) {
    null_failure.done = true;
    error = null_failure.error;
  } else if (null_broken) {
    error = null_broken;
  } else if (!null_started && strcmp(symbol, "cuInit") != 0) {
    error = CUDA_NOT_INITIALIZED;
  } else if (needs_context && !null_depth) {
    error = CUDA_INVALID_CONTEXT;
  }
  return error;
}

void null_leave(int *unused) { pthread_mutex_unlock(&null_lock); }

void null_break(int error) {
  if (!null_broken) null_broken = error;
}

int null_broken_now(void) { return null_broken; }

/* ---- objects ---- */

static struct {
  void **items;
  size_t count, capacity;
} null_objects[NULL_KINDS];

bool null_add(int kind, void *object) {
  if (null_objects[kind].count == null_objects[kind].capacity) {
    size_t capacity = null_objects[kind].capacity * 2 + 16;
    void **more = realloc(null_objects[kind].items, capacity * sizeof *more);
    if (!more) return false;
    null_objects[kind].items = more;
    null_objects[kind].capacity = capacity;
  }
  null_objects[kind].items[null_objects[kind].count++] = object;
  return true;
}

static size_t null_find(int kind, const void *object) {
  size_t i = 0;
  while (i < null_objects[kind].count && null_objects[kind].items[i] != object)
    i++;
  return i;
}

bool null_has(int kind, const void *object) {
  return null_find(kind, object) < null_objects[kind].count;
}

void null_remove(int kind, const void *object) {
  size_t i = null_find(kind, object);
  if (i < null_objects[kind].count)
    null_objects[kind].items[i] = null_objects[kind].items[--null_objects[kind].count];
}

/* ---- what tests ask ---- */

void loom_nullcuda_fail(const char *symbol, int skip, int error) {
  pthread_mutex_lock(&null_lock);
  memset(&null_failure, 0, sizeof null_failure);
  strncpy(null_failure.symbol, symbol, sizeof null_failure.symbol - 1);
  null_failure.skip = skip;
  null_failure.error = error;
  pthread_mutex_unlock(&null_lock);
}

bool loom_nullcuda_failed(void) { return null_failure.done; }

long loom_nullcuda_live(const char *what) {
  static const char *const names[] = {"memory", "stream", "event", "module", "host", "link"};
  pthread_mutex_lock(&null_lock);
  long live = -1;
  for (int i = 0; i < NULL_KINDS; i++)
    if (strcmp(names[i], what) == 0) live = (long)null_objects[i].count;
  if (strcmp(what, "context") == 0)
    for (int i = live = 0; i < NULL_DEVICES; i++)
      live += null_contexts[i];
  pthread_mutex_unlock(&null_lock);
  return live;
}

long loom_nullcuda_calls(const char *symbol) {
  pthread_mutex_lock(&null_lock);
  long count = 0;
  for (int i = 0; i < NULL_NAMES; i++)
    if (null_called[i].symbol && strcmp(null_called[i].symbol, symbol) == 0)
      count = null_called[i].count;
  pthread_mutex_unlock(&null_lock);
  return count;
}

int loom_nullcuda_depth(void) { return null_depth; }

void loom_nullcuda_describe(int version, int devices, int architecture) {
  null_version = version;
  null_devices = devices;
  null_architecture = architecture;
}

/* For tests that run in a process of their own: NULLCUDA_FAIL=cuInit NULLCUDA_VERSION=11020
 * NULLCUDA_DEVICES=0 */
__attribute__((constructor)) static void null_read_environment(void) {
  const char *fail = getenv("NULLCUDA_FAIL"), *version = getenv("NULLCUDA_VERSION");
  const char *devices = getenv("NULLCUDA_DEVICES"), *architecture = getenv("NULLCUDA_ARCHITECTURE");
  if (fail) loom_nullcuda_fail(fail, 0, CUDA_UNKNOWN);
  loom_nullcuda_describe(version ? atoi(version) : null_version,
                         devices ? atoi(devices) : null_devices,
                         architecture ? atoi(architecture) : null_architecture);
}

/* ---- the driver and its devices ---- */

static const struct {
  int error;
  const char *name, *text;
} null_errors[] = {
    {CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int null_describe_error(int error, const char **name, const char **text) {
  for (size_t i = 0; i < sizeof null_errors / sizeof *null_errors; i++) {
    if (null_errors[i].error != error) continue;
    *name = null_errors[i].name;
    *text = null_errors[i].text;
    return 0;
  }
  return CUDA_INVALID_VALUE;
}

NULL_EXPORT int cuGetErrorName(int error, const char **name) {
  const char *text;
  return null_describe_error(error, name, &text);
}

NULL_EXPORT int cuGetErrorString(int error, const char **text) {
  const char *name;
  return null_describe_error(error, &name, text);
}

NULL_EXPORT int cuInit(unsigned flags) {
  NULL_CALL("cuInit", false);
  if (!null_devices) return CUDA_NO_DEVICE;
  null_started = true;
  return flags ? CUDA_INVALID_VALUE : 0;
}

NULL_EXPORT int cuDriverGetVersion(int *version) {
  NULL_CALL("cuDriverGetVersion", false);
  *version = null_version;
  return 0;
}

NULL_EXPORT int cuDeviceGetCount(int *count) {
  NULL_CALL("cuDeviceGetCount", false);
  *count = null_devices;
  return 0;
}

NULL_EXPORT int cuDeviceGet(int *device, int ordinal) {
  NULL_CALL("cuDeviceGet", false);
  if (ordinal < 0 || ordinal >= null_devices) return CUDA_INVALID_DEVICE;
  *device = 100 + ordinal; /* a handle is no ordinal */
  return 0;
}

NULL_EXPORT int cuDeviceGetName(char *name, int length, int device) {
  NULL_CALL("cuDeviceGetName", false);
  if (device < 100 || device >= 100 + null_devices || length < 1) return CUDA_INVALID_DEVICE;
  strncpy(name, "a GPU of the tests", (size_t)length - 1);
  name[length - 1] = 0;
  return 0;
}

NULL_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  NULL_CALL("cuDeviceGetAttribute", false);
  if (device < 100 || device >= 100 + null_devices) return CUDA_INVALID_DEVICE;
  switch (attribute) {
  case CUDA_MAJOR: *value = null_architecture / 10; return 0;
  case CUDA_MINOR: *value = null_architecture % 10; return 0;
  case CUDA_MEMORY_POOLS: *value = 1; return 0;
  default: return CUDA_INVALID_VALUE;
  }
}

NULL_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  NULL_CALL("cuDevicePrimaryCtxRetain", false);
  if (device < 100 || device >= 100 + null_devices) return CUDA_INVALID_DEVICE;
  *context = &null_contexts[device - 100];
  null_contexts[device - 100]++;
  return 0;
}

NULL_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  NULL_CALL("cuDevicePrimaryCtxRelease_v2", false);
  if (device < 100 || device >= 100 + null_devices || !null_contexts[device - 100])
    return CUDA_INVALID_DEVICE;
  null_contexts[device - 100]--;
  return 0;
}

NULL_EXPORT int cuCtxPushCurrent_v2(void *context) {
  NULL_CALL("cuCtxPushCurrent_v2", false);
  int *counter = context;
  if (counter < null_contexts || counter >= null_contexts + NULL_DEVICES || !*counter ||
      null_depth == NULL_STACK)
    return CUDA_INVALID_CONTEXT;
  null_stack[null_depth++] = context;
  return 0;
}

/* Cannot be made to fail: nobody could do anything about it. */
NULL_EXPORT int cuCtxPopCurrent_v2(void **context) {
  if (!null_depth) return CUDA_INVALID_CONTEXT;
  *context = null_stack[--null_depth];
  return 0;
}
