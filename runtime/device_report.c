/* What kernels report after their call has returned: an index out of bounds. A call that does not
 * wait for its end copies the words of its kernels, on its stream, to memory that the device can
 * write in its own time, and goes. The words hold no status before the copy has come. They are
 * looked at whenever the host has waited for the device anyway, or makes the next call.
 *
 * Where a stream is captured, each replay of that graph writes the words again: they stay its own.
 */
#include "runtime/device_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

#define REPORT_SLOTS 64
#define REPORT_NOTHING UINT32_MAX /* the copy has not come; no status has all bits */

typedef struct report {
  bool taken, captured;
  uint64_t number;     /* in the order of calls */
  loom_device *device; /* with its stream */
  uint32_t count;
  char title[64];
  char kernels[DEVICE_WORDS_OF_STATUS][64];
} report;

struct device_reports {
  _Atomic uint32_t *words; /* the driver's, for each slot */
  uint64_t next;
  _Atomic uint32_t taken;
  report slots[REPORT_SLOTS];
};

static _Atomic uint32_t *report_words(const device_reports *all, uint32_t slot) {
  return all->words + (size_t)slot * DEVICE_WORDS_OF_STATUS;
}

/* The lock is held. Never given back: copies under way may still write there. */
static device_reports *report_open(loom_device *root, loom_error *err) {
  const driver *d = root->driver;
  void *words = NULL;
  size_t size = REPORT_SLOTS * DEVICE_WORDS_OF_STATUS * sizeof(uint32_t);
  if (root->reports) return root->reports;
  device_reports *made = calloc(1, sizeof *made);
  if (!made) return loom_fail(err, "out of memory"), NULL;
  if (!driver_check(d, d->MemAllocHost(&words, size, DRIVER_HOST_PORTABLE), err,
                    "memory for the errors of kernels on %s cannot be allocated", root->name)) {
    free(made);
    return NULL;
  }
  made->words = words;
  return root->reports = made;
}

bool device_report_ready(loom_device *device, loom_error *err) {
  loom_device *root = device->root;
  pthread_mutex_lock(&root->lock);
  bool good = report_open(root, err) != NULL;
  pthread_mutex_unlock(&root->lock);
  return good;
}

static bool report_has_come(const device_reports *all, uint32_t slot) {
  for (uint32_t i = 0; i < all->slots[slot].count; i++)
    if (atomic_load(&report_words(all, slot)[i]) == REPORT_NOTHING) return false;
  return true;
}

/* The first kernel that has reported an index: told, and gone. */
static bool report_tell(device_reports *all, uint32_t slot, loom_error *err) {
  report *r = &all->slots[slot];
  for (uint32_t i = 0; i < r->count; i++) {
    uint32_t status = atomic_load(&report_words(all, slot)[i]);
    if (!(status & PLAN_STOPS)) continue;
    loom_fail(err,
              "an index was out of bounds in %s of %s, in a call before this one: its results are "
              "not valid",
              r->kernels[i], r->title[0] ? r->title : "a function");
    return true;
  }
  return false;
}

static void report_clear(device_reports *all, uint32_t slot) {
  for (uint32_t i = 0; i < DEVICE_WORDS_OF_STATUS; i++)
    atomic_store(&report_words(all, slot)[i], REPORT_NOTHING);
  if (all->slots[slot].captured) return; /* replays may still report */
  all->slots[slot].taken = false;
  all->taken--;
}

/* The oldest call of which something is known; REPORT_SLOTS: there is none. */
static uint32_t report_oldest(device_reports *all) {
  loom_error ignored;
  uint32_t oldest = REPORT_SLOTS;
  for (uint32_t i = 0; i < REPORT_SLOTS; i++) {
    const report *r = &all->slots[i];
    if (!r->taken || !report_has_come(all, i)) continue;
    if (r->captured && !report_tell(all, i, &ignored)) continue;
    if (oldest == REPORT_SLOTS || r->number < all->slots[oldest].number) oldest = i;
  }
  return oldest;
}

/* True: *err tells of one. The lock is held. */
static bool report_look(device_reports *all, loom_error *err) {
  bool told = false;
  for (uint32_t slot = report_oldest(all); !told && slot < REPORT_SLOTS;
       slot = told ? slot : report_oldest(all)) {
    told = report_tell(all, slot, err);
    report_clear(all, slot);
  }
  return told;
}

bool loom_device_reported(loom_device *device, loom_error *err) {
  loom_device *root = device->root;
  pthread_mutex_lock(&root->lock);
  bool told = root->reports && root->reports->taken && report_look(root->reports, err);
  pthread_mutex_unlock(&root->lock);
  return told;
}

/* Waits for the calls whose words have not come. */
static void report_wait(loom_device *root) {
  for (uint32_t i = 0; root->reports && i < REPORT_SLOTS; i++) {
    pthread_mutex_lock(&root->lock);
    const report *r = &root->reports->slots[i];
    loom_device *device =
        r->taken && !r->captured && !report_has_come(root->reports, i) ? r->device : NULL;
    pthread_mutex_unlock(&root->lock);
    if (device) root->driver->StreamSynchronize(device->stream);
  }
}

bool loom_device_reported_late(loom_device *device, loom_error *err) {
  loom_error ignored;
  if (device_enter(device, &ignored)) {
    report_wait(device->root);
    device_leave(device);
  }
  return loom_device_reported(device, err);
}

/* A free slot; -1: there is none. The lock is held. */
static int report_take(device_reports *all) {
  for (int i = 0; i < REPORT_SLOTS; i++)
    if (!all->slots[i].taken) return i;
  return -1;
}

static void report_name(const device_run *r, report *out) {
  snprintf(out->title, sizeof out->title, "%s", r->call->title ? r->call->title : "");
  out->count = r->p->report_count;
  for (uint32_t i = 0; i < out->count; i++)
    snprintf(out->kernels[i], sizeof out->kernels[i], "%s", r->p->reports[i]);
}

static void report_give_back(loom_device *root, int slot) {
  pthread_mutex_lock(&root->lock);
  root->reports->slots[slot].taken = false;
  root->reports->taken--;
  pthread_mutex_unlock(&root->lock);
}

bool device_report_order(const device_run *r, bool *ordered, loom_error *err) {
  loom_device *root = r->device->root;
  const driver *d = root->driver;
  device_reports *all = root->reports;
  pthread_mutex_lock(&root->lock);
  int slot = report_take(all);
  *ordered = slot >= 0;
  if (slot >= 0) {
    report *made = &all->slots[slot];
    *made = (report){
        .taken = true, .captured = r->captured, .number = all->next++, .device = r->device};
    report_name(r, made);
    for (uint32_t i = 0; i < made->count; i++)
      atomic_store(&report_words(all, (uint32_t)slot)[i], REPORT_NOTHING);
    all->taken++;
  }
  pthread_mutex_unlock(&root->lock);
  if (slot < 0) return true;
  void *words = (void *)report_words(all, (uint32_t)slot);
  size_t size = r->p->report_count * sizeof(uint32_t);
  if (driver_check(d, d->MemcpyDtoHAsync(words, r->status, size, r->device->stream), err,
                   "the status of a run on %s cannot be copied", r->device->name))
    return true;
  report_give_back(root, slot);
  return false;
}
