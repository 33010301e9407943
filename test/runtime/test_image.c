/* image.c: mapping, imports, page protection, refusals. */
#include "build.h"

#include <stdio.h>
#include <string.h>

static void runs_code(void **state) {
  uint8_t bytes[TEST_IMAGE_SIZE];
  build_image(bytes);
  loom_image image;
  loom_error err = {0};
  assert_true(loom_image_map(bytes, sizeof bytes, &image, &err));
  float a[3] = {1, 2, 3}, b[3] = {10, 20, 30}, out[3] = {0};
  void *buffers[] = {a, b, out};
  loom_kernel_fn add = (loom_kernel_fn)(uintptr_t)(image.base + ENTRY_ADD);
  assert_int_equal(add(buffers, NULL, NULL, 1, 3), 0);
  assert_true(out[0] == 0 && out[1] == 22 && out[2] == 33);
  loom_image_unmap(&image);
  assert_null(image.base);
  loom_image_unmap(&image);
}

static void calls_imports(void **state) {
  uint8_t bytes[TEST_IMAGE_SIZE], block[17] = {0};
  build_image(bytes);
  loom_image image;
  assert_true(loom_image_map(bytes, sizeof bytes, &image, NULL));
  void *buffers[] = {block};
  loom_kernel_fn fill = (loom_kernel_fn)(uintptr_t)(image.base + ENTRY_FILL);
  assert_int_equal(fill(buffers, NULL, NULL, 0, 1), 0);
  for (int i = 0; i < 16; i++)
    assert_int_equal(block[i], 7);
  assert_int_equal(block[16], 0);
  loom_image_unmap(&image);
}

/* The protection of the page at `address`, as in /proc/self/maps. */
static void protection(const void *address, char out[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[512];
  strcpy(out, "none");
  while (fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    char bits[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, bits) == 3 && begin <= (uintptr_t)address &&
        (uintptr_t)address < end)
      memcpy(out, bits, 5);
  }
  fclose(maps);
}

static void is_never_writable_and_executable(void **state) {
  uint8_t bytes[TEST_IMAGE_SIZE];
  build_image(bytes);
  loom_image image;
  assert_true(loom_image_map(bytes, sizeof bytes, &image, NULL));
  char bits[5];
  protection(image.base, bits);
  assert_string_equal(bits, "r-xp");
  protection(image.base + TEST_TEXT, bits);
  assert_string_equal(bits, "r--p");
  loom_image_unmap(&image);
}

static void refuse(const uint8_t *good, size_t offset, uint32_t word, const char *why) {
  uint8_t bytes[TEST_IMAGE_SIZE];
  memcpy(bytes, good, sizeof bytes);
  memcpy(bytes + offset, &word, sizeof word);
  if (strcmp(why, "checksum")) build_seal_image(bytes, sizeof bytes);
  loom_image image;
  loom_error err = {0};
  assert_false(loom_image_map(bytes, sizeof bytes, &image, &err));
  if (!strstr(err.message, why)) fail_msg("'%s' does not say '%s'", err.message, why);
}

static void refuses_damage(void **state) {
  uint8_t good[TEST_IMAGE_SIZE];
  build_image(good);
  size_t import = sizeof(loom_image_header) + TEST_CODE;
  refuse(good, 0, 1, "magic");
  refuse(good, sizeof(loom_image_header) + 3, 0x12345678, "checksum");
  refuse(good, offsetof(loom_image_header, code_size), 1 << 20, "header says");
  refuse(good, offsetof(loom_image_header, import_count), UINT32_MAX, "header says");
  refuse(good, offsetof(loom_image_header, text_size), 0x800, "text");
  refuse(good, offsetof(loom_image_header, text_size), 0, "text");
  refuse(good, offsetof(loom_image_header, text_size), 0x2000, "text");
  refuse(good, import, LOOM_SUPPORT_COUNT, "unknown function");
  refuse(good, import + 4, 0x1004, "outside");
  refuse(good, import + 4, 0x0, "outside");
  refuse(good, import + 4, 0x1040, "outside");
  refuse(good, import + 4, 0xfffffff8, "outside");
  loom_image image;
  for (size_t size = 0; size < sizeof good; size += 7)
    assert_false(loom_image_map(good, size, &image, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_code),
      cmocka_unit_test(calls_imports),
      cmocka_unit_test(is_never_writable_and_executable),
      cmocka_unit_test(refuses_damage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
