/* What backward() of a torch.autograd.Function reads is read by capture when the function is
 * called, and by eager torch when the gradient is computed. So a run notes what stands in these
 * places at its end, and its backward looks whether that is still so (_tensor_watched.py). */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* Of _tensor_watched.py. */
static struct {
  PyObject *watched, *renew;
  PyObject *globals, *context; /* of _tensor_functions.py */
} watched_python;

bool tensor_watched_init(void) {
  static const tensor_name names[] = {{"Watched", &watched_python.watched},
                                      {"renew", &watched_python.renew}};
  static const tensor_name own[] = {{"__dict__", &watched_python.globals},
                                    {"Context", &watched_python.context}};
  return tensor_import("frameloom._tensor_watched", names, sizeof names / sizeof *names) &&
         tensor_import("frameloom._tensor_functions", own, sizeof own / sizeof *own);
}

/* The object that a place is a part of; NULL: what stands there stays. */
static const source *watched_holder(tracer *t, const source *s) {
  const PyObject *root = s->kind == SOURCE_GLOBAL                   ? s->object
                         : s->base && s->base->kind == SOURCE_CONST ? s->base->object
                                                                    : NULL;
  if (root && (root == watched_python.globals || root == watched_python.context)) return NULL;
  switch (s->kind) {
  case SOURCE_GLOBAL: return trace_source(t, SOURCE_CONST, NULL, s->object, NULL, 0);
  case SOURCE_CELL:
  case SOURCE_ATTR:
  case SOURCE_ITEM:
  case SOURCE_DEFAULT:
  case SOURCE_KWDEFAULT:
    return s->base->kind == SOURCE_CONST && class_is_made(t, s->base->object) ? NULL : s->base;
  default: return NULL;
  }
}

static bool watched_add(tracer *t, const source *s, PyObject *ways, recipe *holders) {
  const source *holder = watched_holder(t, s);
  if (!holder) return !trace_pending(t);
  recipe *of = trace_recipe(t, RECIPE_SOURCE);
  PyObject *way = Py_BuildValue("(inO)", (int)s->kind, s->index, s->key ? s->key : Py_None);
  bool good = of && way && PyList_Append(ways, way) == 0;
  Py_XDECREF(way);
  if (!good) return trace_fail(t) != NULL;
  of->source = holder;
  return tensor_recipe_append(holders, of);
}

/* Where the run changes objects, what it notes is what stands there behind that. */
static bool watched_renewed(tracer *t, recipe *watched) {
  recipe *made = tensor_recipe_items(t, RECIPE_TUPLE, 2);
  if (!tensor_recipe_append(made, trace_rebuild_const(t, Py_NewRef(watched_python.renew))) ||
      !tensor_recipe_append(made, trace_share(t, watched)))
    return false;
  trace_change(t, (change){.kind = CHANGE_CALL, .made = made, .key = PyTuple_New(0)});
  return !trace_pending(t);
}

recipe *tensor_watched(tracer *t, recipe *program) {
  uint32_t count = t->live.aside_count;
  if (!aside_stays(t)) return NULL;
  if (!count || !program) return program;
  PyObject *ways = PyList_New(0), *all = NULL;
  recipe *holders = tensor_recipe_items(t, RECIPE_TUPLE, count);
  bool good = ways && holders;
  for (uint32_t i = 0; good && i < count; i++)
    good = watched_add(t, t->live.aside_read[i], ways, holders);
  if (good) all = PyList_AsTuple(ways);
  Py_XDECREF(ways);
  recipe *r = all ? tensor_recipe_items(t, RECIPE_CALL, 4) : NULL;
  recipe *given = all ? trace_rebuild_const(t, all) : NULL;
  if (!r || !tensor_recipe_append(r, trace_rebuild_const(t, Py_NewRef(watched_python.watched))) ||
      !tensor_recipe_append(r, program) || !tensor_recipe_append(r, given) ||
      !tensor_recipe_append(r, holders))
    return NULL;
  bool changes = t->capture->change_count || t->capture->effect_count;
  if (!changes) return r;
  recipe *again = trace_share(t, r);
  return again && watched_renewed(t, r) ? again : NULL;
}
