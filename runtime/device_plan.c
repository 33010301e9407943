/* A plan's kernels on a device. A code object is loaded as it is. The driver turns PTX into machine
 * code, which takes milliseconds a kernel, so that the disk cache keeps it: under the PTX, the
 * architecture and the driver's version, and with the checks of every entry of that cache. */
#include "runtime/device_internal.h"

#include <stdio.h>
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
  head.target = device->driver->kind->target;
  head.driver = (uint32_t)device->driver->version;
  out->size = sizeof head + ptx->size;
  out->data = malloc(out->size);
  if (!out->data) return false;
  memcpy(out->data, &head, sizeof head);
  memcpy(out->data + sizeof head, ptx->data, ptx->size);
  return true;
}

static bool module_load(loom_device_plan *p, const loom_bytes *code, loom_error *err) {
  const driver *d = p->device->driver;
  return driver_check(d, d->ModuleLoadData(&p->module, code->data), err,
                      "kernels cannot be loaded on %s", p->device->name);
}

/* Machine code of PTX, from the cache, where an entry may be damaged or not fit: then it is made
 * anew. */
static bool module_make(loom_device_plan *p, const loom_bytes *ptx, loom_error *err) {
  bool (*link)(const loom_device *, const loom_bytes *, loom_bytes *, loom_error *) =
      p->device->driver->kind->link;
  loom_bytes key, code;
  loom_error ignored;
  if (!module_key_make(p->device, ptx, &key)) return loom_fail(err, "out of memory");
  bool good = loom_cache_read(key.data, key.size, &code);
  if (good) {
    good = module_load(p, &code, &ignored);
    free(code.data);
  }
  if (!good && link(p->device, ptx, &code, err)) {
    good = module_load(p, &code, err);
    if (good) loom_cache_write(key.data, key.size, code.data, code.size);
    free(code.data);
  }
  free(key.data);
  return good;
}

/* The plan keeps its image, which some drivers read as long as the module is loaded. */
static bool module_find(loom_device_plan *p, const loom_bytes *image, loom_error *err) {
  return p->device->driver->kind->link ? module_make(p, image, err) : module_load(p, image, err);
}

/* ---- kernels ---- */

/* The plan and its regions. */
static uint32_t plan_parts(const loom_plan *plan) {
  return plan->region_count > 1 ? plan->region_count : 1;
}

/* A word of the status for a kernel that reports errors. */
static void plan_report(loom_device_plan *p, const loom_plan *plan, const loom_plan_kernel *row,
                        device_kernel *kernel) {
  const uint32_t last = DEVICE_WORDS_OF_STATUS - 1;
  const char *name = plan->names + row->name,
             *op = row->op ? plan->names + row->op - 1 : "a kernel";
  p->silent = false;
  kernel->report = p->report_count < last ? p->report_count : last;
  snprintf(p->reports[kernel->report], sizeof *p->reports, "%s (%s%s)", op, name,
           p->report_count > last ? " or one before it" : "");
  p->report_count = kernel->report + 1;
}

/* What a launch needs beside its arguments. */
static bool plan_allow(const loom_device_plan *p, const device_kernel *kernel, const char *name,
                       loom_error *err) {
  const driver *d = p->device->driver;
  if (kernel->map_count && !d->kind->map)
    return loom_fail(err, "there are no tensor maps on %s", p->device->name);
  return !kernel->shared || driver_check(d, d->kind->allow(kernel->function, kernel->shared), err,
                                         "kernel %s cannot have %u bytes of shared memory on %s",
                                         name, kernel->shared, p->device->name);
}

/* The maps of row number `row`. */
static void plan_maps(const loom_plan *plan, uint32_t row, device_kernel *kernel) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  const loom_tensor_map *maps = (const void *)(plan->bytes + h->maps.offset);
  uint32_t first = 0;
  while (first < h->maps.count && maps[first].kernel < row)
    first++;
  kernel->maps = maps + first;
  while (first + kernel->map_count < h->maps.count && kernel->maps[kernel->map_count].kernel == row)
    kernel->map_count++;
}

static bool plan_kernel(loom_device_plan *p, const loom_plan *plan, const loom_plan_kernel *row,
                        device_kernel *kernel, loom_error *err) {
  const driver *d = p->device->driver;
  const char *name = plan->names + row->name;
  kernel->buffers = row->entry & 0xffff;
  kernel->params = row->entry >> 16;
  kernel->threads = row->threads;
  kernel->blocks = row->flags & LOOM_PLAN_KERNEL_BLOCKS;
  kernel->silent = row->flags & LOOM_PLAN_KERNEL_SILENT;
  if (!kernel->silent) plan_report(p, plan, row, kernel);
  kernel->shared = row->shared;
  return driver_check(d, d->ModuleGetFunction(&kernel->function, p->module, name), err,
                      "there is no kernel %s on %s", name, p->device->name) &&
         plan_allow(p, kernel, name, err);
}

/* Regions have their kernels in the plan's module. */
static bool plan_kernels(loom_device_plan *p, loom_error *err) {
  for (uint32_t n = 0; n < plan_parts(p->plan); n++) {
    const loom_plan *plan = n ? p->plan->regions[n] : p->plan;
    const loom_plan_header *h = loom_plan_header_of(plan);
    const loom_plan_kernel *rows = (const void *)(plan->bytes + h->kernels.offset);
    p->kernels[n] = calloc(h->kernels.count + 1u, sizeof *p->kernels[n]);
    if (!p->kernels[n]) return loom_fail(err, "out of memory");
    for (uint32_t i = 0; i < h->kernels.count; i++)
      plan_maps(plan, i, &p->kernels[n][i]);
    for (uint32_t i = 0; i < h->kernels.count; i++)
      if (!plan_kernel(p, plan, &rows[i], &p->kernels[n][i], err)) return false;
  }
  return true;
}

/* Does the host read what the device computes? */
static bool plan_asks(const loom_plan *plan) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  for (uint32_t i = 0; i < h->instrs.count; i++) {
    const loom_plan_instr *in = &plan->instrs[i];
    if (in->opcode == LOOM_PLAN_WHILE || in->opcode == LOOM_PLAN_BRANCH ||
        (in->opcode == LOOM_PLAN_FOR && !in->op))
      return true;
  }
  return false;
}

bool loom_device_plan_load(loom_device *device, loom_plan *plan, loom_device_plan **out,
                           loom_error *err) {
  const loom_plan_header *h = loom_plan_header_of(plan);
  *out = NULL;
  if (h->target != device->driver->kind->target)
    return loom_fail(err, "a plan for %s cannot run on %s",
                     h->target == LOOM_PLAN_X86 ? "this machine's CPU" : "GPUs of another maker",
                     device->name);
  loom_device_plan *p = calloc(1, sizeof *p + plan_parts(plan) * sizeof *p->kernels);
  if (!p) return loom_fail(err, "out of memory");
  p->device = device;
  p->plan = loom_plan_ref(plan);
  p->silent = true;
  for (uint32_t n = 0; n < plan_parts(plan); n++)
    p->asks |= plan_asks(n ? plan->regions[n] : plan);
  loom_bytes image = {plan->bytes + h->image.offset, h->image.count};
  bool good = device_graphs_new(p, err) && device_parts_new(p, err) && device_enter(device, err);
  if (good) {
    good = (!h->image.count || module_find(p, &image, err)) && plan_kernels(p, err) &&
           (p->silent || device_report_ready(device, err));
    if (!good && p->module) device->driver->ModuleUnload(p->module);
    if (!good) p->module = NULL;
    device_leave(device);
  }
  if (good) return *out = p, true;
  loom_device_plan_free(p);
  return false;
}

bool loom_device_plan_is_captured(const loom_device_plan *p) { return p->captured; }

/* Kernels that run still need their code, and so do those that a graph of others has. */
void loom_device_plan_free(loom_device_plan *p) {
  loom_error ignored;
  if (!p) return;
  if (p->captured) p->module = NULL;
  for (int i = 0; i < 2 && (p->module || p->graphs); i++) { /* as loom_device_free() */
    if (!device_enter(p->device, &ignored)) continue;
    device_finish(p->device);
    device_graphs_free(p);
    if (p->module && !p->device->driver->ModuleUnload(p->module)) p->module = NULL;
    device_leave(p->device);
  }
  for (uint32_t n = 0; n < plan_parts(p->plan); n++)
    free(p->kernels[n]);
  device_parts_free(p);
  loom_plan_unref(p->plan);
  free(p);
}
