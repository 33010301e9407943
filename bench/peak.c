/* What this machine can do at most: the bounds that programs are measured against. Prints JSON.
 * usage: peak THREADS [ROUNDS]
 *
 * `rates`: bytes per second for footprints of many sizes, from what fits a first-level cache to
 * main memory, each read or written once in a pass: `read` one array, `write` one, `copy` one to
 * another, `triad` two to a third; `stream` is the best of those that store past the caches. Passes
 * go up and down in turn, so that what the caches still hold of the last pass is used, as a program
 * may. A rate is the sum of the threads' own best ones: it may be higher than all threads reach at
 * a time, never lower, which is what a bound needs. `float32`, `float64`: fused multiply-adds in
 * registers, floating-point operations per second.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
#define WIDTH 64
#else
#define WIDTH 32
#endif
#define CHAINS 12
#define LANES (WIDTH / 4)
typedef float vf __attribute__((vector_size(WIDTH)));
typedef double vd __attribute__((vector_size(WIDTH)));

static pthread_barrier_t barrier;
static int threads, rounds = 10;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static volatile float sink_f;
static volatile double sink_d;

#define FMA_LOOP(NAME, VECTOR, SCALAR, SINK)                                                       \
  static void NAME(long rounds) {                                                                  \
    VECTOR acc[CHAINS], a = (VECTOR){0} + (SCALAR)0.999, b = (VECTOR){0} + (SCALAR)0.001;          \
    _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) acc[i] = (VECTOR){0} + (SCALAR)i;    \
    for (long r = 0; r < rounds; r++) {                                                            \
      _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) acc[i] = acc[i] * a + b;           \
    }                                                                                              \
    _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++) SINK += acc[i][0];                   \
  }
FMA_LOOP(fma_float, vf, float, sink_f)
FMA_LOOP(fma_double, vd, double, sink_d)

/* ---- passes over memory: `n` vectors, a multiple of 8 ---- */

static vf pass_read(vf *a, const vf *b, const vf *c, size_t n) {
  vf s[8] = {{0}};
  (void)b, (void)c;
  for (size_t i = 0; i < n; i += 8)
    _Pragma("GCC unroll 8") for (size_t j = 0; j < 8; j++) s[j] += a[i + j];
  return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

static void stream(vf *to, vf value) {
#if WIDTH == 64
  _mm512_stream_ps((float *)to, (__m512)value);
#else
  _mm256_stream_ps((float *)to, (__m256)value);
#endif
}

#define PASS(NAME, STATEMENT)                                                                      \
  static vf NAME(vf *a, const vf *b, const vf *c, size_t n) {                                      \
    const vf three = (vf){0} + 3.0f;                                                               \
    (void)b, (void)c, (void)three;                                                                 \
    _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++) STATEMENT;                              \
    return three;                                                                                  \
  }
PASS(pass_write, a[i] = three)
PASS(pass_copy, a[i] = b[i])
PASS(pass_triad, a[i] = b[i] + three * c[i])
PASS(pass_write_past, stream(&a[i], three))
PASS(pass_copy_past, stream(&a[i], b[i]))
PASS(pass_triad_past, stream(&a[i], b[i] + three * c[i]))

typedef struct pattern {
  const char *name; /* several of one name: the best counts */
  vf (*pass)(vf *, const vf *, const vf *, size_t);
  size_t arrays;
} pattern;

static const pattern patterns[] = {
    {"read", pass_read, 1},         {"write", pass_write, 1},       {"copy", pass_copy, 2},
    {"triad", pass_triad, 3},       {"stream", pass_write_past, 1}, {"stream", pass_copy_past, 2},
    {"stream", pass_triad_past, 3},
};
#define PATTERNS (sizeof patterns / sizeof *patterns)

/* ---- one thread's measurements ---- */

typedef struct work {
  char *memory; /* of this thread */
  size_t bytes; /* that a pass of all threads touches */
  const pattern *pattern;
  double rate, flops32, flops64;
} work;

static double best_fma(void (*loop)(long), int lanes) {
  const long steps = 2000000;
  double best = 0;
  for (int i = 0; i < rounds; i++) {
    pthread_barrier_wait(&barrier);
    double start = now();
    loop(steps);
    double rate = 2.0 * lanes * CHAINS * (double)steps / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

#define BLOCK ((size_t)256) /* vectors: what is passed over at a time, upwards */
#define GAP ((size_t)1024)  /* bytes between arrays, which else began at like addresses */

static void pass_all(const pattern *p, vf *const *arrays, size_t count, bool down) {
  vf seen = {0};
  for (size_t done = 0; done < count; done += BLOCK) {
    size_t rest = count - done, n = rest < BLOCK ? rest : BLOCK, at = down ? rest - n : done;
    seen += p->pass(arrays[0] + at, arrays[1] + at, arrays[2] + at, n);
  }
  sink_f = seen[0];
}

static void *measure_rate(void *argument) {
  work *w = argument;
  size_t count = w->bytes / (size_t)threads / w->pattern->arrays / WIDTH & ~(size_t)7;
  vf *arrays[3];
  for (size_t i = 0; i < 3; i++)
    arrays[i] = (vf *)(w->memory + (i < w->pattern->arrays ? i * (count * WIDTH + GAP) : 0));
  size_t moved = count * WIDTH * w->pattern->arrays;
  size_t repeat = 2 + (32u << 20) / moved;
  w->rate = 0;
  for (int i = 0; i < rounds; i++) {
    pthread_barrier_wait(&barrier);
    double start = now();
    for (size_t r = 0; r < repeat; r++)
      pass_all(w->pattern, arrays, count, r & 1);
    double rate = (double)moved * (double)repeat / (now() - start);
    if (rate > w->rate) w->rate = rate;
  }
  return NULL;
}

static void *measure_fma(void *argument) {
  work *w = argument;
  w->flops32 = best_fma(fma_float, WIDTH / 4);
  w->flops64 = best_fma(fma_double, WIDTH / 8);
  return NULL;
}

static void on_all(void *(*body)(void *), work *works) {
  pthread_t ids[256];
  for (int i = 1; i < threads; i++)
    pthread_create(&ids[i], NULL, body, &works[i]);
  body(&works[0]);
  for (int i = 1; i < threads; i++)
    pthread_join(ids[i], NULL);
}

static void print_rates(size_t bytes, work *works) {
  for (size_t p = 0; p < PATTERNS;) {
    const char *name = patterns[p].name;
    double best = 0;
    for (; p < PATTERNS && !strcmp(patterns[p].name, name); p++) {
      double sum = 0;
      for (int i = 0; i < threads; i++)
        works[i].bytes = bytes, works[i].pattern = &patterns[p];
      on_all(measure_rate, works);
      for (int i = 0; i < threads; i++)
        sum += works[i].rate;
      if (sum > best) best = sum;
    }
    printf("%s\"%s\": %.4g", strcmp(name, "read") ? ", " : "", name, best);
  }
}

int main(int argc, char **argv) {
  static work works[256];
  const size_t least = 16u << 10, most = 256u << 20, huge = 2u << 20;
  threads = argc > 1 ? atoi(argv[1]) : 1;
  if (argc > 2) rounds = atoi(argv[2]);
  if (threads < 1 || rounds < 1 || threads > 256) return 1;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  size_t whole = (most / (size_t)threads + 4 * GAP + huge) & ~(huge - 1);
  for (int i = 0; i < threads; i++) {
    if (!(works[i].memory = aligned_alloc(huge, whole))) return 1;
    madvise(works[i].memory, whole, MADV_HUGEPAGE);
    memset(works[i].memory, 0, whole);
  }
  on_all(measure_fma, works);
  double flops32 = 0, flops64 = 0;
  for (int i = 0; i < threads; i++)
    flops32 += works[i].flops32, flops64 += works[i].flops64;
  printf("{\"threads\": %d, \"float32\": %.4g, \"float64\": %.4g, \"rates\": {", threads, flops32,
         flops64);
  for (size_t bytes = least; bytes <= most; bytes *= 2) {
    printf("%s\"%zu\": {", bytes > least ? ", " : "", bytes);
    print_rates(bytes, works);
    printf("}");
  }
  printf("}}\n");
  return 0;
}
