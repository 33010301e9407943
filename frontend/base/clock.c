/* Clocks that only go forward. */
#include "frontend/base/base.h"

#include <time.h>

uint64_t loom_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t loom_busy_ns(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t loom_process_ns(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double loom_clock_ms(void) { return (double)loom_clock_ns() * 1e-6; }
