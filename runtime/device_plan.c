/* A plan's kernels on a device. The driver turns PTX into machine code, which takes milliseconds a
 * kernel, so that the disk cache keeps it: under the PTX, the architecture and the driver's
 * version, and with the checks of every entry of that cache. */
#include "runtime/device_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

/* ---- machine code ---- */

/* In front of the PTX in a key. */
typedef struct module_key {
  char magic[16], architecture[16];
  uint32_t target, driver;
} module_key;

static bool module_key_make(const loom_device *device, const loom_bytes *ptx, loom_bytes *out) {
  module_key head;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, "frameloom cubin", 15);
  memcpy(head.architecture, device->architecture, sizeof head.architecture);
  head.target = LOOM_PLAN_NVPTX;
  head.driver = (uint32_t)device->driver->version;
  out->size = sizeof head + ptx->size;
  out->data = malloc(out->size);
  if (!out->data) return false;
  memcpy(out->data, &head, sizeof head);
  memcpy(out->data + sizeof head, ptx->data, ptx->size);
  return true;
}

static bool module_copy(const void *cubin, size_t size, loom_bytes *out, loom_error *err) {
  out->data = malloc(size ? size : 1);
  if (!out->data) return loom_fail(err, "out of memory");
  memcpy(out->data, cubin, size);
  out->size = size;
  return true;
}

/* PTX to a cubin. `out` is malloc'ed. */
static bool module_link(const loom_device *device, const loom_bytes *ptx, loom_bytes *out,
                        loom_error *err) {
  const cuda_driver *d = device->driver;
  char log[200] = "";
  int options[] = {CUDA_JIT_ERROR_LOG, CUDA_JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  void *link = NULL, *cubin = NULL;
  size_t size = 0;
  if (!cuda_check(d, d->LinkCreate(2, options, values, &link), err,
                  "the driver's linker cannot be started for %s", device->name))
    return false;
  int status =
      d->LinkAddData(link, CUDA_INPUT_PTX, ptx->data, ptx->size, "frameloom", 0, NULL, NULL);
  bool good = cuda_check(d, status, err, "the driver refuses a kernel's code for %s: %s",
                         device->architecture, log);
  good = good &&
         cuda_check(d, d->LinkComplete(link, &cubin, &size), err,
                    "the driver cannot make a kernel's code for %s: %s", device->architecture, log);
  good = good && module_copy(cubin, size, out, err);
  d->LinkDestroy(link);
  return good;
}

static bool module_load(loom_device_plan *p, const loom_bytes *cubin, loom_error *err) {
  const cuda_driver *d = p->device->driver;
  return cuda_check(d, d->ModuleLoadData(&p->module, cubin->data), err,
                    "kernels cannot be loaded on %s", p->device->name);
}

/* From the cache, where an entry may be damaged or not fit: then it is made anew. */
static bool module_find(loom_device_plan *p, const loom_bytes *ptx, loom_error *err) {
  loom_bytes key, cubin;
  loom_error ignored;
  if (!module_key_make(p->device, ptx, &key)) return loom_fail(err, "out of memory");
  bool good = loom_cache_read(key.data, key.size, &cubin);
  if (good) {
    good = module_load(p, &cubin, &ignored);
    free(cubin.data);
  }
  if (!good && module_link(p->device, ptx, &cubin, err)) {
    good = module_load(p, &cubin, err);
    if (good) loom_cache_write(key.data, key.size, cubin.data, cubin.size);
    free(cubin.data);
  }
  free(key.data);
  return good;
}

/* ---- kernels ---- */

static bool plan_kernels(loom_device_plan *p, loom_error *err) {
  const cuda_driver *d = p->device->driver;
  const loom_plan_header *h = loom_plan_header_of(p->plan);
  const loom_plan_kernel *rows = (const void *)(p->plan->bytes + h->kernels.offset);
  p->silent = true;
  for (uint32_t i = 0; i < h->kernels.count; i++) {
    const char *name = p->plan->names + rows[i].name;
    device_kernel *kernel = &p->kernels[i];
    kernel->threads = rows[i].threads;
    kernel->blocks = rows[i].flags & LOOM_PLAN_KERNEL_BLOCKS;
    kernel->silent = rows[i].flags & LOOM_PLAN_KERNEL_SILENT;
    p->silent &= kernel->silent;
    if (!cuda_check(d, d->ModuleGetFunction(&kernel->function, p->module, name), err,
                    "there is no kernel %s on %s", name, p->device->name))
      return false;
  }
  return true;
}

/* The lists of all launches lie one behind the other, then the status. */
static void plan_measure(loom_device_plan *p) {
  const loom_plan_header *h = loom_plan_header_of(p->plan);
  size_t words = 1;
  for (uint32_t i = 0; i < h->instrs.count; i++)
    if (p->plan->instrs[i].opcode == LOOM_PLAN_LAUNCH)
      words += p->plan->instrs[i].buffer_count + p->plan->instrs[i].param_count;
  p->tables = words * sizeof(uint64_t);
}

bool loom_device_plan_load(loom_device *device, loom_plan *plan, loom_device_plan **out,
                           loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  *out = NULL;
  if (h->target != LOOM_PLAN_NVPTX)
    return loom_fail(err, "a plan for this machine's CPU cannot run on %s", device->name);
  loom_device_plan *p = calloc(1, sizeof *p + h->kernels.count * sizeof *p->kernels);
  if (!p) return loom_fail(err, "out of memory");
  p->device = device;
  p->plan = loom_plan_ref(plan);
  plan_measure(p);
  loom_bytes ptx = {plan->bytes + h->image.offset, h->image.count};
  bool good = device_enter(device, err);
  if (good) {
    good = !h->kernels.count || (module_find(p, &ptx, err) && plan_kernels(p, err));
    if (!good && p->module) device->driver->ModuleUnload(p->module);
    if (!good) p->module = NULL;
    device_leave(device);
  }
  if (good) return *out = p, true;
  loom_device_plan_free(p);
  return false;
}

/* Kernels that run still need their code. */
void loom_device_plan_free(loom_device_plan *p) {
  loom_error ignored;
  if (!p) return;
  for (int i = 0; i < 2 && p->module; i++) { /* as loom_device_free() */
    if (!device_enter(p->device, &ignored)) continue;
    p->device->driver->StreamSynchronize(p->device->stream);
    if (!p->device->driver->ModuleUnload(p->module)) p->module = NULL;
    device_leave(p->device);
  }
  loom_plan_unref(p->plan);
  free(p);
}
