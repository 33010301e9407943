/* sim.c, sim_memory.c, sim_phase.c: kernels of C functions whose threads are fibers. */
#include "build.h"
#include "runtime/simulator.h"

#include <stdint.h>
#include <string.h>

#define THREADS 64u

static uint32_t run(void *kernel, uint32_t blocks, void *const *buffers, int64_t chunks) {
  return loom_sim_launch(kernel, "kernel", blocks, THREADS, 256, NULL, 0, buffers, NULL, NULL, 0,
                         chunks);
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
KERNEL(apart) {
  loom_u32x4 a = {0};
  loom_u32x2 b = {0};
  loom_f32x4 c = {0};
  if (loom_sim_thread() != 3) loom_sim_mma_bf16(a, b, c, 9);
}
KERNEL(waves) {
  loom_u32x2 a = {0};
  loom_f32x4 c = {0};
  loom_sim_mfma_bf16(a, a, c, loom_sim_thread() < 32 ? 9 : 10); /* all 64 are one wave */
}
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
  expect(address(apart), "waits at matrix product 9", -1);
  expect(address(waves), "waits at matrix product 10", -1);
  expect(address(neighbours), NULL, 0);
  expect(address(reads), NULL, 0);
  expect(address(races), "a race: thread", 7);
  expect(address(beyond), "byte 254 of shared memory, which has 256", 8);
  expect(address(poisoned), "reads shared memory that nobody has written", 8);
}

/* ---- copies ---- */

/* Each thread copies 16 bytes, of which params[0] are read, and waits as params[1] says. */
KERNEL(copies) {
  uint32_t me = loom_sim_thread();
  uint8_t *to = (uint8_t *)loom_sim_shared() + 4 * (me % 4), *from = (uint8_t *)buffers[0] + 4 * me;
  if (me >= 4) return;
  loom_sim_access(to, 4, 2 * 1 + 1);
  loom_sim_copy4(to, from, (uint32_t)params[0]);
  loom_sim_copy_commit();
  if (params[1] == 0) loom_sim_copy_wait_all();
  if (params[1] == 1) loom_sim_copy_wait_older();
  if (params[1] == 2) {
    loom_sim_copy_commit(); /* another group, of nothing */
    loom_sim_copy_wait_older();
  }
  loom_sim_access(to, 4, 2 * 2);
  memcpy((uint8_t *)buffers[1] + 4 * me, to, 4);
}
KERNEL(copies_aside) { loom_sim_copy16(loom_sim_shared(), (uint8_t *)buffers[0] + 4, 16); }

static void copies_are_late(void **state) {
  static _Alignas(16) uint8_t from[32], to[16];
  void *buffers[] = {from, to};
  char text[600];
  int64_t site;
  for (int i = 0; i < 32; i++)
    from[i] = (uint8_t)(i + 1);
  loom_sim_take_fault(text, sizeof text, &site); /* of another test */
  for (uint64_t way = 0; way < 4; way++) {
    uint64_t params[] = {way == 3 ? 2 : 4, way == 3 ? 0 : way};
    memset(to, 0xee, sizeof to);
    loom_sim_launch(address(copies), "copies", 1, THREADS, 64, NULL, 0, buffers, params, NULL, 0,
                    1);
    bool fault = loom_sim_take_fault(text, sizeof text, &site);
    assert_int_equal(fault, way == 1); /* it has not waited for the only group */
    if (fault) assert_non_null(strstr(text, "reads shared memory that nobody has written"));
    for (int i = 0; i < 16 && !fault; i++)
      assert_int_equal(to[i], way == 3 && i % 4 >= 2 ? 0 : i + 1);
  }
  loom_sim_launch(address(copies_aside), "aside", 1, THREADS, 64, NULL, 0, buffers, NULL, NULL, 0,
                  1);
  assert_true(loom_sim_take_fault(text, sizeof text, &site));
  assert_non_null(strstr(text, "copies 16 bytes that are not at a multiple of it"));
}

/* ---- matrices ---- */

/* bf16 of a small whole number. */
static uint32_t bf16(int value) {
  float wide = (float)value;
  uint32_t bits;
  memcpy(&bits, &wide, sizeof bits);
  return bits >> 16;
}

/* a[r][k] = 16 r + k, b[k][n] = 1 where k == n, else 0: c is the first 8 columns of a, plus 1000.
 * The fragments are those of the table in PTX ISA 9.7.14.5.8, by hand. */
KERNEL(multiplies) {
  uint32_t me = loom_sim_thread(), group = me / 4, within = me % 4;
  if (me >= 32) return;
  float *out = buffers[0];
  loom_u32x4 a;
  loom_u32x2 b;
  loom_f32x4 c = {1000, 1000, 1000, 1000};
  for (uint32_t i = 0; i < 4; i++) {
    int row = (int)(group + (i == 1 || i == 3 ? 8 : 0)), k = (int)(within * 2 + (i >= 2 ? 8 : 0));
    a[i] = bf16(16 * row + k) | bf16(16 * row + k + 1) << 16;
  }
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t k = within * 2 + 8 * i;
    b[i] = bf16(k == group) | bf16(k + 1 == group) << 16;
  }
  c = loom_sim_mma_bf16(a, b, c, 1);
  out[group * 8 + within * 2] = c[0];
  out[group * 8 + within * 2 + 1] = c[1];
  out[(group + 8) * 8 + within * 2] = c[2];
  out[(group + 8) * 8 + within * 2 + 1] = c[3];
}

static void fragments_are_multiplied(void **state) {
  float out[16 * 8];
  void *buffers[] = {out};
  loom_sim_counts c;
  for (uint64_t seed = 0; seed < 4; seed++) {
    loom_sim_set_seed(seed);
    loom_sim_count(true);
    assert_int_equal(run(address(multiplies), 1, buffers, 1), 0);
    loom_sim_count(false);
    assert_true(loom_sim_take_counts(&c) && c.matrix == 1);
    for (int r = 0; r < 16; r++)
      for (int n = 0; n < 8; n++)
        assert_true(out[r * 8 + n] == (float)(16 * r + n + 1000));
  }
}

/* Four matrices of 8 x 8 halves, element [line][at] of number j is 100 j + 10 line + at. A thread
 * gets two elements of each: those of PTX ISA 9.7.14.5.15. */
KERNEL(loads) {
  uint32_t me = loom_sim_thread();
  uint16_t *lines = loom_sim_shared();
  loom_u32x4 *out = buffers[0];
  if (me >= 32) return;
  for (uint32_t at = 0; at < 8; at++)
    lines[8 * me + at] = (uint16_t)(100 * (me / 8) + 10 * (me % 8) + at);
  out[me] = params[0] ? loom_sim_ldmatrix_turned(&lines[8 * me], 1)
                      : loom_sim_ldmatrix(&lines[8 * me], 1);
}

static void matrices_are_loaded(void **state) {
  loom_u32x4 out[32];
  void *buffers[] = {out};
  for (uint64_t turned = 0; turned < 2; turned++) {
    loom_sim_launch(address(loads), "loads", 1, THREADS, 512, NULL, 0, buffers, &turned, NULL, 0,
                    1);
    for (uint32_t t = 0; t < 32; t++)
      for (uint32_t j = 0; j < 4; j++)
        for (uint32_t e = 0; e < 2; e++) {
          uint32_t along = t / 4, across = t % 4 * 2 + e;
          uint32_t line = turned ? across : along, at = turned ? along : across;
          assert_int_equal(out[t][j] >> 16 * e & 0xffff, 100 * j + 10 * line + at);
        }
  }
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
        loom_sim_launch(address(banks), "banks", 1, THREADS, 4224, NULL, 0, NULL, &way, NULL, 0, 1),
        0);
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
  assert_int_equal(
      loom_sim_launch(address(reads), "k", 1, 4096, 0, NULL, 0, NULL, NULL, NULL, 0, 1),
      LOOM_STATUS_MEMORY);
  assert_int_equal(loom_sim_launch(address(reads), "k", 1, 33, 0, NULL, 0, NULL, NULL, NULL, 0, 1),
                   LOOM_STATUS_MEMORY);
}

/* ---- boxes ---- */

#define BOX_THREADS 384u
#define BOX_LINES 8

/* Parameter 0: 1: nobody waits, 2: no fence, 3: the copy writes where a thread has written. */
KERNEL(copies_a_box) {
  uint8_t *shared = loom_sim_shared(), *barrier = shared + 1024;
  uint32_t me = loom_sim_thread(), way = (uint32_t)params[0];
  if (me == 0) {
    loom_sim_mbarrier_init(barrier, 1);
    if (way == 3) loom_sim_access(shared + 16, 4, 1);
    if (way != 2) loom_sim_wgmma_fence();
    if (way == 3) loom_sim_access(shared + 32, 4, 1);
  }
  loom_sim_barrier(1);
  if (me == 383) {
    loom_sim_mbarrier_expect(barrier, BOX_LINES * 128);
    loom_sim_map_copy(shared, scratch, -3, 2, 1, barrier);
  }
  if (way != 1) loom_sim_mbarrier_wait(barrier, 0);
  if (me == 5) memcpy(buffers[1], shared, 1024);
}

/* Elements of two batches of five lines of 40, whose lines are 48 apart; zeros around them. */
static void boxes_are_copied(void **state) {
  static _Alignas(16) uint16_t from[2][5][48];
  uint16_t to[BOX_LINES][64];
  void *buffers[] = {from, to};
  const loom_tensor_map map = {.extents = {40, 5, 2}, .strides = {96, 480}, .box = {64, BOX_LINES}};
  uint64_t way = 0;
  for (int i = 0; i < 480; i++)
    from[i / 240][i / 48 % 5][i % 48] = (uint16_t)(i + 1);
  assert_int_equal(loom_sim_launch(address(copies_a_box), "box", 1, BOX_THREADS, 1040, &map, 1,
                                   buffers, &way, NULL, 0, 1),
                   0);
  for (int line = 0; line < BOX_LINES; line++)
    for (int at = 0; at < 64; at++) {
      int column = at - 3, row = line + 2, place = at / 8 ^ line; /* pieces change places */
      bool inside = column >= 0 && column < 40 && row < 5;
      assert_int_equal(to[line][place * 8 + at % 8], inside ? from[1][row][column] : 0);
    }
  static const char *const faults[] = {NULL, "nobody has waited for 1 copies of barrier 0",
                                       "no fence between proxies behind the making of a barrier",
                                       "no fence between proxies behind what thread 0 wrote"};
  for (way = 1; way < 4; way++) {
    char text[600];
    int64_t site;
    loom_sim_launch(address(copies_a_box), "box", 1, BOX_THREADS, 1040, &map, 1, buffers, &way,
                    NULL, 0, 1);
    assert_true(loom_sim_take_fault(text, sizeof text, &site));
    if (!strstr(text, faults[way])) fail_msg("way %d: %s", (int)way, text);
  }
}

/* What the driver's function refuses. */
static void maps_have_limits(void **state) {
  const loom_tensor_map good = {.extents = {40, 5, 2}, .strides = {96, 480}, .box = {64, 256}};
  loom_sim_map map;
  loom_tensor_map bad[] = {good, good, good, good, good, good, good};
  assert_true(loom_sim_map_make(&map, &good, 4096));
  assert_false(loom_sim_map_make(&map, &good, 4104));
  bad[0].strides[0] = 88;
  bad[1].box[1] = 257;
  bad[2].extents[2] = 0;
  bad[3].strides[1] = UINT64_C(1) << 40;
  bad[4].strides[0] = 64; /* lines overlap */
  bad[5].extents[1] = UINT64_C(1) << 31;
  bad[6].kind = LOOM_MAP_TF32; /* whose box has 256 bytes */
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(loom_sim_map_make(&map, &bad[i], 4096));
  loom_tensor_map wide = good;
  wide.kind = LOOM_MAP_TF32;
  wide.box[0] = 32;
  wide.strides[0] = 160;
  assert_true(loom_sim_map_make(&map, &wide, 4096));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_wait_for_each_other),
      cmocka_unit_test(chunks_are_divided),
      cmocka_unit_test(faults_are_found),
      cmocka_unit_test(requests_are_counted),
      cmocka_unit_test(conflicts_of_banks_are_counted),
      cmocka_unit_test(copies_are_late),
      cmocka_unit_test(fragments_are_multiplied),
      cmocka_unit_test(matrices_are_loaded),
      cmocka_unit_test(sizes_are_limited),
      cmocka_unit_test(boxes_are_copied),
      cmocka_unit_test(maps_have_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
