/* Drops versions of a callable that guard an object which has died (lifetime.c). That is done at
 * the next chance of the interpreter, not within the callback of a weak reference: then somebody
 * may be walking the callable's list. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/run/run.h"

void callable_bury(callable *c) {
  entry_list *old = c->entries;
  uint32_t dead = 0, kept = 0, count = old ? old->count : 0;
  for (uint32_t i = 0; i < count; i++)
    dead += !old->items[i]->life.fits;
  entry_list *list =
      dead && dead < count ? malloc(sizeof *list + (size_t)(count - dead) * sizeof(entry *)) : NULL;
  if (!dead || (dead < count && !list)) return;
  for (uint32_t i = 0; i < count; i++) {
    entry *e = old->items[i];
    if (!e->life.fits) {
      e->home = NULL; /* a run may hold it longer than there is a callable */
      c->builds.splits -= c->builds.splits && i >= count - c->builds.splits;
      c->builds.wasted += e->counts.hits < BURY_HITS;
      continue;
    }
    e->refs++;
    list->items[kept++] = e;
  }
  loom_log(LOOM_LOG_RECOMPILES, "%U: %u version%s dropped: what they guard is gone",
           c->function->func_qualname, dead, dead == 1 ? "" : "s");
  if (list) {
    list->refs = 1;
    list->count = kept;
  }
  c->entries = list;
  entries_unref(old);
}

static int bury_pending(void *home) {
  callable_bury(home);
  ((callable *)home)->builds.burying = false;
  Py_DECREF((PyObject *)home);
  return 0;
}

void callable_bury_soon(callable *home) {
  if (home->builds.burying) return;
  home->builds.burying = Py_AddPendingCall(bury_pending, Py_NewRef((PyObject *)home)) == 0;
  if (!home->builds.burying) Py_DECREF(home); /* at its next miss */
}
