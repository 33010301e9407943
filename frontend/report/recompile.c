/* Reports why a call fits no version: which guard of the newest version failed, for which object,
 * and the line to write to avoid it. Runs no code of the user's. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

#define RECOMPILE_KEEP 64 /* records of one callable */

/* "a: float32[3]" without the name. Takes the reference. */
static PyObject *recompile_short(PyObject *words) {
  PyObject *colon = PyUnicode_FromString(": ");
  Py_ssize_t length = PyUnicode_GET_LENGTH(words);
  Py_ssize_t at = colon ? PyUnicode_Find(words, colon, 0, length, 1) : -1;
  if (at >= 0) Py_SETREF(words, PyUnicode_Substring(words, at + 2, length));
  Py_XDECREF(colon);
  return words;
}

/* "float32[3]", "7", "of type list". */
static PyObject *recompile_words(const loom_adapter *adapter, PyObject *object) {
  PyObject *words = adapter && adapter->words ? adapter->words(object) : NULL;
  if (words) return recompile_short(words);
  if (PyErr_Occurred()) return NULL;
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
      object == Py_None || PyBytes_CheckExact(object) || PyComplex_CheckExact(object) ||
      (PyUnicode_CheckExact(object) && PyUnicode_GET_LENGTH(object) < 64))
    return guard_words(object);
  if (PyFunction_Check(object) || PyType_Check(object)) return PyObject_Repr(object);
  uint64_t bits;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->scalar_bits && (*a)->scalar_bits(object, LOOM_DTYPE_COUNT, &bits))
      return PyObject_Repr(object);
  return PyUnicode_FromFormat("of type %s", Py_TYPE(object)->tp_name);
}

static PyObject *recompile_size(const guard *g, PyObject *object) {
  const size_guard *p = g->payload;
  int64_t now = 0;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++)
    if ((*a)->size && (*a)->size(object, p->field, p->axis, &now))
      return PyUnicode_FromFormat("%lld", (long long)now);
  return recompile_words(NULL, object);
}

/* What the guard requires, and what the call has instead: new strings. */
static PyObject *recompile_old(const capture *c, const guard *g) {
  if (g->kind == GUARD_NUMBER || g->kind == GUARD_IDENTITY) return recompile_words(NULL, g->object);
  if (g->kind == GUARD_TYPE)
    return PyUnicode_FromFormat("of type %s", ((PyTypeObject *)g->object)->tp_name);
  if (g->kind == GUARD_LENGTH) return PyUnicode_FromFormat("%lld items", (long long)g->number);
  if (g->kind == GUARD_CUSTOM) {
    PyObject *number = g->adapter->number(g->payload);
    if (number && PyUnicode_Check(number)) return number;
    PyObject *words = number ? recompile_words(NULL, number) : NULL;
    Py_XDECREF(number);
    return words;
  }
  PyObject *text = guard_describe(c, g);
  return text && g->kind == GUARD_ARRAY ? recompile_short(text) : text;
}

/* As the guard reads it: a class's own __len__ is not asked. */
static Py_ssize_t recompile_length(PyObject *object) {
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object);
  if (PyTuple_Check(object) || PyList_Check(object) || object_is_deque(object))
    return Py_SIZE(object);
  return PyAnySet_CheckExact(object) ? PySet_GET_SIZE(object) : -1;
}

static PyObject *recompile_new(const guard *g, PyObject *const *slots) {
  PyObject *object = g->source ? source_read(g->source, slots) : NULL, *words;
  if (!g->source) return PyUnicode_FromString("another state");
  if (!object) return PyUnicode_FromString("gone");
  Py_ssize_t length = g->kind == GUARD_LENGTH ? recompile_length(object) : -1;
  if (g->kind == GUARD_SIZE)
    words = recompile_size(g, object);
  else if (length >= 0)
    words = PyUnicode_FromFormat("%zd items", length);
  else
    words = recompile_words(g->adapter ? g->adapter : loom_adapters()[0], object);
  Py_DECREF(object);
  return words;
}

/* ---- advice ---- */

static PyObject *advise_array(const guard *g, PyObject *object, PyObject *name) {
  uint32_t sizes = 0, strides = 0;
  if (object && g->adapter->sizes_differ &&
      g->adapter->sizes_differ(object, g->payload, &sizes, &strides) && sizes)
    return PyUnicode_FromFormat("frameloom.mark_dynamic(%U, %d)", name, __builtin_ctz(sizes));
  if (g->adapter != loom_adapters()[0])
    return PyUnicode_FromFormat("keep sizes, dtype and strides of %U the same", name);
  return PyUnicode_FromFormat("keep rank, dtype and layout the same: %U = np.ascontiguousarray(%U, "
                              "dtype=...)",
                              name, name);
}

static bool advise_is_argument(const source *s) {
  while (s && s->base)
    s = s->base;
  return s && s->kind == SOURCE_ARG;
}

static PyObject *advise_number(const guard *g, PyObject *name) {
  bool number = (PyLong_CheckExact(g->object) || PyFloat_CheckExact(g->object));
  if (!number) return PyUnicode_FromFormat("one compiled function for each value of %U", name);
  if (!advise_is_argument(g->source))
    return PyUnicode_FromFormat("pass %U as an argument, as an array: np.asarray(%U)", name, name);
  return PyUnicode_FromFormat("pass np.asarray(%U), or compile with dynamic=True", name);
}

/* Something on the stack of a frame behind a break: the code has no name for it. */
static bool advise_is_unnamed(PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  return text && strncmp(text, "stack[", 6) == 0;
}

static PyObject *recompile_advice(const guard *g, PyObject *const *slots, PyObject *name) {
  if (advise_is_unnamed(name))
    return PyUnicode_FromString(g->kind == GUARD_NUMBER
                                    ? "compile with dynamic=True, or give it a name and pass it as "
                                      "an array"
                                    : "let this line compute one kind of value each time");
  PyObject *object = g->source ? source_read(g->source, slots) : NULL, *text;
  switch (g->kind) {
  case GUARD_ARRAY: text = advise_array(g, object, name); break;
  case GUARD_NUMBER: text = advise_number(g, name); break;
  case GUARD_LENGTH:
  case GUARD_DICT_KEYS:
  case GUARD_SET_TABLE:
    text = PyUnicode_FromFormat("keep the items of %U the same, or pass one array: np.stack(%U)",
                                name, name);
    break;
  case GUARD_TYPE: text = PyUnicode_FromFormat("pass %U always as one type", name); break;
  case GUARD_IDENTITY:
    text = PyBool_Check(g->object) || g->object == Py_None
               ? advise_number(g, name)
               : PyUnicode_FromFormat("make %U once, and not anew between calls", name);
    break;
  case GUARD_DISJOINT:
  case GUARD_APART:
    text = PyUnicode_FromFormat("pass arrays that share no memory, or a copy: %U.copy()", name);
    break;
  case GUARD_IN_PARTS:
  case GUARD_SAME:
  case GUARD_MISSING:
  case GUARD_PRESENT:
    text = PyUnicode_FromFormat("make %U once, and not anew between calls", name);
    break;
  case GUARD_SIZE:
    text =
        PyUnicode_FromFormat("frameloom.mark_dynamic(%U, %d, min=..., max=...), or pad %U to one "
                             "size",
                             name, (int)((const size_guard *)g->payload)->axis, name);
    break;
  case GUARD_CUSTOM:
    text = PyUnicode_FromFormat("pass it as an array: np.asarray(%U)", name);
    break;
  default: text = PyUnicode_FromFormat("keep the state of %U the same between calls", name); break;
  }
  Py_XDECREF(object);
  return text;
}

/* ---- records ---- */

static PyObject *recompile_tuple(PyObject *title, const capture *newest, const guard *g,
                                 PyObject *const *slots) {
  PyObject *text = guard_describe(newest, g);
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString("the process");
  PyObject *old = recompile_old(newest, g), *now = recompile_new(g, slots);
  PyObject *advice = name ? recompile_advice(g, slots, name) : NULL, *row = NULL;
  if (text && name && old && now && advice)
    row = Py_BuildValue("(OOOOOOzi)", title, name, text, old, now, advice, g->location.file,
                        (int)g->location.line);
  Py_XDECREF(text);
  Py_XDECREF(name);
  Py_XDECREF(old);
  Py_XDECREF(now);
  Py_XDECREF(advice);
  return row;
}

PyObject *recompile_why(entry *newest, PyObject *title, PyObject *const *slots) {
  if (!entry_hold(newest)) return NULL;
  newest->refs++;
  const guard *failed = guard_first_failure(newest->captured, slots);
  PyObject *row = failed ? recompile_tuple(title, newest->captured, failed, slots) : NULL;
  entry_release(newest);
  entry_unref(newest);
  return row;
}

PyObject *recompile_sentence(PyObject *row) {
  return PyUnicode_FromFormat("%U was %U and is %U (%U:%S)", PyTuple_GET_ITEM(row, 1),
                              PyTuple_GET_ITEM(row, 3), PyTuple_GET_ITEM(row, 4),
                              PyUnicode_Check(PyTuple_GET_ITEM(row, 6)) ? PyTuple_GET_ITEM(row, 6)
                                                                        : PyTuple_GET_ITEM(row, 0),
                              PyTuple_GET_ITEM(row, 7));
}

bool recompile_keep(report *to, PyObject *row, const entry *made, double ms) {
  char cost[64];
  PyObject *sentence = recompile_sentence(row);
  snprintf(cost, sizeof cost, made ? "compiled again in %.2f ms" : "not compiled, after %.2f ms",
           ms);
  if (sentence)
    loom_log(LOOM_LOG_RECOMPILES, "%U: %s: %U; to avoid it: %U", PyTuple_GET_ITEM(row, 0), cost,
             sentence, PyTuple_GET_ITEM(row, 5));
  Py_XDECREF(sentence);
  if (!to->recompiles) to->recompiles = PyList_New(0);
  PyObject *full = Py_BuildValue(
      "(OOOOOOOOdO)", PyTuple_GET_ITEM(row, 0), PyTuple_GET_ITEM(row, 1), PyTuple_GET_ITEM(row, 2),
      PyTuple_GET_ITEM(row, 3), PyTuple_GET_ITEM(row, 4), PyTuple_GET_ITEM(row, 5),
      PyTuple_GET_ITEM(row, 6), PyTuple_GET_ITEM(row, 7), ms, made ? Py_True : Py_False);
  bool good = to->recompiles && full;
  if (good && PyList_GET_SIZE(to->recompiles) < RECOMPILE_KEEP)
    good = PyList_Append(to->recompiles, full) == 0;
  Py_XDECREF(full);
  return good;
}
