/* Shared by the tests: images and plans made by hand. */
#ifndef LOOM_TEST_BUILD_H
#define LOOM_TEST_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/runtime.h"

/* Entry points of the test image. */
enum {
  ENTRY_ADD = 0x00,  /* float buffers: out[i] = a[i] + b[i], one element a chunk */
  ENTRY_CALL = 0x30, /* jumps to the loom_kernel_fn whose address is the first parameter */
  ENTRY_FILL = 0x40, /* memset(buffers[0], 7, 16), through an import slot */
  TEST_TEXT = 0x1000,
  TEST_CODE = 0x1040,
  TEST_SLOT = 0x1000
};

#define TEST_IMAGE_SIZE (sizeof(loom_image_header) + TEST_CODE + sizeof(loom_image_import))

/* Writes the test image, TEST_IMAGE_SIZE bytes. */
void build_image(uint8_t *out);
/* Sets the checksum again after a change. */
void build_seal_image(uint8_t *image, size_t size);

/* What a plan is made of; sections that a test does not set are empty. */
typedef struct plan_parts {
  const loom_plan_input *inputs;
  uint32_t input_count;
  const loom_plan_buffer *buffers;
  uint32_t buffer_count;
  const loom_plan_instr *instrs;
  uint32_t instr_count;
  const uint32_t *indices;
  uint32_t index_count;
  uint32_t output_count, scalar_count;
  uint64_t arena_size;
  const int64_t *constants;
  uint32_t constant_count, symbol_count, register_count, late_count, prologue, flags;
  const loom_plan_instr *once;
  uint32_t once_count, kept_count;
  const loom_bytes *regions; /* plans made with LOOM_PLAN_REGION; freed here */
  uint32_t region_count;
  const loom_plan_extent *extents; /* with LOOM_PLAN_CHECKED: one for each buffer */
  const loom_plan_site *sites;
  uint32_t site_count;
  loom_plan_target target;                     /* of a GPU: its blocks have 64 threads */
  const char *device_code;                     /* with that: TEST_IMAGE_SIZE bytes */
  const uint32_t *kernel_flags, *kernel_lists; /* LOOM_PLAN_KERNEL_LISTS */
  const loom_tensor_map *maps;
  uint32_t map_count;
  uint32_t shared; /* bytes that a launch gives each of its kernels */
} plan_parts;

/* The bytes of a plan whose kernels are ADD (0), CALL (1) and FILL (2); malloc'ed. */
loom_bytes build_plan(const plan_parts *parts);
/* The plan of these bytes, which it frees; the test fails where it is refused. */
loom_plan *build_load(loom_bytes bytes);
void build_seal_plan(uint8_t *plan, size_t size);
/* The checksums of the regions, as far as they can be found, then the plan's own. */
void build_seal_all(uint8_t *bytes, size_t size);

/* Loads copies of a plan (which it frees) with flips, words and cuts at random places, whose
 * checksums are made right again, so that the checks behind them are reached too. */
void build_survive_damage(loom_bytes good);
void build_try_load(uint8_t *bytes, size_t size);

/* xorshift: the same numbers in every run. */
uint64_t build_random(uint64_t *state);

#endif
