/* What a version does not keep alive.
 *
 * While a capture is made, it owns all objects that it has looked at. A version that is kept must
 * not: a class, function, code object or module that it guards would live as long as the version
 * does, together with all that these hold. So, once the capture is done, each object that can be
 * referred to weakly gets one weak reference with a callback, and all other references of the
 * capture to it become borrowed. These are valid as long as the version is, since the callback runs
 * before the object is destroyed, and from then on the version fits no call (its code is gone:
 * call_find()). So an address can never come to mean another object.
 *
 * Dictionaries have no weak references. That of a module or of a function's globals cannot be
 * exchanged: it lives as long as one of these does. Neither have properties, static and class
 * methods, members of slots and method resolution orders, which hold the class or its functions: a
 * guard compares the parts of such an object instead of the object itself.
 *
 * A version that is dead is taken out of its callable's list at the next chance of the interpreter,
 * not within the callback: somebody may be walking that list. A run that gives up the GIL holds
 * what it will read afterwards. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

#include <structmember.h>

/* ---- which objects -------------------------------------------------------------------------- */

/* What functools.lru_cache makes of a function: the one type of the library's whose objects hold
 * functions and are called by name. (Of most others capture makes objects itself, which nobody else
 * keeps.) */
static bool lifetime_is_cached_function(PyTypeObject *type) {
  return strcmp(type->tp_name, "functools._lru_cache_wrapper") == 0;
}

static bool lifetime_is_mortal(PyObject *o) {
  if (PyType_Check(o)) return !python_type_is_builtin((PyTypeObject *)o);
  if (PyFunction_Check(o) || PyCode_Check(o) || PyModule_Check(o)) return true;
  PyTypeObject *type = Py_TYPE(o);
  return (!python_type_is_builtin(type) || loom_callable_unwrap(o) ||
          lifetime_is_cached_function(type)) &&
         PyType_SUPPORTS_WEAKREFS(type);
}

/* Objects, each as often as it is owned. */
typedef struct lifetime_set {
  PyObject **items;
  uint32_t count, capacity;
  bool failed;
} lifetime_set;

static int lifetime_add(PyObject *o, void *context) {
  lifetime_set *s = context;
  if (!loom_grow(&s->items, (size_t)s->count, &s->capacity, sizeof *s->items))
    return s->failed = true, -1;
  s->items[s->count++] = o;
  return 0;
}

/* Does anybody but the capture have the object? What capture has made is its own. */
static bool lifetime_is_shared(const lifetime_set *all, PyObject *o) {
  Py_ssize_t own = 0;
  for (uint32_t i = 0; i < all->count; i++)
    own += all->items[i] == o;
  return Py_REFCNT(o) > own;
}

static bool lifetime_globals_of(PyObject *const *items, uint32_t count, PyObject *dict) {
  for (uint32_t i = 0; i < count; i++)
    if ((PyFunction_Check(items[i]) && PyFunction_GET_GLOBALS(items[i]) == dict) ||
        (PyModule_Check(items[i]) && PyModule_GetDict(items[i]) == dict))
      return true;
  return false;
}

static void lifetime_sort(lifetime_set *s) {
  uint32_t kept = 0;
  if (s->count) qsort(s->items, s->count, sizeof *s->items, object_order);
  for (uint32_t i = 0; i < s->count; i++)
    if (!kept || s->items[kept - 1] != s->items[i]) s->items[kept++] = s->items[i];
  s->count = kept;
}

/* Of a class's attributes and of its resolution order. */
static bool lifetime_guard_is_of_class(const guard *g) {
  const source *s = g->source;
  return g->kind == GUARD_IDENTITY && s && (s->kind == SOURCE_ATTR || s->kind == SOURCE_DERIVED) &&
         s->base && s->base->kind == SOURCE_CONST && PyType_Check(s->base->object);
}

/* Turns a guard of an object into a guard of its parts, where each part is immortal or can be
 * referred to weakly. */
static void lifetime_divide(guard *g, lifetime_set *weak, lifetime_set *all) {
  PyObject *parts[GUARD_PARTS];
  int count = lifetime_guard_is_of_class(g) ? object_parts(g->object, parts) : -1;
  bool member = count >= 0 && Py_IS_TYPE(g->object, &PyMemberDescr_Type);
  for (int i = 0; i < count; i++) {
    bool immortal = !parts[i] || parts[i] == Py_None || (member && i) ||
                    (PyType_Check(parts[i]) && python_type_is_builtin((PyTypeObject *)parts[i]));
    if (!immortal && !lifetime_is_mortal(parts[i])) return;
  }
  guard_parts *p = count >= 0 ? calloc(1, sizeof *p) : NULL;
  if (!p) return;
  *p = (guard_parts){.type = Py_TYPE(g->object), .count = count};
  for (int i = 0; i < count; i++) {
    p->parts[i] = parts[i];
    if (parts[i] && !(member && i) && lifetime_is_mortal(parts[i])) lifetime_add(parts[i], weak);
  }
  for (uint32_t i = 0; i < all->count; i++)
    if (all->items[i] == g->object) {
      all->items[i] = all->items[--all->count];
      break;
    }
  g->kind = GUARD_IN_PARTS;
  g->payload = p;
  g->payload_size = sizeof *p;
  Py_CLEAR(g->object);
}

/* ---- their deaths --------------------------------------------------------------------------- */

/* Called when a guarded object dies. Python code may have obtained the weak reference and keep it
 * for longer than the version lives, in which case there is no version. */
static PyObject *lifetime_died(PyObject *watcher, PyObject *reference) {
  entry *e = PyCapsule_GetContext(watcher);
  if (!e) Py_RETURN_NONE;
  e->life.fits = NULL;
  if (e->home) loom_dispatch->died(e->home);
  Py_RETURN_NONE;
}

bool entry_hold(const entry *e) {
  const capture *c = e->captured;
  for (uint32_t i = 0; e->life.fits && i < c->weak_count; i++)
    Py_INCREF(c->weak[i]);
  return e->life.fits != NULL;
}

void entry_release(const entry *e) {
  for (uint32_t i = 0; i < e->captured->weak_count; i++)
    Py_DECREF(e->captured->weak[i]);
}

/* ---- making a version let go ---------------------------------------------------------------- */

static PyMethodDef lifetime_method = {"died", lifetime_died, METH_O, NULL};

void entry_life_init(entry_life *life, PyObject *code) {
  life->code = life->fits = Py_NewRef(code);
}

void entry_life_fini(entry_life *life) {
  if (life->watcher) PyCapsule_SetContext(life->watcher, NULL);
  for (uint32_t i = 0; i < life->watch_count; i++)
    Py_DECREF(life->watches[i]);
  free(life->watches);
  Py_XDECREF(life->watcher);
  free(life->pins);
  Py_XDECREF(life->code);
}

/* A weak reference to each: false when one cannot be made. The version is the watcher's context. */
static bool lifetime_watch(entry *e, PyObject *const *items, uint32_t count) {
  loom_version_died = lifetime_died;
  e->life.watcher = PyCapsule_New(&lifetime_method, NULL, NULL);
  bool told = e->life.watcher && PyCapsule_SetContext(e->life.watcher, e) == 0;
  PyObject *callback = told ? PyCFunction_New(&lifetime_method, e->life.watcher) : NULL;
  e->life.watches = callback ? calloc((size_t)count + 1, sizeof *e->life.watches) : NULL;
  for (uint32_t i = 0; e->life.watches && i < count; i++) {
    if (PyDict_CheckExact(items[i])) continue;
    PyObject *watch = PyWeakref_NewRef(items[i], callback);
    if (!watch) break;
    e->life.watches[e->life.watch_count++] = watch;
  }
  bool good = e->life.watches && !PyErr_Occurred();
  Py_XDECREF(callback);
  error_drop();
  return good;
}

static int lifetime_let_go(PyObject *o, void *context) {
  if (capture_borrows(context, o)) Py_DECREF(o);
  return 0;
}

/* Two rounds: dividing guards makes further objects known. Objects of nobody else stay owned. */
static bool lifetime_choose(capture *c, guard_program *p, lifetime_set *weak) {
  lifetime_set all = {.items = NULL};
  capture_each(c, lifetime_add, &all);
  guard_program_traverse(p, lifetime_add, &all);
  for (uint32_t i = 0; i < c->guard_count && !weak->failed; i++)
    if (c->guards[i].kind == GUARD_IDENTITY) lifetime_divide(&c->guards[i], weak, &all);
  for (uint32_t i = 0; i < all.count; i++)
    if (lifetime_is_mortal(all.items[i])) lifetime_add(all.items[i], weak);
  lifetime_sort(weak);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < weak->count; i++)
    if (lifetime_is_shared(&all, weak->items[i])) weak->items[kept++] = weak->items[i];
  weak->count = kept;
  for (uint32_t i = 0; i < all.count; i++)
    if (PyDict_CheckExact(all.items[i]) && lifetime_globals_of(weak->items, kept, all.items[i]))
      lifetime_add(all.items[i], weak);
  lifetime_sort(weak);
  free(all.items);
  return !all.failed && !weak->failed;
}

bool entry_let_go(entry *e) {
  capture *c = e->captured;
  lifetime_set weak = {.items = NULL};
  bool good = lifetime_choose(c, e->guards, &weak);
  if (!good || !weak.count || !lifetime_watch(e, weak.items, weak.count)) {
    good &= !weak.count;
    free(weak.items);
    return good;
  }
  for (uint32_t i = 0; i < weak.count; i++)
    Py_INCREF(weak.items[i]);
  c->weak = weak.items;
  c->weak_count = weak.count;
  capture_each(c, lifetime_let_go, c);
  guard_program_let_go(e->guards, c);
  e->life.pins = e->simple.is ? NULL : calloc(weak.count, sizeof *e->life.pins);
  for (uint32_t i = 0; e->life.pins && i < weak.count; i++)
    if (capture_reads(c, weak.items[i])) e->life.pins[e->life.pin_count++] = weak.items[i];
  for (uint32_t i = 0; i < weak.count; i++)
    Py_DECREF(weak.items[i]);
  return e->simple.is || e->life.pins;
}
