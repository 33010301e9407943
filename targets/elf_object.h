/* Reading relocatable ELF objects of 64 bits, as LLVM writes them. Sections by file: elf_object.c.
 */
#ifndef LOOM_ELF_OBJECT_H
#define LOOM_ELF_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/graph.h"

/* ---- elf_object.c ---- */

typedef struct elf_object {
  const uint8_t *bytes;
  size_t size;
  const Elf64_Shdr *sections;
  uint32_t section_count;
  const Elf64_Sym *symbols;
  uint32_t symbol_count;
  const char *names; /* of symbols */
  size_t names_size;
  const char *section_names;
  size_t section_names_size;
} elf_object;

/* Reads the tables of `bytes` and `size`. `name`: of the machine, for messages. */
bool elf_open(elf_object *o, uint16_t machine, const char *name, loom_error *err);
/* Does [offset, offset + size) lie in the file? */
bool elf_range(const elf_object *o, uint64_t offset, uint64_t size);
/* The data of a section whose entries have so many bytes. False: the section is damaged. */
bool elf_section(const elf_object *o, uint32_t index, uint32_t entry, const void **out,
                 size_t *count);
/* "" where the object is damaged. */
const char *elf_section_name(const elf_object *o, const Elf64_Shdr *section);
const char *elf_symbol_name(const elf_object *o, const Elf64_Sym *symbol);

#endif
