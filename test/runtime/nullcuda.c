/* What the CUDA driver of the tests has beside what both have: contexts, and the linker that makes
 * a "cubin" (a header and the PTX) of PTX. It loads these, PTX itself, and the cubins of ptxas. */
#include "nullgpu.h"

#include "runtime/simulator.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBIN_MAGIC "nullcubin"
#define CONTEXT_STACK 64

int null_version = 12040, null_architecture = 90;
const int null_first = 100; /* a handle is no ordinal */
static int cuda_contexts[NULL_DEVICES];
static _Thread_local void *context_stack[CONTEXT_STACK];
static _Thread_local int context_depth;

typedef struct null_link {
  char *log;
  size_t log_size;
  uint8_t *cubin;
  size_t size;
} null_link;

/* In front of the PTX. */
typedef struct null_cubin {
  char magic[16];
  uint64_t architecture, size;
} null_cubin;

/* ---- errors ---- */

const char *null_error_name(int error, bool text) {
  static const struct {
    int error;
    const char *name, *text;
  } errors[] = {
      {DRIVER_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
      {DRIVER_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
      {DRIVER_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
      {DRIVER_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
      {DRIVER_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
      {DRIVER_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
      {DRIVER_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
      {DRIVER_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
      {DRIVER_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
      {DRIVER_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
      {DRIVER_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
      {DRIVER_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
      {DRIVER_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
  };
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].error == error) return text ? errors[i].text : errors[i].name;
  return NULL;
}

/* ---- devices and contexts ---- */

/* The device of a context; -1: it is none. */
static int context_device(const void *context) {
  const int *counter = context;
  bool known = counter >= cuda_contexts && counter < cuda_contexts + NULL_DEVICES && *counter;
  return known ? (int)(counter - cuda_contexts) : -1;
}

int null_parse_architecture(const char *text) { return atoi(text); }

int null_current(void) {
  return context_depth ? (int)((int *)context_stack[context_depth - 1] - cuda_contexts) : -1;
}

int loom_nullgpu_depth(void) { return context_depth; }

long null_contexts_live(void) {
  long live = 0;
  for (int i = 0; i < NULL_DEVICES; i++)
    live += cuda_contexts[i];
  return live;
}

static bool cuda_is_device(int device) {
  return device >= null_first && device < null_first + null_devices;
}

int null_DeviceGetAttribute(int *value, int attribute, int device) {
  NULL_CALL(DeviceGetAttribute, false);
  if (!cuda_is_device(device)) return DRIVER_INVALID_DEVICE;
  switch (attribute) {
  case CUDA_MAJOR: *value = null_architecture / 10; return 0;
  case CUDA_MINOR: *value = null_architecture % 10; return 0;
  case CUDA_MEMORY_POOLS: *value = 1; return 0;
  default: return DRIVER_INVALID_VALUE;
  }
}

int null_PrimaryCtxRetain(void **context, int device) {
  NULL_CALL(PrimaryCtxRetain, false);
  if (!cuda_is_device(device)) return DRIVER_INVALID_DEVICE;
  *context = &cuda_contexts[device - null_first];
  cuda_contexts[device - null_first]++;
  return 0;
}

int null_PrimaryCtxRelease(int device) {
  NULL_CALL(PrimaryCtxRelease, false);
  if (!cuda_is_device(device) || !cuda_contexts[device - null_first]) return DRIVER_INVALID_DEVICE;
  cuda_contexts[device - null_first]--;
  return 0;
}

int null_CtxPushCurrent(void *context) {
  NULL_CALL(CtxPushCurrent, false);
  if (context_device(context) < 0 || context_depth == CONTEXT_STACK) return DRIVER_INVALID_CONTEXT;
  context_stack[context_depth++] = context;
  return 0;
}

/* Cannot be made to fail: nobody could do anything about it. */
int null_CtxPopCurrent(void **context) {
  if (!context_depth) return DRIVER_INVALID_CONTEXT;
  *context = context_stack[--context_depth];
  return 0;
}

int null_MemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                         size_t size, void *stream) {
  NULL_CALL(MemcpyPeerAsync, true);
  return null_order_peer(stream, to, context_device(to_context), from, context_device(from_context),
                         size);
}

/* ---- launches ---- */

/* A launch gives a kernel what its code needs, beyond 49,152 bytes only where that was allowed. */
static bool launch_fits(const void *function, unsigned shared) {
  const null_function *f = null_function_of(function);
  return f && shared == f->shared && (shared <= LOOM_PLAN_STATIC || shared <= f->allowed);
}

int null_FuncSetAttribute(void *function, int attribute, int value) {
  NULL_CALL(FuncSetAttribute, true);
  null_function *f = null_function_of(function) ? function : NULL;
  if (!f) return DRIVER_INVALID_HANDLE;
  if (attribute != CUDA_DYNAMIC_SHARED || value < 0 || value > (int)LOOM_PLAN_SHARED)
    return DRIVER_INVALID_VALUE;
  f->allowed = (uint32_t)value;
  return 0;
}

/* The simulator's map takes the place of the driver's. */
int null_TensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                              const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *steps, int interleave, int swizzle, int promotion,
                              int outside) {
  NULL_CALL(TensorMapEncodeTiled, false);
  static const int types[LOOM_MAP_KINDS] = {CUDA_MAP_UINT16, CUDA_MAP_TFLOAT32, CUDA_MAP_UINT8};
  loom_tensor_map given = {.kernel = 0};
  while (given.kind < LOOM_MAP_KINDS && types[given.kind] != type)
    given.kind++;
  if (given.kind == LOOM_MAP_KINDS || rank != 3 || interleave || swizzle != CUDA_MAP_SWIZZLE_128 ||
      promotion < 0 || promotion > 3 || outside || (uintptr_t)map % 64 || box[2] != 1)
    return DRIVER_INVALID_VALUE;
  for (int i = 0; i < 3; i++) {
    given.extents[i] = extents[i];
    if (i < 2) given.strides[i] = strides[i];
    if (i < 2) given.box[i] = box[i];
    if (steps[i] != 1) return DRIVER_INVALID_VALUE;
  }
  return loom_sim_map_make(map, &given, (uintptr_t)address) ? 0 : DRIVER_INVALID_VALUE;
}

int null_LaunchKernelEx(const cuda_launch *launch, void *function, void **parameters,
                        void **extra) {
  NULL_CALL(LaunchKernelEx, true);
  if (!launch_fits(function, launch->shared) || launch->attribute_count || extra)
    return DRIVER_INVALID_VALUE;
  return null_launch(launch->stream, function, launch->grid, launch->block, parameters);
}

static int graph_read(const cuda_kernel_node *node, null_work *out) {
  if (!launch_fits(node->function, node->shared) || node->extra) return DRIVER_INVALID_VALUE;
  return null_read_launch(node->function, node->grid, node->block, node->arguments, out);
}

/* A line of bytes in device memory, to such a line. */
static int graph_read_copy(const cuda_copy *copy, void *context, null_work *out) {
  const cuda_copy_side *sides[] = {&copy->from, &copy->to};
  *out = (null_work){.to = copy->to.device, .from = copy->from.device, .size = copy->width};
  for (int i = 0; i < 2; i++) {
    const cuda_copy_side *s = sides[i];
    if (s->type != CUDA_MEMORY_DEVICE || s->x || s->y || s->z || s->level || s->host || s->array)
      return DRIVER_INVALID_VALUE;
  }
  if (context_device(context) < 0) return DRIVER_INVALID_CONTEXT;
  return !copy->width || copy->height != 1 || copy->depth != 1 ? DRIVER_INVALID_VALUE : 0;
}

int null_GraphAddKernelNode(void **node, void *graph, void *const *before, size_t count,
                            const cuda_kernel_node *kernel) {
  NULL_CALL(GraphAddKernelNode, true);
  null_work work;
  int status = graph_read(kernel, &work);
  return status ? status : null_graph_add(node, graph, before, count, &work);
}

int null_GraphAddMemcpyNode(void **node, void *graph, void *const *before, size_t count,
                            const cuda_copy *copy, void *context) {
  NULL_CALL(GraphAddMemcpyNode, true);
  null_work work;
  int status = graph_read_copy(copy, context, &work);
  return status ? status : null_graph_add(node, graph, before, count, &work);
}

int null_GraphSetKernelNode(void *exec, void *node, const cuda_kernel_node *kernel) {
  NULL_CALL(GraphSetKernelNode, true);
  null_work work;
  int status = graph_read(kernel, &work);
  return status ? status : null_graph_set(exec, node, &work);
}

int null_GraphSetMemcpyNode(void *exec, void *node, const cuda_copy *copy, void *context) {
  NULL_CALL(GraphSetMemcpyNode, true);
  null_work work;
  int status = graph_read_copy(copy, context, &work);
  return status ? status : null_graph_set(exec, node, &work);
}

/* What programs call that are linked with the driver. */
NULL_EXPORT int null_launch_plain(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z,
                                  unsigned shared, void *stream, void **parameters,
                                  void **extra) __asm__("cuLaunchKernel");
int null_launch_plain(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      void *stream, void **parameters, void **extra) {
  const cuda_launch launch = {.grid = {grid_x, grid_y, grid_z},
                              .block = {block_x, block_y, block_z},
                              .shared = shared,
                              .stream = stream};
  return null_LaunchKernelEx(&launch, function, parameters, extra);
}

/* ---- cubins of ptxas ---- */

static bool elf_is(const void *image) { return memcmp(image, ELFMAG, SELFMAG) == 0; }

static const Elf64_Shdr *elf_sections(const void *image) {
  return (const void *)((const uint8_t *)image + ((const Elf64_Ehdr *)image)->e_shoff);
}

/* Where it ends: no table tells. */
static size_t elf_size(const void *image) {
  const Elf64_Ehdr *head = image;
  const Elf64_Shdr *sections = elf_sections(image);
  size_t end = head->e_shoff + head->e_shnum * sizeof *sections;
  size_t segments = head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr);
  if (segments > end) end = segments;
  for (int i = 0; i < head->e_shnum; i++)
    if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_offset + sections[i].sh_size > end)
      end = sections[i].sh_offset + sections[i].sh_size;
  return end;
}

/* A device runs code for its own generation, as old as itself or older. */
static bool elf_fits(const void *image) {
  const Elf64_Ehdr *head = image;
  uint32_t flags = head->e_flags;
  int architecture = head->e_ident[EI_ABIVERSION] >= 8 ? flags >> 8 & 0xff : flags & 0xff;
  return head->e_machine == 190 && architecture / 10 == null_architecture / 10 &&
         architecture <= null_architecture;
}

static bool elf_has(const void *image, const char *name) {
  const Elf64_Ehdr *head = image;
  const Elf64_Shdr *sections = elf_sections(image);
  const char *names = (const char *)image + sections[head->e_shstrndx].sh_offset;
  for (int i = 0; i < head->e_shnum; i++)
    if (strncmp(names + sections[i].sh_name, ".text.", 6) == 0 &&
        strcmp(names + sections[i].sh_name + 6, name) == 0)
      return true;
  return false;
}

/* ---- machine code ---- */

static const char *ptx_version(const char *text) { return strstr(text, ".version "); }

/* As the driver does: for this architecture or an older one. */
static bool ptx_fits(const char *text) {
  const char *target = strstr(text, ".target sm_");
  return ptx_version(text) && target && atoi(target + strlen(".target sm_")) <= null_architecture;
}

/* The bytes of the next parameter, which is moved on; 0: there is none. */
static int ptx_parameter(const char **at, const char *end) {
  const char *found = strstr(*at, ".param ");
  if (!found || found >= end) return 0;
  *at = found + strlen(".param ");
  const char *stop = strpbrk(*at, ",)"), *array = strchr(*at, '[');
  return array && array < stop ? atoi(array + 1) : 8;
}

/* Is there a kernel with these two lists and three words, and maps where it has any? */
static bool ptx_has(const char *text, const null_function *f) {
  char entry[160];
  snprintf(entry, sizeof entry, ".entry %s(", f->name);
  const char *at = strstr(text, entry), *end = at ? strchr(at + strlen(entry), ')') : NULL;
  if (!end) return false;
  const int expected[] = {
      8 * (int)f->buffers, 8 * (int)f->params, 8, 8, 8, (int)(f->maps * LOOM_MAP_BYTES), 0};
  for (int i = 0; i < 7; i++)
    if (ptx_parameter(&at, end) != expected[i]) return false;
  return true;
}

bool null_image_check(const void *image, const char **text) {
  null_cubin head;
  *text = image;
  if (elf_is(image)) {
    *text += elf_size(image);
    return elf_fits(image);
  }
  if (strncmp(image, CUBIN_MAGIC, sizeof CUBIN_MAGIC) != 0) return ptx_fits(image);
  memcpy(&head, image, sizeof head);
  *text += sizeof head;
  return head.architecture == (uint64_t)null_architecture;
}

size_t null_image_size(const void *image) {
  null_cubin head;
  if (elf_is(image)) return elf_size(image);
  if (strncmp(image, CUBIN_MAGIC, sizeof CUBIN_MAGIC) != 0) return strlen(image) + 1;
  memcpy(&head, image, sizeof head);
  return sizeof head + head.size;
}

bool null_image_has(const void *image, const null_function *function) {
  if (elf_is(image)) return elf_has(image, function->name);
  bool made = strncmp(image, CUBIN_MAGIC, sizeof CUBIN_MAGIC) == 0;
  return ptx_has((const char *)image + (made ? sizeof(null_cubin) : 0), function);
}

int null_LinkCreate(unsigned count, int *options, void **values, void **link) {
  NULL_CALL(LinkCreate, true);
  null_link *made = calloc(1, sizeof *made);
  if (!made || !null_add(NULL_LINK, made)) return free(made), DRIVER_OUT_OF_MEMORY;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == CUDA_JIT_ERROR_LOG) made->log = values[i];
    if (options[i] == CUDA_JIT_ERROR_LOG_SIZE) made->log_size = (size_t)(uintptr_t)values[i];
  }
  *link = made;
  return 0;
}

static int link_refuse(const null_link *link, const char *why) {
  if (link->log && link->log_size) snprintf(link->log, link->log_size, "ptxas error: %s", why);
  return DRIVER_INVALID_PTX;
}

/* As the driver does: text with a NUL at its end, for this architecture or an older one. */
static int link_check(const null_link *link, const char *ptx, size_t size) {
  if (!size || ptx[size - 1]) return link_refuse(link, "the text does not end");
  if (!ptx_version(ptx) || !strstr(ptx, ".target sm_"))
    return link_refuse(link, "Missing .version directive at start of file");
  if (!ptx_fits(ptx))
    return link_refuse(link, "SM version specified by .target is higher than the device's");
  return 0;
}

int null_LinkAddData(void *handle, int type, void *data, size_t size, const char *name,
                     unsigned count, int *options, void **values) {
  NULL_CALL(LinkAddData, true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return DRIVER_INVALID_HANDLE;
  if (type != CUDA_INPUT_PTX || link->cubin) return DRIVER_INVALID_VALUE;
  int status = link_check(link, data, size);
  if (status) return status;
  null_cubin head = {CUBIN_MAGIC, (uint64_t)null_architecture, size};
  link->size = sizeof head + size;
  link->cubin = malloc(link->size);
  if (!link->cubin) return DRIVER_OUT_OF_MEMORY;
  memcpy(link->cubin, &head, sizeof head);
  memcpy(link->cubin + sizeof head, data, size);
  return 0;
}

int null_LinkComplete(void *handle, void **cubin, size_t *size) {
  NULL_CALL(LinkComplete, true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return DRIVER_INVALID_HANDLE;
  if (!link->cubin) return DRIVER_INVALID_VALUE;
  *cubin = link->cubin;
  *size = link->size;
  return 0;
}

/* The cubin is the linker's: it ends with it. */
int null_LinkDestroy(void *handle) {
  NULL_CALL(LinkDestroy, true);
  null_link *link = handle;
  if (!null_has(NULL_LINK, link)) return DRIVER_INVALID_HANDLE;
  null_remove(NULL_LINK, link);
  if (link->cubin) memset(link->cubin, 0, link->size);
  free(link->cubin);
  free(link);
  return 0;
}
