/* What this machine can do at most: the bounds that programs are measured against. Prints JSON.
 * usage: peak THREADS
 *
 * `bandwidth`: a STREAM triad (three arrays counted) for several sizes of all arrays together,
 * bytes per second. `float32`, `float64`: fused multiply-adds in registers, floating-point
 * operations per second.
 */
#define _GNU_SOURCE
#include <pthread.h>
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
typedef float vf __attribute__((vector_size(WIDTH)));
typedef double vd __attribute__((vector_size(WIDTH)));

static pthread_barrier_t barrier;
static int threads;

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

typedef struct work {
  int self;
  float *a, *b, *c;
  size_t count; /* of this thread */
  double triad, flops32, flops64;
} work;

static double best_fma(void (*loop)(long), int lanes) {
  const long rounds = 2000000;
  double best = 0;
  for (int i = 0; i < 7; i++) {
    pthread_barrier_wait(&barrier);
    double start = now();
    loop(rounds);
    double rate = 2.0 * lanes * CHAINS * (double)rounds / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

static __attribute__((noinline)) void triad(float *restrict a, const float *restrict b,
                                            const float *restrict c, size_t n) {
  for (size_t i = 0; i < n; i++)
    a[i] = b[i] + 3.0f * c[i];
}

static double best_triad(work *w) {
  size_t repeat = 1 + (64u << 20) / (w->count * 12 * (size_t)threads);
  double best = 0;
  for (int i = 0; i < 12; i++) {
    pthread_barrier_wait(&barrier);
    double start = now();
    for (size_t r = 0; r < repeat; r++) {
      triad(w->a, w->b, w->c, w->count);
      __asm__ volatile("" ::: "memory");
    }
    pthread_barrier_wait(&barrier);
    double rate = 12.0 * (double)w->count * (double)repeat / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

static void *measure_fma(void *argument) {
  work *w = argument;
  w->flops32 = best_fma(fma_float, WIDTH / 4);
  w->flops64 = best_fma(fma_double, WIDTH / 8);
  return NULL;
}

static void *measure_triad(void *argument) {
  work *w = argument;
  w->triad = best_triad(w);
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

static double triad_of(size_t bytes, work *works) {
  size_t count = bytes / 12, whole = (count * 4 + (2u << 20)) & ~(size_t)((2u << 20) - 1);
  float *arrays[3];
  for (int i = 0; i < 3; i++) {
    arrays[i] = aligned_alloc(2u << 20, whole);
    if (!arrays[i]) return 0;
    madvise(arrays[i], whole, MADV_HUGEPAGE);
    memset(arrays[i], 1, whole);
  }
  for (int i = 0; i < threads; i++) {
    size_t first = count / (size_t)threads * (size_t)i;
    works[i].a = arrays[0] + first;
    works[i].b = arrays[1] + first;
    works[i].c = arrays[2] + first;
    works[i].count = count / (size_t)threads;
  }
  on_all(measure_triad, works);
  double sum = 0;
  for (int i = 0; i < threads; i++)
    sum += works[i].triad;
  for (int i = 0; i < 3; i++)
    free(arrays[i]);
  return sum;
}

int main(int argc, char **argv) {
  static work works[256];
  threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > 256) return 1;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++)
    works[i].self = i;
  on_all(measure_fma, works);
  double flops32 = 0, flops64 = 0;
  for (int i = 0; i < threads; i++)
    flops32 += works[i].flops32, flops64 += works[i].flops64;
  printf("{\"threads\": %d, \"float32\": %.4g, \"float64\": %.4g, \"bandwidth\": {", threads,
         flops32, flops64);
  static const size_t sizes[] = {48u << 10, 768u << 10, 6u << 20, 24u << 20, 192u << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    printf("%s\"%zu\": %.4g", i ? ", " : "", sizes[i], triad_of(sizes[i], works));
  printf("}}\n");
  return 0;
}
