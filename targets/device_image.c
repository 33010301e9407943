/* Kernels for a GPU as the image of a plan: PTX or a code object, and for the drivers of the tests
 * the same kernels as code for this machine, in a comment behind it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device_code.h"
#include "runtime/runtime.h"
#include "targets/target.h"

static bool image_grow(loom_bytes *out, size_t more, loom_error *err) {
  uint8_t *grown = realloc(out->data, out->size + more);
  if (!grown) return loom_fail(err, "out of memory");
  out->data = grown;
  return true;
}

static void image_hex(loom_bytes *out, const void *data, size_t size) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    out->data[out->size++] = (uint8_t)digits[((const uint8_t *)data)[i] >> 4];
    out->data[out->size++] = (uint8_t)digits[((const uint8_t *)data)[i] & 15];
  }
}

static bool image_code(loom_bytes *out, const loom_bytes *image, const loom_entries *entries,
                       const loom_gpu_table *stages, loom_error *err) {
  device_code_header head = {stages->count, (uint32_t)image->size};
  size_t size = sizeof head + stages->count * sizeof(device_code_row) + image->size;
  if (!image_grow(out, sizeof DEVICE_CODE_MARK + 2 * size + 2, err)) return false;
  memcpy(out->data + out->size, "\n" DEVICE_CODE_MARK, sizeof DEVICE_CODE_MARK);
  out->size += sizeof DEVICE_CODE_MARK;
  image_hex(out, &head, sizeof head);
  for (uint32_t i = 0; i < stages->count; i++) {
    device_code_row row = {.threads = stages->rows[i].threads,
                           .flags = stages->rows[i].flags,
                           .buffers = (uint16_t)stages->rows[i].buffers,
                           .params = (uint16_t)stages->rows[i].params,
                           .maps = stages->rows[i].map_count,
                           .shared = loom_gpu_given(&stages->rows[i])};
    int64_t entry = loom_entries_find(entries, stages->rows[i].name);
    if (entry < 0) return loom_fail(err, "the simulator has no '%s'", stages->rows[i].name);
    snprintf(row.name, sizeof row.name, "%s", stages->rows[i].name);
    row.entry = (uint32_t)entry;
    image_hex(out, &row, sizeof row);
  }
  image_hex(out, image->data, image->size);
  out->data[out->size++] = '\n';
  return true;
}

static bool image_simulate(MlirModule module, bool quick, loom_bytes *out,
                           const loom_gpu_table *stages, loom_error *err) {
  loom_target_options options = {.machine = &loom_target_sim, .quick = quick};
  loom_bytes image = {NULL, 0};
  loom_entries entries = {NULL, 0};
  bool good = loom_x86_emit(module, &options, &image, &entries, err) &&
              image_code(out, &image, &entries, stages, err);
  loom_entries_fini(&entries);
  free(image.data);
  return good;
}

bool loom_device_simulated(MlirModule module, const loom_gpu_table *stages, loom_bytes *out,
                           loom_error *err) {
  return image_simulate(module, false, out, stages, err);
}

bool loom_device_image(MlirModule module, const loom_target *target,
                       const loom_target_options *options, bool simulated, loom_bytes *out,
                       loom_gpu_table *stages, loom_error *err) {
  loom_target_options own = *options;
  own.gpu = stages;
  bool good = target == &loom_target_amdgpu
                  ? loom_amdgpu_emit(module, &own, out, err)
                  : loom_target_emit(target, module, &own, LOOM_EMIT_ASSEMBLY, out, err);
  good = good && (!stages->why || loom_fail(err, "%s", stages->why)) &&
         (!simulated || image_simulate(module, own.quick, out, stages, err)) &&
         image_grow(out, 1, err);
  if (good) out->data[out->size++] = 0;
  return good;
}
