/* Clocks that only go forward. */
#include "frontend/base/base.h"

#include <time.h>

static uint64_t clock_read(clockid_t clock) {
  struct timespec t = {0};
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t loom_clock_ns(void) { return clock_read(CLOCK_MONOTONIC); }

uint64_t loom_busy_ns(void) { return clock_read(CLOCK_THREAD_CPUTIME_ID); }

uint64_t loom_process_ns(void) { return clock_read(CLOCK_PROCESS_CPUTIME_ID); }

double loom_clock_ms(void) { return (double)loom_clock_ns() * 1e-6; }
