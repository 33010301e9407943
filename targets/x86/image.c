/* From ELF objects to position-independent code that can be mapped anywhere.
 *
 * Layout of the code part: every executable section, then a stub of 8 bytes for each import, up to
 * a page boundary; then a slot of 8 bytes for each import and every read-only section. All
 * references are relative to the instruction pointer and stay inside, so that nothing is patched
 * when the image is mapped but the import slots. An object with writable data, an absolute address
 * or a symbol that is not in runtime/support.def is refused.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "targets/elf_object.h"
#include "targets/target.h"

#define LINK_STUB 8u      /* ff 25 disp32: jmp *slot(%rip), padded */
#define LINK_FUNCTION 16u /* where an object's code begins */

typedef struct link_object {
  elf_object elf;
  uint32_t *offsets; /* of each section in the code; UINT32_MAX: not loaded */
} link_object;

typedef struct link_job {
  link_object *objects;
  size_t count;
  int32_t import_of[LOOM_SUPPORT_COUNT];
  loom_image_import imports[LOOM_SUPPORT_COUNT];
  uint32_t import_count, stubs, slots, text_size, code_size;
  uint8_t *code;
  loom_error *err;
} link_job;

/* ---- laying out ---- */

static uint32_t link_round(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

/* Unwind tables and notes: loaded by linkers, of no use here. */
static bool link_skipped(const link_object *o, const Elf64_Shdr *s) {
  const char *name = elf_section_name(&o->elf, s);
  return !(s->sh_flags & SHF_ALLOC) || s->sh_size == 0 || s->sh_type == SHT_NOTE ||
         strcmp(name, ".eh_frame") == 0 || s->sh_type == SHT_X86_64_UNWIND;
}

static bool link_place(link_job *job, const link_object *o, bool text, uint32_t *at) {
  for (uint32_t i = 0; i < o->elf.section_count; i++) {
    const Elf64_Shdr *s = &o->elf.sections[i];
    if (link_skipped(o, s) || !!(s->sh_flags & SHF_EXECINSTR) != text) continue;
    const char *name = elf_section_name(&o->elf, s);
    if (s->sh_flags & SHF_WRITE || s->sh_type != SHT_PROGBITS)
      return loom_fail(job->err, "section %s is writable: kernels have no state", name);
    uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
    uint64_t place = (*at + align - 1) / align * align;
    if (align > LOOM_IMAGE_PAGE || place + s->sh_size > INT32_MAX ||
        !elf_range(&o->elf, s->sh_offset, s->sh_size))
      return loom_fail(job->err, "section %s does not fit an image", name);
    o->offsets[i] = (uint32_t)place;
    *at = (uint32_t)(place + s->sh_size);
  }
  return true;
}

static bool link_import(link_job *job, const link_object *o) {
  for (uint32_t i = 1; i < o->elf.symbol_count; i++) {
    const Elf64_Sym *symbol = &o->elf.symbols[i];
    if (symbol->st_shndx != SHN_UNDEF) continue;
    const char *name = elf_symbol_name(&o->elf, symbol);
    int function = loom_support_find(name);
    if (function < 0)
      return loom_fail(job->err, "code needs '%s', which is not in the support table", name);
    if (job->import_of[function] >= 0) continue;
    job->import_of[function] = (int32_t)job->import_count;
    job->imports[job->import_count++].function = (uint32_t)function;
  }
  return true;
}

static bool link_offsets(link_job *job, link_object *o) {
  o->offsets = malloc(sizeof *o->offsets * (o->elf.section_count + 1));
  if (!o->offsets) return loom_fail(job->err, "out of memory");
  for (uint32_t i = 0; i < o->elf.section_count; i++)
    o->offsets[i] = UINT32_MAX;
  return true;
}

static void link_copy(link_job *job, const link_object *o) {
  for (uint32_t i = 0; i < o->elf.section_count; i++)
    if (o->offsets[i] != UINT32_MAX)
      memcpy(job->code + o->offsets[i], o->elf.bytes + o->elf.sections[i].sh_offset,
             o->elf.sections[i].sh_size);
}

static bool link_layout(link_job *job) {
  uint32_t at = 0;
  memset(job->import_of, 0xff, sizeof job->import_of);
  for (size_t i = 0; i < job->count; i++) {
    link_object *o = &job->objects[i];
    uint32_t before = at = link_round(at, LINK_FUNCTION);
    if (!link_offsets(job, o) || !link_import(job, o) || !link_place(job, o, true, &at))
      return false;
    if (at == before) return loom_fail(job->err, "the object has no code");
  }
  job->stubs = link_round(at, LINK_STUB);
  job->text_size = link_round(job->stubs + job->import_count * LINK_STUB, LOOM_IMAGE_PAGE);
  job->slots = at = job->text_size;
  at += job->import_count * 8;
  for (size_t i = 0; i < job->count; i++)
    if (!link_place(job, &job->objects[i], false, &at)) return false;
  job->code_size = link_round(at, 8);
  job->code = calloc(1, job->code_size);
  if (!job->code) return loom_fail(job->err, "out of memory");
  memset(job->code, 0xcc, job->text_size); /* int3 between functions */
  for (size_t i = 0; i < job->count; i++)
    link_copy(job, &job->objects[i]);
  return true;
}

static void link_stubs(link_job *job) {
  for (uint32_t i = 0; i < job->import_count; i++) {
    uint32_t stub = job->stubs + i * LINK_STUB;
    job->imports[i].slot = job->slots + i * 8;
    int32_t displacement = (int32_t)(job->imports[i].slot - (stub + 6));
    job->code[stub] = 0xff;
    job->code[stub + 1] = 0x25;
    memcpy(job->code + stub + 2, &displacement, 4);
  }
}

/* ---- relocations ---- */

/* Where a symbol lies in the code; of an import its stub, or with `slot` its slot. */
static bool link_address(link_job *job, const link_object *o, uint32_t index, bool slot,
                         int64_t *out) {
  if (index >= o->elf.symbol_count) return loom_fail(job->err, "damaged object: relocation");
  const Elf64_Sym *symbol = &o->elf.symbols[index];
  const char *name = elf_symbol_name(&o->elf, symbol);
  if (symbol->st_shndx == SHN_UNDEF) {
    int function = loom_support_find(name);
    if (function < 0 || job->import_of[function] < 0)
      return loom_fail(job->err, "code needs '%s', which is not in the support table", name);
    uint32_t import = (uint32_t)job->import_of[function];
    *out = slot ? job->slots + import * 8 : job->stubs + import * LINK_STUB;
    return true;
  }
  if (slot) return loom_fail(job->err, "'%s' is reached by its absolute address", name);
  if (symbol->st_shndx >= o->elf.section_count || o->offsets[symbol->st_shndx] == UINT32_MAX)
    return loom_fail(job->err, "'%s' is in a section that an image does not have", name);
  *out = (int64_t)o->offsets[symbol->st_shndx] + (int64_t)symbol->st_value;
  return true;
}

static bool link_relocate(link_job *job, const link_object *o, uint32_t section,
                          const Elf64_Rela *rela) {
  uint32_t type = ELF64_R_TYPE(rela->r_info), index = ELF64_R_SYM(rela->r_info);
  uint32_t width = type == R_X86_64_PC64 ? 8 : 4;
  bool slot =
      type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
  if (type == R_X86_64_NONE) return true;
  if (!slot && type != R_X86_64_PC32 && type != R_X86_64_PLT32 && type != R_X86_64_PC64)
    return loom_fail(
        job->err, "relocation of type %u against '%s' is not relative to the code", type,
        index < o->elf.symbol_count ? elf_symbol_name(&o->elf, &o->elf.symbols[index]) : "");
  uint64_t size = o->elf.sections[section].sh_size;
  if (rela->r_offset > size || size - rela->r_offset < width)
    return loom_fail(job->err, "damaged object: relocation outside its section");
  int64_t target = 0, place = (int64_t)o->offsets[section] + (int64_t)rela->r_offset;
  if (!link_address(job, o, index, slot, &target)) return false;
  int64_t value = target + rela->r_addend - place;
  if (width == 4 && (value < INT32_MIN || value > INT32_MAX))
    return loom_fail(job->err, "relocation out of range");
  memcpy(job->code + place, &value, width);
  return true;
}

static bool link_relocations(link_job *job, const link_object *o) {
  for (uint32_t i = 0; i < o->elf.section_count; i++) {
    const Elf64_Shdr *s = &o->elf.sections[i];
    uint32_t section = s->sh_info;
    if (s->sh_type == SHT_REL) return loom_fail(job->err, "damaged object: REL section");
    if (s->sh_type != SHT_RELA) continue;
    if (section >= o->elf.section_count) return loom_fail(job->err, "damaged object: RELA section");
    if (o->offsets[section] == UINT32_MAX) continue;
    const void *data;
    size_t count;
    if (!elf_section(&o->elf, i, sizeof(Elf64_Rela), &data, &count))
      return loom_fail(job->err, "damaged object: relocations");
    for (size_t r = 0; r < count; r++)
      if (!link_relocate(job, o, section, (const Elf64_Rela *)data + r)) return false;
  }
  return true;
}

/* ---- what comes out ---- */

static bool link_entries(link_job *job, const link_object *o, loom_entries *out) {
  loom_entry *grown = realloc(out->items, (out->count + o->elf.symbol_count + 1) * sizeof *grown);
  if (!grown) return loom_fail(job->err, "out of memory");
  out->items = grown;
  for (uint32_t i = 1; i < o->elf.symbol_count; i++) {
    const Elf64_Sym *symbol = &o->elf.symbols[i];
    int64_t address;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
        ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL)
      continue;
    if (!link_address(job, o, i, false, &address)) return false;
    char *name = strdup(elf_symbol_name(&o->elf, symbol));
    if (!name) return loom_fail(job->err, "out of memory");
    out->items[out->count++] = (loom_entry){name, (uint32_t)address};
  }
  return true;
}

static bool link_write(link_job *job, loom_bytes *out) {
  size_t imports = job->import_count * sizeof *job->imports;
  loom_image_header header = {.magic = LOOM_IMAGE_MAGIC,
                              .code_size = job->code_size,
                              .text_size = job->text_size,
                              .import_count = job->import_count};
  out->size = sizeof header + job->code_size + imports;
  out->data = malloc(out->size);
  if (!out->data) return loom_fail(job->err, "out of memory");
  memcpy(out->data + sizeof header, job->code, job->code_size);
  if (imports) memcpy(out->data + sizeof header + job->code_size, job->imports, imports);
  header.checksum = loom_checksum(out->data + sizeof header, out->size - sizeof header);
  memcpy(out->data, &header, sizeof header);
  return true;
}

static bool link_all(link_job *job, loom_bytes *image, loom_entries *entries) {
  for (size_t i = 0; i < job->count; i++)
    if (!elf_open(&job->objects[i].elf, EM_X86_64, "x86-64", job->err)) return false;
  if (!link_layout(job)) return false;
  link_stubs(job);
  for (size_t i = 0; i < job->count; i++)
    if (!link_relocations(job, &job->objects[i]) || !link_entries(job, &job->objects[i], entries))
      return false;
  return link_write(job, image);
}

bool loom_x86_link(const loom_bytes *objects, size_t count, loom_bytes *image,
                   loom_entries *entries, loom_error *err) {
  link_job job = {.objects = calloc(count, sizeof *job.objects), .count = count, .err = err};
  *image = (loom_bytes){NULL, 0};
  *entries = (loom_entries){NULL, 0};
  if (!job.objects) return loom_fail(err, "out of memory");
  for (size_t i = 0; i < count; i++) {
    job.objects[i].elf.bytes = objects[i].data;
    job.objects[i].elf.size = objects[i].size;
  }
  bool ok = link_all(&job, image, entries);
  for (size_t i = 0; i < count; i++)
    free(job.objects[i].offsets);
  free(job.objects);
  free(job.code);
  if (!ok) loom_entries_fini(entries);
  return ok;
}

void loom_entries_fini(loom_entries *entries) {
  for (size_t i = 0; i < entries->count; i++)
    free(entries->items[i].name);
  free(entries->items);
  *entries = (loom_entries){NULL, 0};
}

int64_t loom_entries_find(const loom_entries *entries, const char *name) {
  for (size_t i = 0; i < entries->count; i++)
    if (strcmp(entries->items[i].name, name) == 0) return entries->items[i].offset;
  return -1;
}
