/* The driver of the tests as the tests of devices use it. */
#include "devices.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct null_functions null;
struct other_functions other;

static void find(void *library, const char *name, void *out) {
  void *address = dlsym(library, name);
  assert_non_null(address);
  memcpy(out, &address, sizeof address);
}

int open_driver(void **state) {
  static char folder[] = "/tmp/loom-device-XXXXXX";
  void *library = dlopen(DRIVER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library || !mkdtemp(folder)) return -1;
  setenv(DRIVER_VARIABLE, DRIVER_LIBRARY, 1);
  setenv("FRAMELOOM_CACHE_DIR", folder, 1);
  find(library, "loom_nullgpu_fail", &null.fail_next);
  find(library, "loom_nullgpu_failed", &null.failed_now);
  find(library, "loom_nullgpu_live", &null.live);
  find(library, "loom_nullgpu_calls", &null.calls);
  find(library, "loom_nullgpu_pending", &null.pending);
  find(library, "loom_nullgpu_depth", &null.depth);
  find(library, "loom_nullgpu_describe", &null.describe);
  find(library, "loom_nullgpu_kernel", &null.kernel);
  find(library, "loom_nullgpu_last", &null.last);
#define LOOM_DRIVER(NAME, CUDA, HIP, PARAMETERS) find(library, NULL_SYMBOL(CUDA, HIP), &other.NAME);
#include "runtime/driver.def"
#undef LOOM_DRIVER
#ifndef NULL_HIP
#define LOOM_CUDA(NAME, SYMBOL, PARAMETERS) find(library, SYMBOL, &other.NAME);
#include "runtime/cuda.def"
#undef LOOM_CUDA
#endif
  return 0;
}

int close_driver(void **state) {
  char command[64];
  snprintf(command, sizeof command, "rm -r %.40s", getenv("FRAMELOOM_CACHE_DIR"));
  return system(command);
}

void apart(void (*test)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (!child) {
    test();
    _exit(0);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}
