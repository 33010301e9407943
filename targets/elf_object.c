/* Reading relocatable ELF objects. Every offset is checked: a damaged object is an error. */
#include "targets/elf_object.h"

#include <string.h>

bool elf_range(const elf_object *o, uint64_t offset, uint64_t size) {
  return offset <= o->size && size <= o->size - offset;
}

bool elf_section(const elf_object *o, uint32_t index, uint32_t entry, const void **out,
                 size_t *count) {
  if (index >= o->section_count) return false;
  const Elf64_Shdr *s = &o->sections[index];
  if (!elf_range(o, s->sh_offset, s->sh_size)) return false;
  if (entry > 1 && (s->sh_offset % 8 || s->sh_size % entry)) return false;
  *out = o->bytes + s->sh_offset;
  *count = s->sh_size / entry;
  return true;
}

static const char *elf_string(const char *table, size_t size, uint32_t offset) {
  if (offset >= size || !memchr(table + offset, 0, size - offset)) return "";
  return table + offset;
}

const char *elf_section_name(const elf_object *o, const Elf64_Shdr *section) {
  return elf_string(o->section_names, o->section_names_size, section->sh_name);
}

const char *elf_symbol_name(const elf_object *o, const Elf64_Sym *symbol) {
  return elf_string(o->names, o->names_size, symbol->st_name);
}

bool elf_open(elf_object *o, uint16_t machine, const char *name, loom_error *err) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)o->bytes;
  if (o->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
      header->e_type != ET_REL || header->e_machine != machine)
    return loom_fail(err, "not an object for %s", name);
  o->section_count = header->e_shnum;
  if (!elf_range(o, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
    return loom_fail(err, "damaged object: sections");
  o->sections = (const Elf64_Shdr *)(o->bytes + header->e_shoff);
  const void *data;
  size_t count;
  if (!elf_section(o, header->e_shstrndx, 1, &data, &o->section_names_size))
    return loom_fail(err, "damaged object: section names");
  o->section_names = data;
  for (uint32_t i = 0; i < o->section_count; i++) {
    if (o->sections[i].sh_type != SHT_SYMTAB) continue;
    if (!elf_section(o, i, sizeof(Elf64_Sym), &data, &count))
      return loom_fail(err, "damaged object: symbols");
    o->symbols = data;
    o->symbol_count = (uint32_t)count;
    if (!elf_section(o, o->sections[i].sh_link, 1, &data, &o->names_size))
      return loom_fail(err, "damaged object: symbol names");
    o->names = data;
  }
  return true;
}
