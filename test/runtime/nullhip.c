/* What the HIP driver of the tests has beside what both have: a current device for each thread, and
 * code objects, of which it reads what AMD's loader reads. */
#include "nullgpu.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int null_version = 60300000, null_architecture = 0x90a;
const int null_first = 0; /* a handle is an ordinal */
static _Thread_local int hip_current;

/* ---- errors ---- */

const char *null_error_name(int error, bool text) {
  static const struct {
    int error;
    const char *name, *text;
  } errors[] = {
      {DRIVER_INVALID_VALUE, "hipErrorInvalidValue", "invalid argument"},
      {DRIVER_OUT_OF_MEMORY, "hipErrorOutOfMemory", "out of memory"},
      {DRIVER_NOT_INITIALIZED, "hipErrorNotInitialized", "initialization error"},
      {DRIVER_NO_DEVICE, "hipErrorNoDevice", "no ROCm-capable device is detected"},
      {DRIVER_INVALID_DEVICE, "hipErrorInvalidDevice", "invalid device ordinal"},
      {DRIVER_INVALID_IMAGE, "hipErrorInvalidImage", "device kernel image is invalid"},
      {DRIVER_INVALID_HANDLE, "hipErrorInvalidHandle", "invalid resource handle"},
      {DRIVER_NOT_FOUND, "hipErrorNotFound", "named symbol not found"},
      {DRIVER_NOT_READY, "hipErrorNotReady", "device not ready"},
      {DRIVER_LAUNCH_FAILED, "hipErrorLaunchFailure", "unspecified launch failure"},
      {DRIVER_UNKNOWN, "hipErrorUnknown", "unknown error"},
  };
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].error == error) return text ? errors[i].text : errors[i].name;
  return NULL;
}

/* For programs that are linked with the driver. */
NULL_EXPORT const char *null_name_of(int error) __asm__("hipGetErrorName");
const char *null_name_of(int error) {
  const char *name = null_error_name(error, false);
  return name ? name : "hipErrorUnknown";
}

/* Neither can be made to fail: they give an error back. */
int null_PeekAtLastError(void) { return null_last; }

int null_GetLastError(void) {
  int last = null_last;
  null_last = 0;
  return last;
}

/* ---- devices ---- */

int null_parse_architecture(const char *text) {
  return (int)strtol(strncmp(text, "gfx", 3) == 0 ? text + 3 : text, NULL, 16);
}

int null_current(void) { return hip_current; }
int loom_nullgpu_depth(void) { return hip_current; }
long null_contexts_live(void) { return 0; }

int null_GetDevice(int *device) {
  NULL_CALL(GetDevice, false);
  *device = hip_current;
  return 0;
}

int null_SetDevice(int device) {
  NULL_CALL(SetDevice, false);
  if (device < 0 || device >= null_devices) return DRIVER_INVALID_DEVICE;
  hip_current = device;
  return 0;
}

int null_DeviceGetAttribute(int *value, int attribute, int device) {
  NULL_CALL(DeviceGetAttribute, false);
  if (device < 0 || device >= null_devices) return DRIVER_INVALID_DEVICE;
  if (attribute != HIP_MEMORY_POOLS) return DRIVER_INVALID_VALUE;
  *value = 1;
  return 0;
}

/* Writes as many bytes as the real one does. Architecture 0 has no name. */
int null_GetDeviceProperties(hip_properties *properties, int device) {
  NULL_CALL(GetDeviceProperties, false);
  if (device < 0 || device >= null_devices) return DRIVER_INVALID_DEVICE;
  memset(properties, 0x5a, 1472);
  memset(properties->architecture, 0, sizeof properties->architecture);
  if (null_architecture)
    snprintf(properties->architecture, sizeof properties->architecture, "gfx%x:sramecc+:xnack-",
             (unsigned)null_architecture);
  return 0;
}

int null_MemcpyPeerAsync(uint64_t to, int to_device, uint64_t from, int from_device, size_t size,
                         void *stream) {
  NULL_CALL(MemcpyPeerAsync, true);
  return null_order_peer(stream, to, to_device, from, from_device, size);
}

/* ---- launches ---- */

int null_LaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      void *stream, void **parameters, void **extra) {
  NULL_CALL(LaunchKernel, true);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  if (shared || extra || (uint64_t)grid_x * block_x > UINT32_MAX) return DRIVER_INVALID_VALUE;
  return null_launch(stream, function, grid, block, parameters);
}

static int graph_read(const hip_kernel_node *node, null_work *out) {
  if (node->shared || node->extra || (uint64_t)node->grid[0] * node->block[0] > UINT32_MAX)
    return DRIVER_INVALID_VALUE;
  return null_read_launch(node->function, node->grid, node->block, node->arguments, out);
}

int null_GraphAddKernelNode(void **node, void *graph, void *const *before, size_t count,
                            const hip_kernel_node *kernel) {
  NULL_CALL(GraphAddKernelNode, true);
  null_work work;
  int status = graph_read(kernel, &work);
  return status ? status : null_graph_add(node, graph, before, count, &work);
}

int null_GraphAddMemcpyNode(void **node, void *graph, void *const *before, size_t count,
                            uint64_t to, uint64_t from, size_t size, int kind) {
  NULL_CALL(GraphAddMemcpyNode, true);
  if (kind != HIP_COPY_WITHIN || !size) return DRIVER_INVALID_VALUE;
  return null_graph_add(node, graph, before, count,
                        &(null_work){.to = to, .from = from, .size = size});
}

int null_GraphSetKernelNode(void *exec, void *node, const hip_kernel_node *kernel) {
  NULL_CALL(GraphSetKernelNode, true);
  null_work work;
  int status = graph_read(kernel, &work);
  return status ? status : null_graph_set(exec, node, &work);
}

int null_GraphSetMemcpyNode(void *exec, void *node, uint64_t to, uint64_t from, size_t size,
                            int kind) {
  NULL_CALL(GraphSetMemcpyNode, true);
  if (kind != HIP_COPY_WITHIN) return DRIVER_INVALID_VALUE;
  return null_graph_set(exec, node, &(null_work){.to = to, .from = from, .size = size});
}

/* ---- code objects ---- */

typedef struct object {
  const uint8_t *bytes;
  const Elf64_Ehdr *header;
  const Elf64_Phdr *segments;
} object;

/* EF_AMDGPU_MACH of the architectures that code is made for. */
static uint32_t object_machine(void) {
  switch (null_architecture) {
  case 0x90a: return 0x3f;
  case 0x942: return 0x4c;
  case 0x1100: return 0x41;
  default: return 0;
  }
}

static object object_open(const void *image) {
  const uint8_t *bytes = image;
  const Elf64_Ehdr *header = image;
  return (object){bytes, header, (const Elf64_Phdr *)(bytes + header->e_phoff)};
}

/* The section headers are last, and behind them is what the compiler has added. */
bool null_image_check(const void *image, const char **text) {
  object o = object_open(image);
  if (memcmp(o.header->e_ident, ELFMAG, SELFMAG) || o.header->e_ident[EI_OSABI] != 64 ||
      o.header->e_machine != 224 || o.header->e_type != ET_DYN ||
      (o.header->e_flags & 0xff) != object_machine())
    return false;
  *text = (const char *)o.bytes + o.header->e_shoff + o.header->e_shnum * sizeof(Elf64_Shdr);
  return true;
}

size_t null_image_size(const void *image) { return 0; }

/* Where an address is in the file; NULL: in no segment with these flags. */
static const void *object_at(const object *o, uint64_t address, uint64_t size, uint32_t flags) {
  for (int i = 0; i < o->header->e_phnum; i++) {
    const Elf64_Phdr *s = &o->segments[i];
    if (s->p_type == PT_LOAD && (s->p_flags & flags) == flags && address >= s->p_vaddr &&
        address - s->p_vaddr + size <= s->p_filesz)
      return o->bytes + s->p_offset + (address - s->p_vaddr);
  }
  return NULL;
}

static uint64_t object_tag(const object *o, int64_t tag) {
  for (int i = 0; i < o->header->e_phnum; i++) {
    if (o->segments[i].p_type != PT_DYNAMIC) continue;
    const Elf64_Dyn *d = (const void *)(o->bytes + o->segments[i].p_offset);
    for (; d->d_tag != DT_NULL; d++)
      if (d->d_tag == tag) return d->d_un.d_val;
  }
  return 0;
}

/* By the hash table of the System V ABI. */
static const Elf64_Sym *object_symbol(const object *o, const char *name) {
  uint32_t hash = 0;
  for (const char *c = name; *c; c++) {
    hash = (hash << 4) + (uint8_t)*c;
    hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
  }
  const uint32_t *table = object_at(o, object_tag(o, DT_HASH), 8, PF_R);
  const Elf64_Sym *symbols = object_at(o, object_tag(o, DT_SYMTAB), sizeof *symbols, PF_R);
  const char *names = object_at(o, object_tag(o, DT_STRTAB), object_tag(o, DT_STRSZ), PF_R);
  if (!table || !symbols || !names || !table[0]) return NULL;
  for (uint32_t i = table[2 + hash % table[0]]; i; i = table[2 + table[0] + i])
    if (strcmp(names + symbols[i].st_name, name) == 0) return &symbols[i];
  return NULL;
}

/* A kernel descriptor (AMDGPUUsage, "Kernel Descriptor"): it leads to the kernel's code, has room
 * for its arguments, and waves of the device's size. */
bool null_image_has(const void *image, const null_function *function) {
  char kd[140];
  const char *name = function->name;
  object o = object_open(image);
  snprintf(kd, sizeof kd, "%s.kd", name);
  const Elf64_Sym *symbol = object_symbol(&o, kd), *code = object_symbol(&o, name);
  const uint8_t *descriptor = symbol ? object_at(&o, symbol->st_value, 64, PF_R) : NULL;
  if (!descriptor || !code || symbol->st_size != 64 || symbol->st_value % 64) return false;
  int64_t entry;
  uint32_t arguments;
  uint16_t properties;
  memcpy(&arguments, descriptor + 8, sizeof arguments);
  memcpy(&entry, descriptor + 16, sizeof entry);
  memcpy(&properties, descriptor + 56, sizeof properties);
  uint64_t address = symbol->st_value + (uint64_t)entry;
  bool wave32 = properties & 1 << 10;
  return address == code->st_value && address % 256 == 0 && object_at(&o, address, 4, PF_X) &&
         arguments >= 8 * (function->buffers + function->params) + 24 &&
         wave32 == (null_architecture >= 0x1000);
}
