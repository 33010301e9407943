/* CPU features, those only that the operating system saves on a context switch. */
#include "runtime/runtime.h"

#include <cpuid.h>
#include <stdatomic.h>

#define CPU_LEAF1 (bit_FMA | bit_F16C | bit_AVX | bit_OSXSAVE)
#define CPU_AVX2 (bit_AVX2 | bit_BMI2)
#define CPU_AVX512 (bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)
#define CPU_STATE_AVX 0x6u     /* XCR0: xmm, ymm */
#define CPU_STATE_AVX512 0xe0u /* XCR0: masks, high halves, zmm16 to 31 */
#define CPU_KNOWN (1ull << 63)

static uint64_t cpu_detect(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & CPU_LEAF1) != CPU_LEAF1) return 0;
  unsigned state, high;
  __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  if ((state & CPU_STATE_AVX) != CPU_STATE_AVX) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & CPU_AVX2) != CPU_AVX2) return 0;
  bool wide = (state & CPU_STATE_AVX512) == CPU_STATE_AVX512 && (b & CPU_AVX512) == CPU_AVX512;
  return LOOM_CPU_AVX2 | (wide ? LOOM_CPU_AVX512 : 0u);
}

uint64_t loom_cpu_features(void) {
  static _Atomic uint64_t known; /* detection is the same for every thread: a race does no harm */
  uint64_t features = atomic_load_explicit(&known, memory_order_relaxed);
  if (!features) {
    features = cpu_detect() | CPU_KNOWN;
    atomic_store_explicit(&known, features, memory_order_relaxed);
  }
  return features & ~CPU_KNOWN;
}
