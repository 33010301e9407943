#include "build.h"

#include <stdlib.h>
#include <string.h>

static const uint8_t test_text[] = {
    /* 00 */ 0x48, 0x8b, 0x07,                         /* mov rax, [rdi] */
    /* 03 */ 0x4c, 0x8b, 0x4f, 0x08,                   /* mov r9, [rdi + 8] */
    /* 07 */ 0x4c, 0x8b, 0x57, 0x10,                   /* mov r10, [rdi + 16] */
    /* 0b */ 0x4c, 0x39, 0xc1,                         /* cmp rcx, r8 */
    /* 0e */ 0x7d, 0x16,                               /* jge 26 */
    /* 10 */ 0xf3, 0x0f, 0x10, 0x04, 0x88,             /* movss xmm0, [rax + rcx * 4] */
    /* 15 */ 0xf3, 0x41, 0x0f, 0x58, 0x04, 0x89,       /* addss xmm0, [r9 + rcx * 4] */
    /* 1b */ 0xf3, 0x41, 0x0f, 0x11, 0x04, 0x8a,       /* movss [r10 + rcx * 4], xmm0 */
    /* 21 */ 0x48, 0xff, 0xc1,                         /* inc rcx */
    /* 24 */ 0xeb, 0xe5,                               /* jmp 0b */
    /* 26 */ 0x31, 0xc0,                               /* xor eax, eax */
    /* 28 */ 0xc3,                                     /* ret */
    /* 29 */ 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* nop */
    /* 30 */ 0x48, 0x8b, 0x06,                         /* mov rax, [rsi] */
    /* 33 */ 0xff, 0xe0,                               /* jmp rax */
    /* 35 */ 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, /* nop */
    /* 40 */ 0x48, 0x83, 0xec, 0x08,                                           /* sub rsp, 8 */
    /* 44 */ 0x48, 0x8b, 0x3f,                                                 /* mov rdi, [rdi] */
    /* 47 */ 0xbe, 0x07, 0x00, 0x00, 0x00,                                     /* mov esi, 7 */
    /* 4c */ 0xba, 0x10, 0x00, 0x00, 0x00,                                     /* mov edx, 16 */
    /* 51 */ 0xff, 0x15, 0xa9, 0x0f, 0x00, 0x00, /* call [rip + 0xfa9]: the slot at 0x1000 */
    /* 57 */ 0x31, 0xc0,                         /* xor eax, eax */
    /* 59 */ 0x48, 0x83, 0xc4, 0x08,             /* add rsp, 8 */
    /* 5d */ 0xc3,                               /* ret */
};

void build_seal_image(uint8_t *image, size_t size) {
  uint64_t checksum =
      loom_checksum(image + sizeof(loom_image_header), size - sizeof(loom_image_header));
  memcpy(image + offsetof(loom_image_header, checksum), &checksum, sizeof checksum);
}

void build_image(uint8_t *out) {
  loom_image_header header = {
      .magic = LOOM_IMAGE_MAGIC, .code_size = TEST_CODE, .text_size = TEST_TEXT, .import_count = 1};
  loom_image_import import = {LOOM_SUPPORT_MEMSET, TEST_SLOT};
  memset(out, 0, TEST_IMAGE_SIZE);
  memcpy(out, &header, sizeof header);
  memcpy(out + sizeof header, test_text, sizeof test_text);
  memcpy(out + sizeof header + TEST_CODE, &import, sizeof import);
  build_seal_image(out, TEST_IMAGE_SIZE);
}

static loom_plan_section put(uint8_t *plan, uint32_t *at, const void *data, uint32_t count,
                             size_t entry) {
  loom_plan_section section = {*at, count};
  if (count) memcpy(plan + *at, data, count * entry);
  *at = (uint32_t)((*at + count * entry + 7) & ~(size_t)7);
  return section;
}

void build_seal_plan(uint8_t *plan, size_t size) {
  size_t skipped = offsetof(loom_plan_header, checksum) + 8;
  uint64_t checksum = loom_checksum(plan + skipped, size - skipped);
  memcpy(plan + offsetof(loom_plan_header, checksum), &checksum, sizeof checksum);
}

loom_bytes build_plan(const plan_parts *parts) {
  static const char names[] = "add\0call\0fill";
  loom_plan_kernel kernels[] = {
      {ENTRY_ADD, 0, 0, 0, 0, 0}, {ENTRY_CALL, 4, 0, 0, 0, 0}, {ENTRY_FILL, 9, 0, 0, 0, 0}};
  uint8_t image[TEST_IMAGE_SIZE];
  build_image(image);
  if (parts->target) memcpy(image, parts->device_code, sizeof image);
  for (int i = 0; parts->target && i < 3; i++) {
    kernels[i].entry = parts->kernel_lists[i];
    kernels[i].threads = 64;
    kernels[i].flags = parts->kernel_flags[i];
    kernels[i].shared = parts->shared;
  }
  uint8_t *plan = calloc(1, 1 << 16);
  loom_plan_header h = {.magic = LOOM_PLAN_MAGIC,
                        .version = LOOM_PLAN_VERSION,
                        .arena_size = parts->arena_size,
                        .input_count = parts->input_count,
                        .output_count = parts->output_count,
                        .scalar_count = parts->scalar_count,
                        .symbol_count = parts->symbol_count,
                        .register_count = parts->register_count,
                        .late_count = parts->late_count,
                        .kept_count = parts->kept_count,
                        .prologue = parts->prologue,
                        .target = parts->target,
                        .flags = parts->flags};
  uint32_t at = (sizeof h + 7) & ~7u;
  h.inputs = put(plan, &at, parts->inputs, parts->input_count, sizeof *parts->inputs);
  h.buffers = put(plan, &at, parts->buffers, parts->buffer_count, sizeof *parts->buffers);
  h.instrs = put(plan, &at, parts->instrs, parts->instr_count, sizeof *parts->instrs);
  h.indices = put(plan, &at, parts->indices, parts->index_count, sizeof *parts->indices);
  h.kernels = put(plan, &at, kernels, 3, sizeof *kernels);
  h.maps = put(plan, &at, parts->maps, parts->map_count, sizeof *parts->maps);
  h.constants = put(plan, &at, parts->constants, parts->constant_count, sizeof *parts->constants);
  h.names = put(plan, &at, names, sizeof names, 1);
  bool checked = parts->flags & LOOM_PLAN_CHECKED;
  h.extents =
      put(plan, &at, parts->extents, checked ? parts->buffer_count : 0, sizeof *parts->extents);
  h.sites = put(plan, &at, parts->sites, parts->site_count, sizeof *parts->sites);
  h.image = put(plan, &at, image, parts->flags & LOOM_PLAN_REGION ? 0 : sizeof image, 1);
  h.once = put(plan, &at, parts->once, parts->once_count, sizeof *parts->once);
  h.regions = (loom_plan_section){at, parts->region_count};
  for (uint32_t i = 0; i < parts->region_count; i++) {
    put(plan, &at, parts->regions[i].data, (uint32_t)parts->regions[i].size, 1);
    free(parts->regions[i].data);
  }
  h.total_size = at;
  memcpy(plan, &h, sizeof h);
  build_seal_plan(plan, at);
  return (loom_bytes){plan, at};
}

uint64_t build_random(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

void build_try_load(uint8_t *bytes, size_t size) {
  loom_error err = {0};
  loom_plan *plan = loom_plan_load(bytes, size, &err);
  if (plan) /* whatever was changed did not matter: the sizes must make sense */
    for (uint32_t i = 0; i < loom_plan_header_of(plan)->output_count; i++) {
      size_t output;
      const int64_t symbols[1] = {8};
      bool one = loom_plan_header_of(plan)->symbol_count == 1;
      if (loom_plan_output_size(plan, i, one ? symbols : NULL, &output))
        assert_true(output < (1ull << 47));
    }
  else
    assert_true(err.message[0]);
  loom_plan_unref(plan);
}

/* The checksums of the regions, as far as they can be found, then the plan's own. */
void build_seal_all(uint8_t *bytes, size_t size) {
  loom_plan_header h, region;
  memcpy(&h, bytes, sizeof h);
  size_t at = h.regions.offset;
  for (uint32_t i = 0; i < h.regions.count && at < size && size - at >= sizeof region; i++) {
    memcpy(&region, bytes + at, sizeof region);
    if (region.total_size < sizeof region || region.total_size > size - at) break;
    build_seal_plan(bytes + at, region.total_size);
    at += region.total_size;
  }
  build_seal_plan(bytes, size);
}

loom_plan *build_load(loom_bytes bytes) {
  loom_error err = {0};
  loom_plan *plan = loom_plan_load(bytes.data, bytes.size, &err);
  if (!plan) fail_msg("%s", err.message);
  free(bytes.data);
  return plan;
}

void build_survive_damage(loom_bytes good) {
  uint64_t seed = 88172645463325252ull;
  uint8_t *bytes = malloc(good.size);
  size_t tables = good.size - TEST_IMAGE_SIZE; /* damage there is what matters */
  for (int round = 0; round < 20000; round++) {
    memcpy(bytes, good.data, good.size);
    int changes = 1 + (int)(build_random(&seed) % 3);
    for (int i = 0; i < changes; i++) {
      uint64_t r = build_random(&seed);
      size_t at = r % (round % 4 ? tables : good.size - 4);
      static const uint32_t words[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff};
      if (r >> 60 < 8)
        bytes[at] ^= (uint8_t)(1u << (r >> 40 & 7));
      else
        memcpy(bytes + (at & ~(size_t)3), &words[(r >> 32) % 7], 4);
    }
    size_t size = good.size;
    if (round % 16 == 0) { /* cut, and say so in the header */
      size =
          sizeof(loom_plan_header) + build_random(&seed) % (good.size - sizeof(loom_plan_header));
      uint32_t total = (uint32_t)size;
      memcpy(bytes + offsetof(loom_plan_header, total_size), &total, 4);
    }
    build_seal_all(bytes, size);
    build_try_load(bytes, size);
  }
  free(bytes);
  free(good.data);
}
