/* From an ELF object for AMDGPU to a code object, which AMD's loader takes: a shared object with
 * kernels and their descriptors as dynamic symbols.
 *
 * The file has three segments that are loaded, each on pages of its own: read-only (headers, notes,
 * dynamic symbols with two hash tables, constants and kernel descriptors), code, and the dynamic
 * section. Kernels have no state and reach nothing outside of their object. So an object with
 * writable data, an absolute address or an undefined symbol is refused, and the loader has nothing
 * to relocate. Section headers and a symbol table follow, which AMD's loader reads as well.
 */
#include <stdlib.h>
#include <string.h>

#include "targets/elf_object.h"
#include "targets/target.h"

#define CODE_PAGE 0x1000u
#define CODE_SEGMENTS 7u /* at most */
#define CODE_SHIFT 26    /* of the second hash of the Bloom filter */

/* R_AMDGPU_*: AMDGPUUsage, "Relocation Records". */
enum { CODE_NONE = 0, CODE_REL32 = 4, CODE_REL64 = 5, CODE_REL32_LO = 10, CODE_REL32_HI = 11 };

/* A section of the file. */
typedef struct code_part {
  const char *name;
  Elf64_Shdr header;
  const void *data; /* NULL: written later */
} code_part;

typedef struct code_symbol {
  Elf64_Sym symbol;
  const char *name;
  uint32_t hash, gnu; /* of the name: the System V ABI's, GNU's */
  uint32_t bucket;    /* of the GNU table */
} code_symbol;

typedef struct code_job {
  elf_object object;
  code_part *parts;
  uint32_t part_count;
  uint32_t *part_of; /* of a section of the object; 0: it is not loaded */
  code_symbol *symbols;
  uint32_t symbol_count, gnu_buckets, gnu_words;
  /* Numbers of parts. */
  uint32_t dynsym, gnu_hash, sysv_hash, dynstr, text, dynamic, symtab, strtab, shstrtab;
  uint64_t end; /* of what was laid out so far, in the file */
  uint8_t *file;
  loom_error *err;
} code_job;

/* ---- sections ---- */

static uint32_t code_add(code_job *job, const char *name, Elf64_Shdr header, const void *data) {
  job->parts[job->part_count] = (code_part){name, header, data};
  return job->part_count++;
}

/* Sections that are loaded: notes, constants or code. */
static bool code_take(code_job *job, uint32_t type, uint64_t executable) {
  const elf_object *o = &job->object;
  for (uint32_t i = 1; i < o->section_count; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || s->sh_type != type ||
        (s->sh_flags & SHF_EXECINSTR) != executable)
      continue;
    Elf64_Shdr header = {.sh_type = type,
                         .sh_flags = SHF_ALLOC | executable,
                         .sh_size = s->sh_size,
                         .sh_addralign = s->sh_addralign ? s->sh_addralign : 1};
    if (!elf_range(o, s->sh_offset, s->sh_size) || header.sh_addralign > CODE_PAGE)
      return loom_fail(job->err, "damaged object: a section");
    job->part_of[i] = code_add(job, elf_section_name(o, s), header, o->bytes + s->sh_offset);
  }
  return true;
}

static bool code_check(const code_job *job) {
  const elf_object *o = &job->object;
  for (uint32_t i = 1; i < o->section_count; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (s->sh_flags & SHF_ALLOC && s->sh_size &&
        (s->sh_flags & SHF_WRITE || (s->sh_type != SHT_PROGBITS && s->sh_type != SHT_NOTE)))
      return loom_fail(job->err, "section %s is writable: kernels have no state",
                       elf_section_name(o, s));
  }
  return true;
}

/* ---- symbols ---- */

static void code_hash(code_symbol *s) {
  s->gnu = 5381;
  for (const char *c = s->name; *c; c++) {
    s->hash = (s->hash << 4) + (uint8_t)*c;
    s->hash = (s->hash ^ (s->hash >> 24 & 0xf0)) & 0x0fffffff;
    s->gnu = s->gnu * 33 + (uint8_t)*c;
  }
}

static int code_compare(const void *a, const void *b) {
  const code_symbol *x = a, *y = b;
  if (x->bucket != y->bucket) return x->bucket < y->bucket ? -1 : 1;
  return strcmp(x->name, y->name);
}

/* Symbols that others see: kernels and their descriptors. Those of a bucket of the GNU table have
 * to be next to each other. */
static bool code_symbols(code_job *job) {
  const elf_object *o = &job->object;
  job->symbols = calloc(o->symbol_count + 1u, sizeof *job->symbols);
  if (!job->symbols) return loom_fail(job->err, "out of memory");
  for (uint32_t i = 1; i < o->symbol_count; i++) {
    const Elf64_Sym *s = &o->symbols[i];
    const char *name = elf_symbol_name(o, s);
    unsigned visibility = ELF64_ST_VISIBILITY(s->st_other);
    if (s->st_shndx == SHN_UNDEF)
      return loom_fail(job->err, "code needs '%s', which no GPU has", name);
    if (ELF64_ST_BIND(s->st_info) == STB_LOCAL || visibility == STV_HIDDEN ||
        visibility == STV_INTERNAL || s->st_shndx >= o->section_count || !job->part_of[s->st_shndx])
      continue;
    code_symbol *out = &job->symbols[job->symbol_count++];
    *out = (code_symbol){.symbol = *s, .name = name};
    code_hash(out);
  }
  job->gnu_buckets = job->symbol_count / 4 ? job->symbol_count / 4 : 1;
  job->gnu_words = 1;
  while (job->gnu_words * 64 < job->symbol_count * 12)
    job->gnu_words *= 2;
  for (uint32_t i = 0; i < job->symbol_count; i++)
    job->symbols[i].bucket = job->symbols[i].gnu % job->gnu_buckets;
  qsort(job->symbols, job->symbol_count, sizeof *job->symbols, code_compare);
  return true;
}

/* ---- laying out ---- */

static void code_tables(code_job *job) {
  uint64_t all = job->symbol_count + 1u, names = 1;
  for (uint32_t i = 0; i < job->symbol_count; i++)
    names += strlen(job->symbols[i].name) + 1;
  Elf64_Shdr symbols = {.sh_type = SHT_DYNSYM,
                        .sh_flags = SHF_ALLOC,
                        .sh_size = all * sizeof(Elf64_Sym),
                        .sh_info = 1,
                        .sh_addralign = 8,
                        .sh_entsize = sizeof(Elf64_Sym)};
  Elf64_Shdr gnu = {.sh_type = SHT_GNU_HASH,
                    .sh_flags = SHF_ALLOC,
                    .sh_size = 16 + job->gnu_words * 8ull + job->gnu_buckets * 4ull +
                               job->symbol_count * 4ull,
                    .sh_addralign = 8};
  Elf64_Shdr sysv = {.sh_type = SHT_HASH,
                     .sh_flags = SHF_ALLOC,
                     .sh_size = (2 + 2 * all) * 4,
                     .sh_addralign = 4,
                     .sh_entsize = 4};
  Elf64_Shdr strings = {
      .sh_type = SHT_STRTAB, .sh_flags = SHF_ALLOC, .sh_size = names, .sh_addralign = 1};
  job->dynsym = code_add(job, ".dynsym", symbols, NULL);
  job->gnu_hash = code_add(job, ".gnu.hash", gnu, NULL);
  job->sysv_hash = code_add(job, ".hash", sysv, NULL);
  job->dynstr = code_add(job, ".dynstr", strings, NULL);
}

/* Behind what is loaded: the dynamic section, and tables for tools. */
static void code_rest(code_job *job) {
  Elf64_Shdr dynamic = {.sh_type = SHT_DYNAMIC,
                        .sh_flags = SHF_ALLOC | SHF_WRITE,
                        .sh_size = 7 * sizeof(Elf64_Dyn),
                        .sh_link = job->dynstr,
                        .sh_addralign = 8,
                        .sh_entsize = sizeof(Elf64_Dyn)};
  Elf64_Shdr symbols = job->parts[job->dynsym].header, strings = job->parts[job->dynstr].header;
  symbols.sh_type = SHT_SYMTAB;
  symbols.sh_flags = strings.sh_flags = 0;
  job->dynamic = code_add(job, ".dynamic", dynamic, NULL);
  job->symtab = code_add(job, ".symtab", symbols, NULL);
  job->strtab = code_add(job, ".strtab", strings, NULL);
  strings.sh_size = 1 + sizeof ".shstrtab";
  for (uint32_t i = 1; i < job->part_count; i++)
    strings.sh_size += strlen(job->parts[i].name) + 1;
  job->shstrtab = code_add(job, ".shstrtab", strings, NULL);
  job->parts[job->dynsym].header.sh_link = job->dynstr;
  job->parts[job->gnu_hash].header.sh_link = job->parts[job->sysv_hash].header.sh_link =
      job->dynsym;
  job->parts[job->symtab].header.sh_link = job->strtab;
}

static uint64_t code_round(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/* The parts in their order. Each segment begins a page further on than its place in the file. */
static bool code_place(code_job *job) {
  uint64_t at = sizeof(Elf64_Ehdr) + CODE_SEGMENTS * sizeof(Elf64_Phdr);
  for (uint32_t i = 1; i < job->part_count; i++) {
    Elf64_Shdr *h = &job->parts[i].header;
    h->sh_offset = at = code_round(at, h->sh_addralign);
    if (h->sh_flags & SHF_ALLOC)
      h->sh_addr = at + CODE_PAGE * ((i >= job->text) + (uint64_t)(i >= job->dynamic));
    at += h->sh_size;
    if (at > INT32_MAX) return loom_fail(job->err, "a code object of more than 2 GiB");
  }
  job->end = code_round(at, 8);
  return true;
}

static bool code_layout(code_job *job) {
  const elf_object *o = &job->object;
  job->parts = calloc(o->section_count + 16u, sizeof *job->parts);
  job->part_of = calloc(o->section_count + 1u, sizeof *job->part_of);
  if (!job->parts || !job->part_of) return loom_fail(job->err, "out of memory");
  job->part_count = 1; /* the null section */
  if (!code_check(job) || !code_take(job, SHT_NOTE, 0)) return false;
  uint32_t tables = job->part_count;
  job->part_count += 4; /* code_tables() is called when the symbols are known */
  if (!code_take(job, SHT_PROGBITS, 0)) return false;
  job->text = job->part_count;
  if (!code_take(job, SHT_PROGBITS, SHF_EXECINSTR) || !code_symbols(job)) return false;
  uint32_t count = job->part_count;
  job->part_count = tables;
  code_tables(job);
  job->part_count = count;
  code_rest(job);
  return code_place(job);
}

/* ---- writing ---- */

static uint8_t *code_at(const code_job *job, uint32_t part) {
  return job->file + job->parts[part].header.sh_offset;
}

/* Symbols and their names: for the loader, and again for tools. */
static void code_write_symbols(const code_job *job, uint32_t table, uint32_t strings) {
  Elf64_Sym *out = (Elf64_Sym *)code_at(job, table) + 1;
  char *names = (char *)code_at(job, strings);
  uint32_t at = 1;
  for (uint32_t i = 0; i < job->symbol_count; i++) {
    const code_symbol *s = &job->symbols[i];
    uint32_t part = job->part_of[s->symbol.st_shndx];
    out[i] = s->symbol;
    out[i].st_name = at;
    out[i].st_shndx = (uint16_t)part;
    out[i].st_value += job->parts[part].header.sh_addr;
    memcpy(names + at, s->name, strlen(s->name) + 1);
    at += (uint32_t)strlen(s->name) + 1;
  }
}

/* One bucket for each symbol, and chains of those in a bucket. */
static void code_write_hash(const code_job *job) {
  uint32_t *table = (uint32_t *)code_at(job, job->sysv_hash), count = job->symbol_count + 1;
  uint32_t *buckets = table + 2, *chains = buckets + count;
  table[0] = table[1] = count;
  for (uint32_t i = 1; i < count; i++) {
    uint32_t *first = &buckets[job->symbols[i - 1].hash % count];
    chains[i] = *first;
    *first = i;
  }
}

static void code_write_gnu(const code_job *job) {
  uint32_t *table = (uint32_t *)code_at(job, job->gnu_hash);
  uint64_t *filter = (uint64_t *)(table + 4);
  uint32_t *buckets = (uint32_t *)(filter + job->gnu_words), *hashes = buckets + job->gnu_buckets;
  table[0] = job->gnu_buckets;
  table[1] = 1; /* the first symbol of the table */
  table[2] = job->gnu_words;
  table[3] = CODE_SHIFT;
  for (uint32_t i = 0; i < job->symbol_count; i++) {
    const code_symbol *s = &job->symbols[i];
    bool last = i + 1 == job->symbol_count || s[1].bucket != s->bucket;
    filter[s->gnu / 64 % job->gnu_words] |=
        1ull << s->gnu % 64 | 1ull << (s->gnu >> CODE_SHIFT) % 64;
    if (!buckets[s->bucket]) buckets[s->bucket] = i + 1;
    hashes[i] = (s->gnu & ~1u) | last;
  }
}

static void code_write_dynamic(const code_job *job) {
  const code_part *parts = job->parts;
  const Elf64_Dyn entries[] = {
      {DT_SYMTAB, {parts[job->dynsym].header.sh_addr}},
      {DT_SYMENT, {sizeof(Elf64_Sym)}},
      {DT_STRTAB, {parts[job->dynstr].header.sh_addr}},
      {DT_STRSZ, {parts[job->dynstr].header.sh_size}},
      {DT_GNU_HASH, {parts[job->gnu_hash].header.sh_addr}},
      {DT_HASH, {parts[job->sysv_hash].header.sh_addr}},
      {DT_NULL, {0}},
  };
  memcpy(code_at(job, job->dynamic), entries, sizeof entries);
}

static void code_write_sections(code_job *job) {
  char *names = (char *)code_at(job, job->shstrtab);
  Elf64_Shdr *out = (Elf64_Shdr *)(job->file + job->end);
  uint32_t at = 1;
  for (uint32_t i = 1; i < job->part_count; i++) {
    code_part *part = &job->parts[i];
    part->header.sh_name = at;
    memcpy(names + at, part->name, strlen(part->name) + 1);
    at += (uint32_t)strlen(part->name) + 1;
    out[i] = part->header;
    if (part->data) memcpy(code_at(job, i), part->data, part->header.sh_size);
  }
}

/* From the first part to the last one; an address of 0 in front: with the headers. */
static Elf64_Phdr code_segment(const code_job *job, uint32_t type, uint32_t flags, uint32_t first,
                               uint32_t end, uint64_t align) {
  const Elf64_Shdr *a = &job->parts[first].header, *z = &job->parts[end - 1].header;
  uint64_t size = z->sh_offset + z->sh_size - a->sh_offset;
  return (Elf64_Phdr){type, flags, a->sh_offset, a->sh_addr, a->sh_addr, size, size, align};
}

static uint16_t code_write_segments(const code_job *job) {
  Elf64_Phdr *out = (Elf64_Phdr *)(job->file + sizeof(Elf64_Ehdr));
  Elf64_Phdr head = {.p_type = PT_PHDR,
                     .p_flags = PF_R,
                     .p_offset = sizeof(Elf64_Ehdr),
                     .p_vaddr = sizeof(Elf64_Ehdr),
                     .p_paddr = sizeof(Elf64_Ehdr),
                     .p_align = 8};
  const Elf64_Shdr *last = &job->parts[job->text - 1].header;
  uint64_t read_only = last->sh_offset + last->sh_size;
  uint16_t count = 1;
  out[count++] = (Elf64_Phdr){PT_LOAD, PF_R, 0, 0, 0, read_only, read_only, CODE_PAGE};
  if (job->text < job->dynamic)
    out[count++] = code_segment(job, PT_LOAD, PF_R | PF_X, job->text, job->dynamic, CODE_PAGE);
  out[count++] = code_segment(job, PT_LOAD, PF_R | PF_W, job->dynamic, job->dynamic + 1, CODE_PAGE);
  out[count++] = code_segment(job, PT_DYNAMIC, PF_R | PF_W, job->dynamic, job->dynamic + 1, 8);
  out[count++] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
  if (job->dynsym > 1) out[count++] = code_segment(job, PT_NOTE, PF_R, 1, job->dynsym, 4);
  head.p_filesz = head.p_memsz = count * sizeof *out;
  out[0] = head;
  return count;
}

/* ---- relocations ---- */

static bool code_relocate(code_job *job, uint32_t section, const Elf64_Rela *rela) {
  const elf_object *o = &job->object;
  uint32_t type = ELF64_R_TYPE(rela->r_info), index = ELF64_R_SYM(rela->r_info);
  uint32_t width = type == CODE_REL64 ? 8 : 4;
  if (type == CODE_NONE) return true;
  if (index >= o->symbol_count) return loom_fail(job->err, "damaged object: relocation");
  const Elf64_Sym *symbol = &o->symbols[index];
  const char *name = elf_symbol_name(o, symbol);
  if (type != CODE_REL32 && type != CODE_REL64 && type != CODE_REL32_LO && type != CODE_REL32_HI)
    return loom_fail(job->err, "relocation of type %u against '%s' is not relative to the code",
                     type, name);
  if (symbol->st_shndx >= o->section_count || !job->part_of[symbol->st_shndx])
    return loom_fail(job->err, "'%s' is in a section that a code object does not have", name);
  const Elf64_Shdr *from = &job->parts[job->part_of[section]].header;
  const Elf64_Shdr *to = &job->parts[job->part_of[symbol->st_shndx]].header;
  if (rela->r_offset > from->sh_size || from->sh_size - rela->r_offset < width)
    return loom_fail(job->err, "damaged object: relocation outside its section");
  int64_t value = (int64_t)(to->sh_addr + symbol->st_value + (uint64_t)rela->r_addend -
                            from->sh_addr - rela->r_offset);
  if (type == CODE_REL32 && (value < INT32_MIN || value > INT32_MAX))
    return loom_fail(job->err, "relocation out of range");
  if (type == CODE_REL32_HI) value >>= 32;
  memcpy(job->file + from->sh_offset + rela->r_offset, &value, width);
  return true;
}

static bool code_relocations(code_job *job) {
  const elf_object *o = &job->object;
  for (uint32_t i = 0; i < o->section_count; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    const void *data;
    size_t count;
    if (s->sh_type == SHT_REL) return loom_fail(job->err, "damaged object: REL section");
    if (s->sh_type != SHT_RELA) continue;
    if (s->sh_info >= o->section_count || !elf_section(o, i, sizeof(Elf64_Rela), &data, &count))
      return loom_fail(job->err, "damaged object: relocations");
    for (size_t r = 0; job->part_of[s->sh_info] && r < count; r++)
      if (!code_relocate(job, s->sh_info, (const Elf64_Rela *)data + r)) return false;
  }
  return true;
}

/* ---- all of it ---- */

static bool code_write(code_job *job, loom_bytes *out) {
  size_t size = job->end + job->part_count * sizeof(Elf64_Shdr);
  job->file = calloc(1, size);
  if (!job->file) return loom_fail(job->err, "out of memory");
  Elf64_Ehdr header = *(const Elf64_Ehdr *)job->object.bytes; /* the machine, and its modes */
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = code_write_segments(job);
  header.e_shoff = job->end;
  header.e_shnum = (uint16_t)job->part_count;
  header.e_shstrndx = (uint16_t)job->shstrtab;
  memcpy(job->file, &header, sizeof header);
  code_write_sections(job);
  code_write_symbols(job, job->dynsym, job->dynstr);
  code_write_symbols(job, job->symtab, job->strtab);
  code_write_hash(job);
  code_write_gnu(job);
  code_write_dynamic(job);
  if (!code_relocations(job)) return false;
  *out = (loom_bytes){job->file, size};
  job->file = NULL;
  return true;
}

bool loom_amdgpu_link(const loom_bytes *object, loom_bytes *out, loom_error *err) {
  code_job job = {.object = {.bytes = object->data, .size = object->size}, .err = err};
  *out = (loom_bytes){NULL, 0};
  bool good =
      elf_open(&job.object, EM_AMDGPU, "AMDGPU", err) && code_layout(&job) && code_write(&job, out);
  free(job.parts);
  free(job.part_of);
  free(job.symbols);
  free(job.file);
  return good;
}
