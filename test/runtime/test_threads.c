/* threads.c: every chunk once, the same bits for any number of threads, several callers, fork,
 * exit. */
#include "build.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNKS 997

static uint32_t mark(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                     int64_t end) {
  uint8_t *seen = buffers[0];
  for (int64_t i = begin; i < end; i++)
    seen[i]++;
  return 0;
}

static void check_marks(int64_t chunks) {
  uint8_t *seen = calloc(1, (size_t)chunks + 1);
  void *buffers[] = {seen};
  assert_int_equal(loom_threads_launch(mark, buffers, NULL, 0, 0, chunks), 0);
  for (int64_t i = 0; i < chunks; i++)
    if (seen[i] != 1) fail_msg("chunk %d of %d ran %d times", (int)i, (int)chunks, seen[i]);
  assert_int_equal(seen[chunks], 0);
  free(seen);
}

static void runs_chunks_from_the_first_named(void **state) {
  static const int64_t firsts[] = {1, 7, 500};
  for (int threads = 1; threads <= 4; threads++) {
    loom_threads_set_count(threads);
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++)
      for (int64_t chunks = 0; firsts[i] + chunks <= CHUNKS; chunks += 31) {
        uint8_t seen[CHUNKS + 1] = {0};
        void *buffers[] = {seen};
        assert_int_equal(loom_threads_launch(mark, buffers, NULL, 0, firsts[i], chunks), 0);
        for (int64_t c = 0; c <= CHUNKS; c++)
          assert_int_equal(seen[c], c >= firsts[i] && c < firsts[i] + chunks);
      }
  }
}

static void runs_each_chunk_once(void **state) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 64, CHUNKS, 20000};
  for (int threads = 1; threads <= 8; threads++) {
    loom_threads_set_count(threads);
    assert_int_equal(loom_threads_count(), threads);
    for (int round = 0; round < 20; round++)
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_marks(sizes[i]);
  }
  for (int threads = 8; threads >= 1; threads--) {
    loom_threads_set_count(threads);
    for (int round = 0; round < 50; round++)
      check_marks(CHUNKS);
  }
}

/* Each chunk waits a while for another thread to take one, and notes its own. */
static uint32_t note_thread(void *const *buffers, const uint64_t *params, void *scratch,
                            int64_t begin, int64_t end) {
  pthread_t *threads = buffers[0];
  for (int64_t i = begin; i < end; i++) {
    usleep(200);
    threads[i] = pthread_self();
  }
  return 0;
}

static int count_threads(void) {
  pthread_t threads[64], seen[64];
  void *buffers[] = {threads};
  assert_int_equal(loom_threads_launch(note_thread, buffers, NULL, 0, 0, 64), 0);
  int count = 0;
  for (int i = 0; i < 64; i++) {
    int j = 0;
    while (j < count && !pthread_equal(seen[j], threads[i]))
      j++;
    if (j == count) seen[count++] = threads[i];
  }
  return count;
}

static void *count_on_a_thread(void *most) {
  *(int *)most = count_threads();
  return NULL;
}

/* The limit holds for the thread that set it. */
static void uses_no_more_threads_than_the_limit(void **state) {
  loom_threads_set_count(4);
  for (int round = 0; round < 5; round++)
    for (int most = 1; most <= 6; most++) {
      assert_int_equal(loom_threads_limit(most), 0);
      int used = count_threads(), other = 0;
      assert_true(used >= 1 && used <= most && used <= 4);
      pthread_t thread;
      assert_int_equal(pthread_create(&thread, NULL, count_on_a_thread, &other), 0);
      pthread_join(thread, NULL);
      assert_true(other >= 1 && other <= 4);
      assert_int_equal(loom_threads_limit(0), most);
    }
}

/* Short jobs, after a pause in which the workers fall asleep and one after the other. */
static void runs_short_jobs(void **state) {
  loom_threads_set_count(4);
  for (int round = 0; round < 20; round++) {
    usleep(round % 4 ? 0 : 2000);
    for (int again = 0; again < 1 + round % 3; again++)
      check_marks(16);
  }
}

/* A chunk's value depends on rounding, which every thread must do as the caller does; it uses
 * scratch memory. */
static uint32_t harmonic(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                         int64_t end) {
  float *out = buffers[0], *work = scratch;
  for (int64_t chunk = begin; chunk < end; chunk++) {
    float sum = 0;
    for (int i = 0; i < 300; i++)
      work[i] = 1.0f / (float)(chunk * 300 + i + 1);
    for (int i = 0; i < 300; i++)
      sum += work[i];
    out[chunk] = sum;
  }
  return 0;
}

static void gives_the_same_bits(void **state) {
  static float first[CHUNKS], again[CHUNKS];
  uint32_t control = __builtin_ia32_stmxcsr();
  for (uint32_t rounding = 0; rounding < 4; rounding++) {
    for (int threads = 1; threads <= 8; threads++) {
      void *buffers[] = {threads == 1 ? first : again};
      loom_threads_set_count(threads);
      __builtin_ia32_ldmxcsr((control & ~0x6000u) | rounding << 13);
      uint32_t status =
          loom_threads_launch(harmonic, buffers, NULL, 300 * sizeof(float), 0, CHUNKS);
      __builtin_ia32_ldmxcsr(control);
      assert_int_equal(status, 0);
      if (threads > 1) assert_memory_equal(first, again, sizeof first);
    }
  }
}

static uint32_t raise_in_one(void *const *buffers, const uint64_t *params, void *scratch,
                             int64_t begin, int64_t end) {
  static volatile double zero = 0, sink;
  for (int64_t i = begin; i < end; i++)
    if (i == (int64_t)params[0]) sink = 1 / zero;
  (void)sink;
  return begin <= 10 && 10 < end ? LOOM_STATUS_INDEX : 0;
}

static void collects_flags_of_every_thread(void **state) {
  loom_threads_set_count(4);
  for (uint64_t i = 0; i < 200; i++) {
    uint64_t params[] = {i * 5};
    assert_int_equal(loom_threads_launch(raise_in_one, NULL, params, 0, 0, CHUNKS),
                     LOOM_FP_DIVIDE | LOOM_STATUS_INDEX);
    params[0] = CHUNKS;
    assert_int_equal(loom_threads_launch(raise_in_one, NULL, params, 0, 0, CHUNKS),
                     LOOM_STATUS_INDEX);
  }
}

static void *launch_often(void *argument) {
  int *failures = argument;
  float out[64], expected[64];
  void *buffers[] = {expected};
  float work[300];
  harmonic(buffers, NULL, work, 0, 64);
  buffers[0] = out;
  for (int i = 0; i < 500; i++) {
    memset(out, 0, sizeof out);
    loom_threads_launch(harmonic, buffers, NULL, sizeof work, 0, 64);
    *failures += memcmp(out, expected, sizeof out) != 0;
  }
  return NULL;
}

static void serves_several_callers(void **state) {
  pthread_t threads[8];
  int failures[8] = {0};
  loom_threads_set_count(4);
  for (int i = 0; i < 8; i++)
    pthread_create(&threads[i], NULL, launch_often, &failures[i]);
  for (int i = 0; i < 8; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(failures[i], 0);
  }
}

/* Runs `body` in a forked child, which must end with 0 by itself. */
static void in_child(int (*body)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    alarm(20);
    exit(body());
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int child_launches(void) {
  int failures = 0;
  for (int i = 0; i < 3; i++)
    launch_often(&failures);
  return failures != 0;
}
static int child_leaves(void) { return 0; }
static int child_forks(void) {
  in_child(child_launches);
  return child_launches();
}

static void survives_fork(void **state) {
  loom_threads_set_count(3);
  check_marks(CHUNKS);
  in_child(child_launches);
  in_child(child_leaves);
  check_marks(CHUNKS);
  in_child(child_forks);
  check_marks(CHUNKS);
}

static volatile bool stop_launching;
static void *launch_until_told(void *argument) {
  while (!stop_launching)
    launch_often(argument);
  return NULL;
}

static void survives_fork_during_launches(void **state) {
  pthread_t thread;
  int failures = 0;
  loom_threads_set_count(2);
  pthread_create(&thread, NULL, launch_until_told, &failures);
  for (int i = 0; i < 10; i++)
    in_child(child_launches);
  stop_launching = true;
  pthread_join(thread, NULL);
  assert_int_equal(failures, 0);
}

static void wakes_parked_workers(void **state) {
  loom_threads_set_count(4);
  for (int i = 0; i < 20; i++) {
    check_marks(CHUNKS);
    usleep(300); /* longer than they spin */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_each_chunk_once),
      cmocka_unit_test(runs_chunks_from_the_first_named),
      cmocka_unit_test(uses_no_more_threads_than_the_limit),
      cmocka_unit_test(runs_short_jobs),
      cmocka_unit_test(gives_the_same_bits),
      cmocka_unit_test(collects_flags_of_every_thread),
      cmocka_unit_test(serves_several_callers),
      cmocka_unit_test(survives_fork),
      cmocka_unit_test(survives_fork_during_launches),
      cmocka_unit_test(wakes_parked_workers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
