/* Which warnings NumPy would give for a run, and whether anybody would see them.
 *
 * After a run that raised floating-point flags the plain function runs, and NumPy warns from the
 * user's own line. Where Python would show none of these warnings, that second run would be
 * useless, and it is left out. It is not known which operation has raised a flag. So no warning may
 * be visible among those of all operations that may have raised one. A warning is not visible
 *
 * - when it has been shown: the registry of the function's module has its text and line, and the
 *   filters have not changed since;
 * - when the first filter that fits the warning drops it.
 *
 * The interpreter counts changes of the filters, and stores the count in the registry with which a
 * warning is given. To read the count, a warning is given with a registry of our own. This warning
 * is never shown: whatever a filter demands, its text has to be hashed first, and cannot be hashed.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"

#include <string.h>

static const struct {
  uint32_t flag;
  const char *text; /* as NumPy has it */
} warned_kinds[] = {{LOOM_FP_DIVIDE, "divide by zero"},
                    {LOOM_FP_OVERFLOW, "overflow"},
                    {LOOM_FP_UNDERFLOW, "underflow"},
                    {LOOM_FP_INVALID, "invalid value"}};

/* ---- filters ---- */

/* An attribute of the module `warnings`: a new reference; NULL without an exception. */
static PyObject *warned_setting(const char *name) {
  static PyObject *module;
  if (!module) module = PyImport_ImportModule("warnings");
  PyObject *setting = module ? PyObject_GetAttrString(module, name) : NULL;
  if (!setting) error_drop();
  return setting;
}

/* (action, message, category, module, line): the action when it is for RuntimeWarnings of some
 * kind, Py_None when it is for none; NULL: it is no filter. Borrowed. */
static PyObject *warned_action(PyObject *row) {
  if (!PyTuple_Check(row) || PyTuple_GET_SIZE(row) != 5) return NULL;
  PyObject *action = PyTuple_GET_ITEM(row, 0), *category = PyTuple_GET_ITEM(row, 2);
  if (!PyUnicode_Check(action) || !PyType_Check(category)) return NULL;
  bool ours = PyType_IsSubtype((PyTypeObject *)PyExc_RuntimeWarning, (PyTypeObject *)category);
  return ours ? action : Py_None;
}

static bool warned_is(PyObject *action, const char *name) {
  return PyUnicode_Check(action) && PyUnicode_CompareWithASCIIString(action, name) == 0;
}

/* Does this part of a filter fit the text (NULL: every text)? -1: that is not known. */
static int warned_fits(PyObject *pattern, PyObject *text) {
  if (pattern == Py_None) return 1;
  if (!text) return -1;
  if (PyUnicode_CheckExact(pattern)) return PyUnicode_Compare(pattern, text) == 0;
  if (strcmp(Py_TYPE(pattern)->tp_name, "re.Pattern") != 0) return -1;
  PyObject *found = PyObject_CallMethod(pattern, "match", "O", text);
  int fits = found ? found != Py_None : -1;
  if (!found) error_drop();
  Py_XDECREF(found);
  return fits;
}

/* Is the next filter to be looked at? `*dropped` tells whether this one drops the warning. */
static bool warned_passes(PyObject *row, PyObject *text, PyObject *module, int32_t line,
                          bool *dropped) {
  PyObject *action = warned_action(row);
  if (action == Py_None) return true;
  PyObject *lines = action ? PyTuple_GET_ITEM(row, 4) : NULL;
  if (!lines || !PyLong_CheckExact(lines)) return false;
  long only = PyLong_AsLong(lines);
  int fits = only == 0 ? 1 : text ? only == line : -1;
  if (fits > 0) fits = warned_fits(PyTuple_GET_ITEM(row, 1), text);
  if (fits > 0) fits = warned_fits(PyTuple_GET_ITEM(row, 3), module);
  *dropped = fits > 0 && warned_is(action, "ignore");
  /* What a filter drops for some it may as well not fit at all. */
  return fits == 0 || (fits < 0 && !text && warned_is(action, "ignore"));
}

/* Does a filter drop the warning with this text on this line? `text` NULL: every warning. A pattern
 * of a filter may run a signal handler, which may change the filters. */
static bool warned_is_dropped(PyObject *text, PyObject *module, int32_t line) {
  PyObject *filters = warned_setting("filters");
  bool dropped = false, open = filters && PyList_CheckExact(filters);
  for (Py_ssize_t i = 0; open && i < PyList_GET_SIZE(filters); i++) {
    PyObject *row = Py_NewRef(PyList_GET_ITEM(filters, i));
    open = warned_passes(row, text, module, line, &dropped);
    Py_DECREF(row);
  }
  Py_XDECREF(filters);
  if (PyErr_Occurred()) error_drop();
  return dropped;
}

/* ---- the registry ---- */

/* Does every warning come to be kept in its registry before it is shown, whatever a filter asks? */
static bool warned_are_kept(void) {
  static const char *const kept[] = {"default", "once", "module", "ignore", "error"};
  PyObject *filters = warned_setting("filters"), *other = warned_setting("defaultaction");
  bool good = filters && other && PyList_CheckExact(filters);
  for (Py_ssize_t i = -1; good && i < PyList_GET_SIZE(filters); i++) {
    PyObject *action = i < 0 ? other : warned_action(PyList_GET_ITEM(filters, i));
    bool known = action == Py_None;
    for (size_t k = 0; k < sizeof kept / sizeof *kept && action && !known; k++)
      known = warned_is(action, kept[k]);
    good = known;
  }
  Py_XDECREF(filters);
  Py_XDECREF(other);
  return good;
}

/* A text that cannot be hashed. */
static PyObject *warned_bait(void) {
  static PyObject *own;
  PyType_Slot slots[] = {{Py_tp_base, &PyUnicode_Type},
                         {Py_tp_hash, (void *)(uintptr_t)PyObject_HashNotImplemented},
                         {0, NULL}};
  PyType_Spec spec = {"frameloom._native.Bait", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  if (own) return own;
  PyObject *type = PyType_FromSpec(&spec);
  own = type ? PyObject_CallFunction(type, "s", "frameloom") : NULL;
  Py_XDECREF(type);
  if (!own) error_drop();
  return own;
}

/* How often filters have changed; borrowed from `registry`, which is made. NULL: it cannot be told.
 */
static PyObject *warned_version(PyObject **registry) {
  PyObject *bait = warned_bait(), *version = NULL;
  *registry = NULL;
  if (!bait || !warned_are_kept() || !(*registry = PyDict_New())) return NULL;
  PyObject *file = PyUnicode_InternFromString("frameloom");
  bool passed =
      file && PyErr_WarnExplicitObject(PyExc_RuntimeWarning, bait, file, 1, file, *registry) == 0;
  Py_XDECREF(file);
  if (!passed) error_drop();
  version = PyDict_GetItemString(*registry, "version");
  return version && PyLong_CheckExact(version) ? version : NULL;
}

/* Has the registry this warning, as one that has been dealt with? */
static bool warned_before(PyObject *registry, PyObject *text, int32_t line) {
  PyObject *key = Py_BuildValue("(OOi)", text, PyExc_RuntimeWarning, (int)line);
  PyObject *known = key ? PyDict_GetItemWithError(registry, key) : NULL;
  bool before = known && PyObject_IsTrue(known) == 1;
  Py_XDECREF(key);
  if (PyErr_Occurred()) error_drop();
  return before;
}

static bool warned_is_current(PyObject *registry) {
  PyObject *own = PyDict_GetItemString(registry, "version"), *fresh = NULL;
  PyObject *version = own && PyLong_CheckExact(own) ? warned_version(&fresh) : NULL;
  bool current = version && PyObject_RichCompareBool(own, version, Py_EQ) == 1;
  Py_XDECREF(fresh);
  return current;
}

/* ---- both ---- */

int numpy_flags_matter(uint32_t flags) {
  uint32_t reported, warned;
  if (!numpy_errors_now(&reported, &warned)) return -1;
  flags &= reported;
  return flags && ((flags & ~warned) || !warned_is_dropped(NULL, NULL, 0));
}

/* Would this warning be shown? `*registered` gets true when that is for the registry to say. */
static bool warned_shows(const char *kind, const struct capture_warning *w, PyObject *registry,
                         PyObject *module, bool *registered) {
  PyObject *text = PyUnicode_FromFormat("%s encountered in %s", kind, w->operation);
  bool before = text && registry && warned_before(registry, text, w->line);
  bool shows = !before && !(text && warned_is_dropped(text, module, w->line));
  if (!text) error_drop();
  Py_XDECREF(text);
  *registered |= before;
  return shows;
}

bool numpy_warnings_shown(const capture *c, PyObject *globals, uint32_t flags, const uint32_t *rows,
                          uint32_t *matter, uint32_t *shown) {
  uint32_t reported, warned;
  bool registered = false;
  if (!numpy_errors_now(&reported, &warned)) return error_drop(), false;
  *matter = flags & reported;
  if (*matter & ~warned) return false;
  PyObject *registry = PyDict_GetItemString(globals, "__warningregistry__");
  PyObject *module = PyDict_GetItemString(globals, "__name__");
  if (registry && !PyDict_CheckExact(registry)) return false;
  if (module && !PyUnicode_Check(module)) module = NULL;
  for (uint32_t i = 0; i < c->warning_count; i++) {
    uint32_t asked = c->warnings[i].flags & *matter & (rows ? rows[i] : ~0u);
    shown[i] = 0;
    for (size_t k = 0; k < sizeof warned_kinds / sizeof *warned_kinds; k++)
      if ((asked & warned_kinds[k].flag) &&
          warned_shows(warned_kinds[k].text, &c->warnings[i], registry, module, &registered))
        shown[i] |= warned_kinds[k].flag;
  }
  return !registered || warned_is_current(registry);
}
