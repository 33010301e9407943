/* blocks.c: alignment, pages, reuse, bounds, threads, fork. */
#include "build.h"
#include "runtime/internal.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t live(void) {
  loom_block_stats stats;
  loom_block_get_stats(&stats);
  return stats.live_bytes;
}

static size_t cached(void) {
  loom_block_stats stats;
  loom_block_get_stats(&stats);
  return stats.cached_bytes;
}

static void is_aligned_and_large_enough(void **state) {
  size_t before = live();
  for (size_t size = 0; size < (8u << 20); size = size * 5 / 4 + 1) {
    for (size_t n = size; n <= size + 1; n++) {
      uint8_t *block = loom_block_alloc(n);
      assert_non_null(block);
      assert_int_equal((uintptr_t)block % 64, 0);
      memset(block, 0xa5, n); /* ASan and the mapping's end watch */
      assert_true(live() - before >= n);
      assert_true(live() - before <= n + n / 4 + 64);
      loom_block_free(block, n);
      assert_int_equal(live(), before);
    }
  }
  uint8_t *large = loom_block_alloc(5 << 20);
  assert_int_equal((uintptr_t)large % (2 << 20), 0);
  loom_block_free(large, 5 << 20);
  loom_block_free(NULL, 0);
}

/* Runs take turns with one block, the largest that was asked for. */
static void lends_one_block_to_runs(void **state) {
  loom_block_trim();
  void *small = loom_block_borrow(3 << 20);
  loom_block_free(small, 3 << 20);
  void *large = loom_block_borrow(12 << 20);
  loom_block_free(large, 12 << 20);
  assert_true(cached() < (size_t)14 << 20); /* the small one has gone */
  void *again = loom_block_borrow(3 << 20), *other = loom_block_borrow(2 << 20);
  assert_ptr_equal(again, large);
  assert_ptr_not_equal(other, large);
  loom_block_free(other, 2 << 20);
  loom_block_free(again, 3 << 20);
  void *result = loom_block_alloc(10 << 20); /* a result's block is never larger than its class */
  assert_ptr_not_equal(result, large);
  loom_block_free(result, 10 << 20);
  assert_null(loom_block_borrow(SIZE_MAX));
  loom_block_trim();
}

static void refuses_absurd_sizes(void **state) {
  assert_null(loom_block_alloc(SIZE_MAX));
  assert_null(loom_block_alloc((size_t)1 << 47));
}

static void reuses_blocks(void **state) {
  static const size_t sizes[] = {1, 64, 1000, 65536, 100000, 300000, 3 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *first = loom_block_alloc(sizes[i]);
    loom_block_free(first, sizes[i]);
    loom_block_stats before, after;
    loom_block_get_stats(&before);
    void *second = loom_block_alloc(sizes[i]);
    loom_block_get_stats(&after);
    assert_ptr_equal(first, second);
    assert_int_equal(after.reuses, before.reuses + 1);
    assert_int_equal(after.allocations, before.allocations + 1);
    loom_block_free(second, 0); /* what the owner believes does not matter */
  }
  assert_true(cached() >= 3 << 20);
  loom_block_trim();
  assert_int_equal(cached(), 0);
}

static void keeps_within_its_limit(void **state) { /* 16 MiB, by the environment (main) */
  void *blocks[40];
  for (int i = 0; i < 40; i++)
    blocks[i] = loom_block_alloc((1 << 20) + (size_t)(i % 5) * 100000);
  for (int i = 0; i < 40; i++) {
    loom_block_free(blocks[i], 0);
    assert_true(cached() <= 16 << 20);
  }
  assert_true(cached() > 12 << 20);
  void *large = loom_block_alloc(20 << 20);
  loom_block_free(large, 20 << 20);
  assert_true(cached() <= 16 << 20);
  loom_block_trim();
}

static void reallocates(void **state) {
  uint8_t *block = loom_block_realloc(NULL, 0, 100);
  for (int i = 0; i < 100; i++)
    block[i] = (uint8_t)i;
  size_t size = 100;
  for (size_t next = 120; next < 4 << 20; next = next * 3) {
    block = loom_block_realloc(block, size, next);
    for (int i = 0; i < 100; i++)
      assert_int_equal(block[i], i);
    memset(block + 100, 1, next - 100);
    size = next;
  }
  block = loom_block_realloc(block, size, 100);
  for (int i = 0; i < 100; i++)
    assert_int_equal(block[i], i);
  assert_null(loom_block_realloc(block, 100, SIZE_MAX));
  loom_block_free(block, 100);
}

/* ---- threads: blocks are allocated here, freed there ---- */

#define EXCHANGE 64
static _Atomic(uint64_t *) exchange[EXCHANGE];

static void *churn(void *argument) {
  uint64_t seed = (uint64_t)(uintptr_t)argument * 7919 + 1;
  for (int i = 0; i < 20000; i++) {
    uint64_t r = build_random(&seed);
    size_t size = 16 + (r >> 8) % (r % 16 ? 4096 : 600000);
    uint64_t *block = loom_block_alloc(size);
    block[0] = (uint64_t)(uintptr_t)block;
    block[1] = size;
    block[size / 8 - 1] = size / 8 == 2 ? size : 42;
    uint64_t *other = __atomic_exchange_n((uint64_t **)&exchange[r >> 32 & (EXCHANGE - 1)], block,
                                          __ATOMIC_ACQ_REL);
    if (!other) continue;
    if (other[0] != (uint64_t)(uintptr_t)other) return "a block was given out twice";
    loom_block_free(other, other[1]);
  }
  return NULL;
}

static void serves_eight_threads(void **state) {
  size_t before = live();
  pthread_t threads[8];
  for (intptr_t i = 0; i < 8; i++)
    pthread_create(&threads[i], NULL, churn, (void *)i);
  for (int i = 0; i < 8; i++) {
    void *message;
    pthread_join(threads[i], &message);
    if (message) fail_msg("%s", (char *)message);
  }
  for (int i = 0; i < EXCHANGE; i++) {
    uint64_t *block = exchange[i];
    if (block) loom_block_free(block, block[1]);
    exchange[i] = NULL;
  }
  assert_int_equal(live(), before);
}

/* ---- pages ---- */

#define PAGE ((size_t)4096)

static size_t pages_there(const uint8_t *data, size_t size) {
  size_t pages = (size + PAGE - 1) / PAGE, there = 0;
  unsigned char *in = calloc(pages, 1);
  assert_int_equal(mincore((void *)data, size, in), 0);
  for (size_t i = 0; i < pages; i++)
    there += in[i] & 1;
  free(in);
  return there;
}

static size_t resident(void) {
  size_t whole = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%zu %zu", &whole, &pages), 2);
  fclose(file);
  return pages * PAGE;
}

static bool system_populates(void) {
#ifdef MADV_POPULATE_WRITE
  void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bool good = madvise(page, PAGE, MADV_POPULATE_WRITE) == 0;
  munmap(page, PAGE);
  return good;
#else
  return false;
#endif
}

/* A result's pages are there before it is written, and no others; those of a run's memory, of which
 * it may use a part, come as it writes them. */
static void brings_the_pages_of_results(void **state) {
  static const size_t sizes[] = {130000,  256 << 10,          300000,
                                 1 << 20, (2 << 20) - 100000, (3 << 20) + 12345};
  loom_block_trim();
  if (!system_populates()) skip();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t size = sizes[i], huge = size >> 21 << 21;
    uint8_t *result = loom_block_alloc(size);
    assert_int_equal((uintptr_t)result % PAGE, 0);
    assert_int_equal(pages_there(result + huge, size - huge), (size - huge + PAGE - 1) / PAGE);
    loom_block_free(result, size);
    loom_block_trim();
  }
  uint8_t *large = loom_block_alloc((2 << 20) + 100);
  uint8_t *behind = large + (2 << 20) + PAGE;
  assert_true(pages_there(behind, PAGE) == 0); /* its class is larger */
  loom_block_free(large, 0);
  loom_block_trim();
}

/* Blocks of all sizes, every other of which stays: what is given back goes to the system although
 * the C library can not give back what lies below others. */
static void gives_pages_back(void **state) {
  static const size_t sizes[] = {200000, 1 << 20, 3 << 20};
  /* As it is in a program that has freed large arrays. A sanitizer's allocator has no thresholds.
   */
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint8_t *blocks[24];
    for (int j = 0; j < 24; j++)
      memset(blocks[j] = loom_block_alloc(sizes[i]), 1, sizes[i]);
    size_t before = resident();
    for (int j = 0; j < 24; j += 2)
      loom_block_free(blocks[j], sizes[i]);
    loom_block_trim();
    assert_true(before - resident() > 12 * sizes[i] * 9 / 10);
    for (int j = 1; j < 24; j += 2) {
      assert_int_equal(blocks[j][0] & blocks[j][sizes[i] - 1], 1);
      loom_block_free(blocks[j], sizes[i]);
    }
    loom_block_trim();
  }
}

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static long faults_of_touching(uint8_t *data, size_t size) {
  long before = faults();
  for (size_t i = 0; i < size; i += PAGE)
    *(volatile uint8_t *)(data + i) = 1;
  return faults() - before;
}

/* What a run gives back and a later one touches again costs a fault for each huge page, as it did
 * at first, and not one for each page. */
static void gives_back_huge_pages(void **state) {
  const size_t size = 24 << 20;
  uint8_t *block = loom_block_alloc(size);
  long first = faults_of_touching(block, size);
  if (first > 1000) { /* the system has no huge pages, or none are left */
    loom_block_free(block, size);
    skip();
  }
  size_t before = resident();
  loom_block_forget(block, 1 << 20, 6 << 20);
  loom_block_forget(block, (6 << 20) + PAGE, size - PAGE);
  assert_true(before - resident() > size * 8 / 10);
  assert_true(faults_of_touching(block, size) < (long)(size / PAGE / 4));
  loom_block_free(block, size);
  loom_block_trim();
}

/* What the C library has left of an array of another's serves results: no page is new. */
static void uses_what_others_have_freed(void **state) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  assert_int_equal(mallopt(M_MMAP_THRESHOLD, 32 << 20), 1);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
  const size_t size = 300000;
  uint8_t *array = malloc(16 << 20);
  for (size_t i = 0; i < 16 << 20; i += PAGE)
    *(volatile uint8_t *)(array + i) = 1;
  free(array);
  size_t before = resident();
  uint8_t *results[40];
  for (int i = 0; i < 40; i++)
    memset(results[i] = loom_block_alloc(size), 1, size);
  assert_true(resident() < before + size);
  for (int i = 0; i < 40; i++)
    loom_block_free(results[i], size);
  loom_block_trim();
#else
  skip();
#endif
}

static volatile bool stop;
static void *churn_until_told(void *argument) {
  while (!stop)
    loom_block_free(loom_block_alloc(300000), 300000);
  return NULL;
}

static void survives_fork(void **state) {
  pthread_t thread;
  void *mine = loom_block_alloc(1 << 20);
  pthread_create(&thread, NULL, churn_until_told, NULL);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    if (!child) {
      alarm(20);
      loom_block_free(mine, 1 << 20);
      for (int j = 0; j < 100; j++)
        loom_block_free(loom_block_alloc((size_t)j * 5000), 0);
      loom_block_trim();
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
  stop = true;
  pthread_join(thread, NULL);
  loom_block_free(mine, 1 << 20);
}

static void forgets_whole_pages(void **state) {
  const size_t size = 1 << 20;
  uint8_t *data = loom_block_alloc(size);
  memset(data, 7, size);
  loom_block_forget(data, 4096 + 1, 5 * 4096 - 1); /* pages 2 and 3 lie inside as a whole */
  assert_int_equal(data[4096], 7);
  assert_int_equal(data[2 * 4096 - 1], 7);
  assert_int_equal(data[2 * 4096], 0);
  assert_int_equal(data[4 * 4096 - 1], 0);
  assert_int_equal(data[4 * 4096], 7);
  loom_block_forget(data, 6 * 4096, SIZE_MAX); /* no farther than the block goes */
  assert_int_equal(data[6 * 4096 - 1], 7);
  assert_int_equal(data[size - 1], 0);
  loom_block_free(data, size);
  uint8_t *small = loom_block_alloc(16384); /* its pages may hold other blocks */
  memset(small, 7, 16384);
  loom_block_forget(small, 0, 16384);
  for (int i = 0; i < 16384; i++)
    assert_int_equal(small[i], 7);
  loom_block_free(small, 16384);
}

static void drops_what_a_higher_run_has_left(void **state) {
  const size_t size = 16 << 20, used = 1 << 20, little = 12 << 20;
  uint8_t *data = loom_block_borrow(size);
  memset(data, 7, size);
  loom_block_settle(data, size, 30 << 20);
  loom_block_settle(data, used, 15 << 20); /* with what is behind it no higher than before */
  assert_int_equal(data[used], 7);
  loom_block_settle(data, little, 28 << 20); /* higher, but by less than page faults are worth */
  assert_int_equal(data[little], 7);
  loom_block_settle(data, little, 40 << 20); /* in a run that is large enough */
  assert_int_equal(data[little], 0);
  loom_block_settle(data, used, (25 << 20) + 4096);
  assert_int_equal(data[used - 1], 7);
  assert_int_equal(data[used], 0);
  loom_block_free(data, size);
}

/* Does a child that writes this byte of a large block end as it should not? */
static bool dies(uint8_t *at) {
  int status = 0;
  pid_t child = fork();
  if (!child) {
    signal(SIGSEGV, SIG_DFL); /* the test framework would go on */
    signal(SIGBUS, SIG_DFL);
    *(volatile uint8_t *)at = 1;
    _exit(0);
  }
  waitpid(child, &status, 0);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void guards_checked_blocks(void **state) {
  char text[200];
  loom_block_check(true);
  const size_t sizes[] = {1, 63, 64, 1000, 70001, 1u << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint8_t *block = loom_block_alloc(sizes[i]);
    assert_int_equal((uintptr_t)block % 64, 0);
    memset(block, 1, sizes[i]);
    assert_false(guard_broken(text, sizeof text));
    if (sizes[i] % 64 || sizes[i] < 4096) {
      block[sizes[i]] = 1; /* between the data and what no page allows */
      assert_true(guard_broken(text, sizeof text));
      assert_non_null(strstr(text, "something wrote behind the block of"));
      assert_false(guard_broken(text, sizeof text));
    }
    if (sizes[i] > 65536) assert_true(dies(block + (sizes[i] + 63) / 64 * 64));
    loom_block_free(block, sizes[i]);
  }
  uint8_t *block = loom_block_alloc(100);
  block[100] = 2;
  loom_block_free(block, 100); /* told by the next who looks */
  assert_true(guard_broken(text, sizeof text));
  loom_block_check(false);
}

static void fills_checked_blocks(void **state) {
  loom_block_check(true);
  double *numbers = loom_block_alloc(9 * sizeof *numbers);
  for (int i = 0; i < 9; i++) {
    assert_true(numbers[i] != numbers[i]);
    numbers[i] = i;
  }
  loom_block_free(numbers, 9 * sizeof *numbers);
  double *scratch = loom_scratch(64);
  assert_true(*scratch != *scratch);
  *scratch = 1;
  scratch = loom_scratch(64);
  assert_true(*scratch != *scratch);
  loom_block_check(false);
  numbers = loom_block_alloc(64);
  loom_block_free(numbers, 64);
  assert_ptr_equal(numbers, loom_block_alloc(64)); /* reused again */
  loom_block_free(numbers, 64);
}

int main(void) {
  setenv("FRAMELOOM_BLOCKS_LIMIT", "16M", 1);
  const struct CMUnitTest tests[] = {
      /* first: later ones leave memory without pages */
      cmocka_unit_test(uses_what_others_have_freed),
      cmocka_unit_test(is_aligned_and_large_enough),
      cmocka_unit_test(refuses_absurd_sizes),
      cmocka_unit_test(lends_one_block_to_runs),
      cmocka_unit_test(reuses_blocks),
      cmocka_unit_test(brings_the_pages_of_results),
      cmocka_unit_test(gives_pages_back),
      cmocka_unit_test(gives_back_huge_pages),
      cmocka_unit_test(keeps_within_its_limit),
      cmocka_unit_test(reallocates),
      cmocka_unit_test(serves_eight_threads),
      cmocka_unit_test(survives_fork),
      cmocka_unit_test(forgets_whole_pages),
      cmocka_unit_test(drops_what_a_higher_run_has_left),
      cmocka_unit_test(guards_checked_blocks),
      cmocka_unit_test(fills_checked_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
