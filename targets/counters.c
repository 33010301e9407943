/* The processor's counters by perf_event_open, which containers and settings of the system may
 * refuse. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "targets/tools.h"

static const struct {
  const char *name;
  uint64_t config;
} counters_known[] = {{"cycles", PERF_COUNT_HW_CPU_CYCLES},
                      {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                      {"cache-misses", PERF_COUNT_HW_CACHE_MISSES},
                      {"branch-misses", PERF_COUNT_HW_BRANCH_MISSES}};

#define COUNTERS_COUNT (sizeof counters_known / sizeof *counters_known)

struct loom_counters {
  int files[COUNTERS_COUNT]; /* -1: this processor has no such counter */
};

static int counters_open_one(uint64_t config) {
  struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                 .size = sizeof attr,
                                 .config = config,
                                 .disabled = 1,
                                 .inherit = 1,
                                 .exclude_kernel = 1,
                                 .exclude_hv = 1};
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

loom_counters *loom_counters_open(loom_error *err) {
  loom_counters *counters = calloc(1, sizeof *counters);
  bool any = false;
  int why = ENOMEM;
  for (size_t i = 0; counters && i < COUNTERS_COUNT; i++) {
    counters->files[i] = counters_open_one(counters_known[i].config);
    if (counters->files[i] < 0 && !i) why = errno;
    any |= counters->files[i] >= 0;
  }
  if (any) return counters;
  free(counters);
  loom_fail(err, "perf_event_open: %s", strerror(why));
  return NULL;
}

void loom_counters_start(loom_counters *counters) {
  for (size_t i = 0; i < COUNTERS_COUNT; i++) {
    if (counters->files[i] < 0) continue;
    ioctl(counters->files[i], PERF_EVENT_IOC_RESET, 0);
    ioctl(counters->files[i], PERF_EVENT_IOC_ENABLE, 0);
  }
}

void loom_counters_print(loom_counters *counters, int64_t runs) {
  const char *between = "";
  for (size_t i = 0; i < COUNTERS_COUNT; i++) {
    uint64_t value;
    if (counters->files[i] < 0) continue;
    ioctl(counters->files[i], PERF_EVENT_IOC_DISABLE, 0);
    if (read(counters->files[i], &value, sizeof value) != sizeof value) continue;
    printf("%s%s %.1f", between, counters_known[i].name, (double)value / (double)runs);
    between = ", ";
  }
}

void loom_counters_close(loom_counters *counters) {
  for (size_t i = 0; counters && i < COUNTERS_COUNT; i++)
    if (counters->files[i] >= 0) close(counters->files[i]);
  free(counters);
}
