/* Position-independent code: checked, copied to pages of its own, slots filled, made executable or
 * read-only. */
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static size_t image_round(size_t size) {
  return (size + LOOM_IMAGE_PAGE - 1) & ~(size_t)(LOOM_IMAGE_PAGE - 1);
}

static bool image_check(const uint8_t *bytes, size_t size, loom_image_header *out,
                        loom_error *err) {
  if (size < sizeof *out) return loom_fail(err, "image: truncated header (%zu bytes)", size);
  memcpy(out, bytes, sizeof *out);
  if (out->magic != LOOM_IMAGE_MAGIC) return loom_fail(err, "image: wrong magic number");
  uint64_t expected = sizeof *out + (uint64_t)out->code_size +
                      (uint64_t)out->import_count * sizeof(loom_image_import);
  if (size != expected)
    return loom_fail(err, "image: %zu bytes where the header says %llu", size,
                     (unsigned long long)expected);
  if (out->checksum != loom_checksum(bytes + sizeof *out, size - sizeof *out))
    return loom_fail(err, "image: wrong checksum");
  if (!out->text_size || out->text_size % LOOM_IMAGE_PAGE || out->text_size > out->code_size)
    return loom_fail(err, "image: text of %u bytes in code of %u", out->text_size, out->code_size);
  return true;
}

static bool image_fill(uint8_t *base, const uint8_t *imports, const loom_image_header *header,
                       loom_error *err) {
  for (uint32_t i = 0; i < header->import_count; i++) {
    loom_image_import import;
    memcpy(&import, imports + i * sizeof import, sizeof import);
    if (import.function >= LOOM_SUPPORT_COUNT)
      return loom_fail(err, "image: import %u of unknown function %u", i, import.function);
    if (import.slot % 8 || import.slot < header->text_size || header->code_size < 8 ||
        import.slot > header->code_size - 8)
      return loom_fail(err, "image: import %u has its slot at %u, outside the data", i,
                       import.slot);
    void *address = loom_support_address((loom_support_function)import.function);
    memcpy(base + import.slot, &address, sizeof address);
  }
  return true;
}

bool loom_image_map(const void *bytes, size_t size, loom_image *out, loom_error *err) {
  loom_image_header header;
  if (!image_check(bytes, size, &header, err)) return false;
  size_t mapped = image_round(header.code_size);
  uint8_t *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return loom_fail(err, "image: no memory for %zu bytes: %s", mapped, strerror(errno));
  const uint8_t *code = (const uint8_t *)bytes + sizeof header;
  memcpy(base, code, header.code_size);
  if (!image_fill(base, code + header.code_size, &header, err)) {
    munmap(base, mapped);
    return false;
  }
  size_t text = header.text_size;
  if (mprotect(base, text, PROT_READ | PROT_EXEC) ||
      (mapped > text && mprotect(base + text, mapped - text, PROT_READ))) {
    loom_fail(err, "image: the system refuses executable memory: %s", strerror(errno));
    munmap(base, mapped);
    return false;
  }
  *out = (loom_image){base, mapped};
  return true;
}

void loom_image_unmap(loom_image *image) {
  if (image->base) munmap(image->base, image->size);
  *image = (loom_image){NULL, 0};
}
