/* Drivers without a GPU, for the tests: the functions of runtime/driver.def, and what it takes to
 * test that the runtime uses them as it must (nullgpu.h).
 *
 * Device memory faults when the host touches it. Work runs as late as it may: when a stream is
 * synchronised, in order (nullgpu_stream.c). Launches run the simulator's code of the same kernel,
 * which the compiler puts behind the kernels' code (nullgpu_module.c). Graphs are launched as their
 * nodes (nullgpu_graph.c). Any call can be made to fail. After a kernel has failed, every call
 * does.
 */
#include "nullgpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NULL_NAMES 128

static const struct {
  const char *name, *symbol;
} null_names[] = {
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS) {#NAME, NULL_SYMBOL(CUDA, HIP)},
#include "runtime/driver.def"
#undef LOOM_DRIVER
#ifdef NULL_HIP
#define LOOM_HIP(NAME, SYMBOL, PARAMETERS) {#NAME, SYMBOL},
#include "runtime/hip.def"
#undef LOOM_HIP
#else
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) {#NAME, SYMBOL},
#include "runtime/cuda.def"
#undef LOOM_CUDA
#endif
};

static pthread_mutex_t null_lock = PTHREAD_MUTEX_INITIALIZER;
static int null_broken;
static bool null_started;
_Thread_local int null_last;
int null_devices = 2;

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

int null_enter(const char *name, bool needs_device) {
  size_t row = 0;
  while (strcmp(null_names[row].name, name) != 0)
    row++;
  const char *symbol = null_names[row].symbol;
  pthread_mutex_lock(&null_lock);
  null_count(symbol);
  int error = 0;
  if (strcmp(null_failure.symbol, symbol) == 0 && !null_failure.done && !null_failure.skip--) {
    null_failure.done = true;
    error = null_failure.error;
  } else if (null_broken) {
    error = null_broken;
  } else if (!null_started && strcmp(name, "Init") != 0) {
    error = DRIVER_NOT_INITIALIZED;
  } else if (needs_device && null_current() < 0) {
    error = DRIVER_INVALID_CONTEXT;
  }
  if (error) null_last = error;
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

void loom_nullgpu_fail(const char *symbol, int skip, int error) {
  pthread_mutex_lock(&null_lock);
  memset(&null_failure, 0, sizeof null_failure);
  strncpy(null_failure.symbol, symbol, sizeof null_failure.symbol - 1);
  null_failure.skip = skip;
  null_failure.error = error;
  pthread_mutex_unlock(&null_lock);
}

int loom_nullgpu_last(void) { return null_last; }
bool loom_nullgpu_failed(void) { return null_failure.done; }

long loom_nullgpu_live(const char *what) {
  static const char *const names[] = {"memory", "stream", "event", "module",
                                      "link",   "graph",  "exec"};
  pthread_mutex_lock(&null_lock);
  long live = -1;
  for (int i = 0; i < NULL_KINDS; i++)
    if (strcmp(names[i], what) == 0) live = (long)null_objects[i].count;
  if (strcmp(what, "context") == 0) live = null_contexts_live();
  pthread_mutex_unlock(&null_lock);
  return live;
}

long loom_nullgpu_calls(const char *symbol) {
  pthread_mutex_lock(&null_lock);
  long count = 0;
  for (int i = 0; i < NULL_NAMES; i++)
    if (null_called[i].symbol && strcmp(null_called[i].symbol, symbol) == 0)
      count = null_called[i].count;
  pthread_mutex_unlock(&null_lock);
  return count;
}

void loom_nullgpu_describe(int version, int devices, int architecture) {
  null_version = version;
  null_devices = devices;
  null_architecture = architecture;
}

/* For tests that run in a process of their own: NULLGPU_FAIL=cuInit NULLGPU_VERSION=11020
 * NULLGPU_DEVICES=0 NULLGPU_ARCHITECTURE=80 */
__attribute__((constructor)) static void null_read_environment(void) {
  const char *fail = getenv("NULLGPU_FAIL"), *version = getenv("NULLGPU_VERSION");
  const char *devices = getenv("NULLGPU_DEVICES"), *architecture = getenv("NULLGPU_ARCHITECTURE");
  if (fail) loom_nullgpu_fail(fail, 0, DRIVER_UNKNOWN);
  loom_nullgpu_describe(version ? atoi(version) : null_version,
                        devices ? atoi(devices) : null_devices,
                        architecture ? null_parse_architecture(architecture) : null_architecture);
}

/* ---- the driver and its devices ---- */

int null_GetErrorName(int error, const char **name) {
  *name = null_error_name(error, false);
  return *name ? 0 : DRIVER_INVALID_VALUE;
}

int null_GetErrorString(int error, const char **text) {
  *text = null_error_name(error, true);
  return *text ? 0 : DRIVER_INVALID_VALUE;
}

int null_Init(unsigned flags) {
  NULL_CALL(Init, false);
  if (!null_devices) return DRIVER_NO_DEVICE;
  null_started = true;
  return flags ? DRIVER_INVALID_VALUE : 0;
}

int null_DriverGetVersion(int *version) {
  NULL_CALL(DriverGetVersion, false);
  *version = null_version;
  return 0;
}

int null_DeviceGetCount(int *count) {
  NULL_CALL(DeviceGetCount, false);
  *count = null_devices;
  return 0;
}

int null_DeviceGet(int *device, int ordinal) {
  NULL_CALL(DeviceGet, false);
  if (ordinal < 0 || ordinal >= null_devices) return DRIVER_INVALID_DEVICE;
  *device = null_first + ordinal;
  return 0;
}
