/* CPU features, those only that the operating system saves on a context switch. The registers of
 * AMX are large: Linux saves them for processes alone that have asked for it. */
#include "runtime/runtime.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPU_LEAF1 (bit_FMA | bit_F16C | bit_AVX | bit_OSXSAVE)
#define CPU_AVX2 (bit_AVX2 | bit_BMI2)
#define CPU_AVX512 (bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)
#define CPU_STATE_AVX 0x6u            /* XCR0: xmm, ymm */
#define CPU_STATE_AVX512 0xe0u        /* XCR0: masks, high halves, zmm16 to 31 */
#define CPU_STATE_AMX 0x60000u        /* XCR0: configuration and data of tiles */
#define CPU_BF16 (1u << 5)            /* leaf 7, 1: EAX */
#define CPU_AMX (1u << 22 | 1u << 24) /* leaf 7, 0: EDX: bfloat16, tiles */
#define CPU_ASK 0x1023                /* ARCH_REQ_XCOMP_PERM */
#define CPU_TILES 18                  /* the number of the tiles' state */
#define CPU_KNOWN (1ull << 63)

static uint64_t cpu_detect(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & CPU_LEAF1) != CPU_LEAF1) return 0;
  unsigned state, high;
  __asm__ volatile("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  if ((state & CPU_STATE_AVX) != CPU_STATE_AVX) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & CPU_AVX2) != CPU_AVX2) return 0;
  bool wide = (state & CPU_STATE_AVX512) == CPU_STATE_AVX512 && (b & CPU_AVX512) == CPU_AVX512;
  if (!wide) return LOOM_CPU_AVX2;
  bool tiles = (state & CPU_STATE_AMX) == CPU_STATE_AMX && (d & CPU_AMX) == CPU_AMX;
  bool pairs = a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & CPU_BF16);
  tiles = tiles && syscall(SYS_arch_prctl, CPU_ASK, CPU_TILES) == 0;
  return LOOM_CPU_AVX2 | LOOM_CPU_AVX512 | (pairs ? LOOM_CPU_BF16 : 0u) |
         (tiles ? LOOM_CPU_AMX : 0u);
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

/* Intel's CPUs begin two multiply-adds in the time of one dot product, AMD's one. */
bool loom_cpu_pairs_fast(void) {
  unsigned a, b, c, d;
  return __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx;
}
