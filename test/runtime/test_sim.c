/* sim.c, sim_memory.c: kernels of C functions whose threads are fibers. */
#include "build.h"

#include <stdint.h>
#include <string.h>

#define THREADS 64u

static uint32_t run(void *kernel, uint32_t blocks, void *const *buffers, int64_t chunks) {
  return loom_sim_launch(kernel, "kernel", blocks, THREADS, 256, buffers, NULL, NULL, 0, chunks);
}

static void *address(void (*kernel)(void *const *buffers, const uint64_t *params, void *scratch,
                                    int64_t begin, int64_t end, uint32_t *status)) {
  void *out;
  memcpy(&out, &kernel, sizeof out);
  return out;
}

#define KERNEL(NAME)                                                                               \
  static void NAME(void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,     \
                   int64_t end, uint32_t *status)

/* Each thread adds up the numbers of its warp, then those of the block. */
KERNEL(sums) {
  uint32_t me = loom_sim_thread(), sum = me, *shared = loom_sim_shared(), *out = buffers[0];
  for (uint32_t mask = 16; mask; mask /= 2)
    sum += loom_sim_shuffle_xor(sum, mask, mask);
  if (me % 32 == 0) {
    loom_sim_access(&shared[me / 32], 4, 1);
    shared[me / 32] = sum;
  }
  loom_sim_barrier(0);
  loom_sim_access(shared, 8, 0);
  out[loom_sim_block() * THREADS + me] = shared[0] + shared[1];
  *status = 4;
}

static void threads_wait_for_each_other(void **state) {
  uint32_t out[3 * THREADS];
  void *buffers[] = {out};
  char text[600];
  int64_t site;
  for (uint64_t seed = 0; seed < 20; seed++) {
    memset(out, 0, sizeof out);
    loom_sim_set_seed(seed);
    assert_int_equal(run(address(sums), 1, buffers, 3), 4);
    for (uint32_t i = 0; i < 3 * THREADS; i++)
      assert_int_equal(out[i], THREADS * (THREADS - 1) / 2);
    assert_false(loom_sim_take_fault(text, sizeof text, &site));
  }
}

/* A thread a chunk: as many blocks as that takes. */
KERNEL(chunks) {
  int64_t chunk = begin + (int64_t)loom_sim_block() * THREADS + loom_sim_thread();
  uint8_t *seen = buffers[0];
  if (chunk < end) seen[chunk]++;
}

static void chunks_are_divided(void **state) {
  uint8_t seen[200] = {0};
  void *buffers[] = {seen};
  loom_sim_set_seed(3);
  assert_int_equal(run(address(chunks), 0, buffers, 130), 0);
  for (int i = 0; i < 200; i++)
    assert_int_equal(seen[i], i < 130);
}

KERNEL(diverges) {
  if (loom_sim_thread() < 32) loom_sim_barrier(5);
}
KERNEL(crosses) { loom_sim_barrier(loom_sim_thread() < 32 ? 5 : 6); }
KERNEL(alone) {
  if (loom_sim_thread() == 3) loom_sim_shuffle_xor(1, 1, 9);
}
/* A race of bytes: of neighbours in one line there is none. */
KERNEL(neighbours) { loom_sim_access((uint8_t *)buffers[0] + loom_sim_thread(), 1, 2 * 7 + 1); }
KERNEL(races) { loom_sim_access((uint8_t *)buffers[0] + loom_sim_thread(), 2, 2 * 7 + 1); }
KERNEL(reads) { loom_sim_access(buffers[0], 8, 2 * 7); }
KERNEL(beyond) { loom_sim_access((uint8_t *)loom_sim_shared() + 254, 4, 2 * 8 + 1); }
KERNEL(poisoned) { loom_sim_access(loom_sim_shared(), 4, 2 * 8); }

/* Expects a fault with this text, at this access; NULL: none. */
static void expect(void *kernel, const char *text, int64_t site) {
  uint8_t bytes[128] = {0};
  void *buffers[] = {bytes};
  char found[600];
  int64_t at;
  for (uint64_t seed = 0; seed < 4; seed++) {
    loom_sim_set_seed(seed);
    run(kernel, 1, buffers, 1);
    assert_int_equal(loom_sim_take_fault(found, sizeof found, &at), text != NULL);
    if (!text) continue;
    assert_non_null(strstr(found, text));
    assert_int_equal(at, site);
    assert_false(loom_sim_take_fault(found, sizeof found, &at));
  }
}

static void faults_are_found(void **state) {
  expect(address(diverges), "kernel kernel, block 0: threads diverge: thread", -1);
  expect(address(crosses), "waits at barrier 5", -1);
  expect(address(alone), "waits at shuffle 9", -1);
  expect(address(neighbours), NULL, 0);
  expect(address(reads), NULL, 0);
  expect(address(races), "a race: thread", 7);
  expect(address(beyond), "byte 254 of shared memory, which has 256", 8);
  expect(address(poisoned), "reads shared memory that nobody has written", 8);
}

/* 32 threads: floats next to each other, then each in a row of its own. */
KERNEL(asks) {
  uint32_t me = loom_sim_thread();
  if (me >= 32) return;
  for (uint32_t i = 0; i < 3; i++)
    loom_sim_access((float *)buffers[0] + 32 * i + me, 4, 2 * 1);
  loom_sim_access((float *)buffers[0] + 32 * me, 4, 2 * 2 + 1);
}

/* Words that are read by the 32 threads of a warp: next to each other, all the same, in one bank,
 * in one bank but for a padding word, pairs next to each other, pairs of every second pair. */
KERNEL(banks) {
  uint32_t me = loom_sim_thread(), *words = loom_sim_shared();
  for (uint32_t i = me; i < 1056; i += THREADS) {
    loom_sim_access(&words[i], 4, 2 * 1 + 1);
    words[i] = i;
  }
  loom_sim_barrier(0);
  if (me >= 32) return;
  switch (params[0]) {
  case 0: loom_sim_access(&words[me], 4, 2 * 2); break;
  case 1: loom_sim_access(&words[7], 4, 2 * 2); break;
  case 2: loom_sim_access(&words[32 * me], 4, 2 * 2); break;
  case 3: loom_sim_access(&words[33 * me], 4, 2 * 2); break;
  case 4: loom_sim_access(&words[2 * me], 8, 2 * 2); break;
  case 5: loom_sim_access(&words[4 * me], 8, 2 * 2); break;
  case 6: loom_sim_access((uint8_t *)words + me, 1, 2 * 2); break;
  default: loom_sim_access(&words[4 * me], 16, 2 * 2); break;
  }
}

static void conflicts_of_banks_are_counted(void **state) {
  static const uint64_t requests[] = {1, 1, 1, 1, 2, 2, 1, 4},
                        conflicts[] = {0, 0, 31, 0, 0, 2, 0, 0};
  for (uint64_t way = 0; way < 8; way++) {
    loom_sim_counts c;
    loom_sim_count(true);
    assert_int_equal(
        loom_sim_launch(address(banks), "banks", 1, THREADS, 4224, NULL, &way, NULL, 0, 1), 0);
    loom_sim_count(false);
    assert_true(loom_sim_take_counts(&c));
    assert_int_equal(c.shared, 33 + requests[way]); /* 33 stores of a warp */
    assert_int_equal(c.conflicts, conflicts[way]);
  }
}

static void requests_are_counted(void **state) {
  static _Alignas(32) float bytes[1024];
  void *buffers[] = {bytes};
  loom_sim_counts c;
  loom_sim_count(true);
  run(address(asks), 1, buffers, 2);
  loom_sim_count(false);
  assert_true(loom_sim_take_counts(&c));
  assert_string_equal(c.name, "kernel");
  assert_true(c.blocks == 2 && c.barriers == 0);
  assert_true(c.requests[0] == 6 && c.sectors[0] == 24 && c.bytes[0] == 768);
  assert_true(c.requests[1] == 2 && c.sectors[1] == 64 && c.bytes[1] == 256);
  assert_false(loom_sim_take_counts(&c));
}

static void sizes_are_limited(void **state) {
  assert_int_equal(loom_sim_launch(address(reads), "k", 1, 4096, 0, NULL, NULL, NULL, 0, 1),
                   LOOM_STATUS_MEMORY);
  assert_int_equal(loom_sim_launch(address(reads), "k", 1, 33, 0, NULL, NULL, NULL, 0, 1),
                   LOOM_STATUS_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_wait_for_each_other),
      cmocka_unit_test(chunks_are_divided),
      cmocka_unit_test(faults_are_found),
      cmocka_unit_test(requests_are_counted),
      cmocka_unit_test(conflicts_of_banks_are_counted),
      cmocka_unit_test(sizes_are_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
