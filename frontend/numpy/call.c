/* Calls of NumPy's functions and methods: rows of names.def give the handler; ufuncs go to ufunc.c;
 * functions that NumPy wrote in Python are inlined through the dispatcher's _implementation; what
 * is pure and wholly known is called at capture. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

/* ---- calls at capture ---- */

/* finfo and iinfo: made at capture, their attributes are read from the live object (NumPy's own
 * code runs). */
static PyObject *call_records[2];

static bool call_is_record(PyObject *o) {
  PyObject *type = (PyObject *)Py_TYPE(o);
  return type == call_records[0] || type == call_records[1];
}

static value *record_get_attr(tracer *t, value *v, PyObject *name) {
  return np_made(t, PyObject_GetAttr(v->object, name));
}

static PyObject *record_python_type(tracer *t, value *v) { return (PyObject *)Py_TYPE(v->object); }

static recipe *record_rebuild(tracer *t, value *v) {
  recipe *r = trace_recipe(t, RECIPE_CONST);
  if (r) r->object = Py_NewRef(v->object);
  return r;
}

static const value_type call_record_type = {.name = "finfo",
                                            .is_object = true,
                                            .get_attr = record_get_attr,
                                            .python_type = record_python_type,
                                            .rebuild = record_rebuild};

value *np_made(tracer *t, PyObject *o) {
  if (!o) return trace_raise_live(t);
  if (PyArray_CheckExact(o) || PyArray_IsScalar(o, Generic))
    return loom_numpy_adapter.wrap(t, trace_keep(t, o), NULL);
  if (call_is_record(o)) {
    value *record = value_new(t, &call_record_type);
    if (record) record->object = trace_keep(t, o);
    return record;
  }
  if (!PyTuple_CheckExact(o) && !PyList_CheckExact(o))
    return PyArray_DescrCheck(o) || PyType_Check(o) ? value_const(t, trace_keep(t, o))
                                                    : value_made(t, o);
  trace_keep(t, o);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  value **items = trace_alloc(t, sizeof *items * (size_t)(n + 1));
  for (Py_ssize_t i = 0; i < n; i++)
    if (!(items[i] = np_made(t, Py_NewRef(PySequence_Fast_GET_ITEM(o, i))))) return NULL;
  return PyTuple_CheckExact(o) ? value_tuple(t, items, n) : value_list(t, items, n);
}

/* "a" or "a5", names of dtypes that NumPy warns of. */
static bool call_is_old_alias(PyObject *o) {
  if (!PyUnicode_CheckExact(o) || !PyUnicode_GET_LENGTH(o)) return false;
  Py_ssize_t n = PyUnicode_GET_LENGTH(o);
  return PyUnicode_READ_CHAR(o, 0) == 'a' &&
         (n == 1 || Py_UNICODE_ISDIGIT(PyUnicode_READ_CHAR(o, 1)));
}

/* An argument that NumPy may look at without running anyone's code: borrowed, or NULL. */
static PyObject *call_fold_arg(tracer *t, value *v) {
  if (np_is_array(v)) return np_known(t, v);
  /* Asking for its value would make it known. */
  if (value_is_number(v) || value_has_data(v)) return NULL;
  PyObject *o = value_plain(t, v);
  bool warns = o && (PyBytes_CheckExact(o) || call_is_old_alias(o));
  if (warns) Py_CLEAR(o);
  if (o || warns) return o ? trace_keep(t, o) : NULL;
  if (!value_is_const(v) || !v->object) return NULL;
  if (PyArray_DescrCheck(v->object) || PyArray_IsScalar(v->object, Generic) ||
      Py_IS_TYPE(v->object, &PyUFunc_Type) ||
      (PyType_Check(v->object) &&
       (PyType_IsSubtype((PyTypeObject *)v->object, &PyGenericArrType_Type) ||
        v->object == (PyObject *)&PyFloat_Type || v->object == (PyObject *)&PyLong_Type ||
        v->object == (PyObject *)&PyBool_Type)))
    return np_known(t, v);
  return NULL;
}

static PyObject *call_quiet; /* the same with warnings and floating-point errors ignored */

PyObject *np_call_quietly(PyObject *function, PyObject *args, PyObject *kwargs) {
  return np_call_apart(call_quiet, function, args, kwargs);
}

/* Calls f(*args, **kwargs) with floating-point errors raised: one as well where it warned, which
 * every call of the function has to. */
static PyObject *call_folder;

/* The live arguments, and what `callee` makes of them: a new reference. NULL with *done false: some
 * are not known, or it would warn; with *done, its exception. */
typedef struct call_live {
  PyObject *args, *kwargs;
  bool done;
} call_live;

static PyObject *call_evaluate(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                               PyObject *kwnames, call_live *live) {
  Py_ssize_t total = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  *live = (call_live){PyTuple_New(count), PyDict_New(), false};
  bool good = live->args && live->kwargs;
  for (Py_ssize_t i = 0; i < total && good; i++) {
    PyObject *o = call_fold_arg(t, args[i]);
    good = o != NULL;
    if (good && i < count)
      PyTuple_SET_ITEM(live->args, i, Py_NewRef(o));
    else if (good)
      good = PyDict_SetItem(live->kwargs, PyTuple_GET_ITEM(kwnames, i - count), o) == 0;
  }
  PyObject *result = good ? np_call_apart(call_folder, callee, live->args, live->kwargs) : NULL;
  live->done = good && (result || !PyErr_ExceptionMatches(PyExc_FloatingPointError));
  if (!live->done) error_drop();
  return result;
}

static void call_live_fini(call_live *live) {
  Py_XDECREF(live->args);
  Py_XDECREF(live->kwargs);
}

value *np_fold(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count, PyObject *kwnames,
               bool *done) {
  call_live live;
  PyObject *result = call_evaluate(t, callee, args, count, kwnames, &live);
  value *same = NULL; /* as the greater of two sets is one of them */
  for (Py_ssize_t i = 0; result && i < count && !same; i++)
    if (PyTuple_GET_ITEM(live.args, i) == result && !np_is_array(args[i])) same = args[i];
  if (result && !same && !(np_is_fresh(live.args, live.kwargs, result) && np_is_apart(result)))
    live.done = false;
  call_live_fini(&live);
  *done = live.done;
  if (live.done && !same) return np_made(t, result);
  Py_XDECREF(result);
  return same;
}

/* ---- rows ---- */

#define NP_FUNCTION(MODULE, NAME, HANDLER, NUMBERS) value *HANDLER(tracer *t, const np_call *c);
#define NP_METHOD(NAME, HANDLER, NUMBERS) value *HANDLER(tracer *t, const np_call *c);
#define NP_FOLD(MODULE, NAME)
#include "frontend/numpy/names.def"
#undef NP_FUNCTION
#undef NP_METHOD
#undef NP_FOLD

/* The numbers that a handler takes. A handler of REAL numbers would treat complex ones as
 * integers. */
typedef enum call_numbers { REAL, COMPLEX } call_numbers;

typedef struct call_row {
  const char *module, *name;
  np_handler handler; /* NULL: only called at capture */
  PyObject *object;
  call_numbers numbers;
} call_row;

static call_row call_functions[] = {
#define NP_FUNCTION(MODULE, NAME, HANDLER, NUMBERS) {MODULE, NAME, HANDLER, NULL, NUMBERS},
#define NP_METHOD(NAME, HANDLER, NUMBERS)
#define NP_FOLD(MODULE, NAME) {MODULE, NAME, NULL, NULL, REAL},
#include "frontend/numpy/names.def"
#undef NP_FUNCTION
#undef NP_METHOD
#undef NP_FOLD
};

static const call_row call_methods[] = {
#define NP_FUNCTION(MODULE, NAME, HANDLER, NUMBERS)
#define NP_METHOD(NAME, HANDLER, NUMBERS) {"", NAME, HANDLER, NULL, NUMBERS},
#define NP_FOLD(MODULE, NAME)
#include "frontend/numpy/names.def"
#undef NP_FUNCTION
#undef NP_METHOD
#undef NP_FOLD
    {NULL, NULL, NULL, NULL, REAL}};

static PyTypeObject *call_dispatcher_type;

PyObject *np_lookup(const char *module, const char *name) {
  PyObject *m = PyImport_ImportModule(module);
  PyObject *o = m ? PyObject_GetAttrString(m, name) : NULL;
  Py_XDECREF(m);
  return o;
}

bool np_call_init(void) {
  if (call_dispatcher_type) return true;
  for (size_t i = 0; i < sizeof call_functions / sizeof *call_functions; i++)
    if (!(call_functions[i].object = np_lookup(call_functions[i].module, call_functions[i].name)))
      return false;
  PyObject *globals = PyDict_New();
  PyObject *code =
      globals ? PyRun_String("import numpy, warnings\n"
                             "def fold(function, args, kwargs):\n"
                             "    with warnings.catch_warnings(record=True) as caught, "
                             "numpy.errstate(all='raise'):\n"
                             "        warnings.simplefilter('always')\n"
                             "        try:\n"
                             "            return function(*args, **kwargs)\n"
                             "        finally:\n"
                             "            if caught:\n"
                             "                raise FloatingPointError\n"
                             "def quietly(function, args, kwargs):\n"
                             "    with warnings.catch_warnings(), numpy.errstate(all='ignore'):\n"
                             "        warnings.simplefilter('ignore')\n"
                             "        return function(*args, **kwargs)\n",
                             Py_file_input, globals, globals)
              : NULL;
  if (!code) return false;
  Py_DECREF(code);
  call_folder = PyDict_GetItemString(globals, "fold");
  call_quiet = PyDict_GetItemString(globals, "quietly");
  call_records[0] = np_lookup("numpy", "finfo");
  call_records[1] = np_lookup("numpy", "iinfo");
  if (!call_records[0] || !call_records[1]) return false;
  if (!np_arguments_init()) return false;
  PyObject *any = np_lookup("numpy", "concatenate");
  if (!any || !call_folder || !call_quiet) return false;
  call_dispatcher_type = Py_TYPE(any);
  Py_DECREF(any);
  return true;
}

static const call_row *call_find_function(PyObject *callee) {
  for (size_t i = 0; i < sizeof call_functions / sizeof *call_functions; i++)
    if (call_functions[i].object == callee) return &call_functions[i];
  return NULL;
}

/* Rows of builtins are asked last: most of their calls are none of NumPy's. */
bool np_has_row(PyObject *callee) {
  const call_row *row = call_find_function(callee);
  return row && strcmp(row->module, "builtins") != 0;
}

static const call_row *call_find_method(const char *name) {
  for (const call_row *row = call_methods; row->name; row++)
    if (strcmp(row->name, name) == 0) return row;
  return NULL;
}

#define CALL_KNOWN_ELEMENTS 4096

/* Is the object an array, or a NumPy scalar, of these sizes and this dtype? */
static bool call_is_like(PyObject *o, const np_array *a) {
  loom_dtype dtype;
  if (a->scalar ? !PyArray_IsScalar(o, Generic) : !PyArray_CheckExact(o)) return false;
  PyArrayObject *now = (PyArrayObject *)PyArray_FROM_O(o);
  bool like = now && PyArray_ISNOTSWAPPED(now) && PyArray_NDIM(now) == a->type.rank &&
              numpy_dtype_from_typenum(PyArray_TYPE(now), &dtype) && dtype == a->type.dtype;
  for (int i = 0; like && i < a->type.rank; i++)
    like = PyArray_DIM(now, i) == a->type.dims[i];
  Py_XDECREF(now);
  error_drop();
  return like;
}

/* What a function makes of one known array and other known arguments is known too: NumPy itself
 * computes it, beside the nodes. Functions that write into their argument, or into out=, take no
 * part. */
static value *call_attach_known(tracer *t, PyObject *callee, const np_call *c, value *result) {
  np_array *r = np_array_of(result);
  Py_ssize_t total = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0), arrays = 0;
  if (!r || (r->known && r->known_version == r->storage->version)) return result;
  for (Py_ssize_t i = 0; i < total; i++) {
    arrays += np_is_array(c->args[i]);
    if (c->args[i] == result || (np_is_array(c->args[i]) && !np_known(t, c->args[i])))
      return result;
    if (i >= c->count &&
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(c->kwnames, i - c->count), "out") == 0)
      return result;
  }
  if (arrays != 1 || np_elements(&r->type) > CALL_KNOWN_ELEMENTS) return result;
  call_live live;
  PyObject *known = call_evaluate(t, callee, c->args, c->count, c->kwnames, &live);
  call_live_fini(&live);
  if (!known) return live.done ? trace_raise_live(t) : result;
  trace_keep(t, known);
  if (!call_is_like(known, r)) return result;
  r->known = known;
  r->known_version = r->storage->version;
  return result;
}

static bool call_has_complex(const value *v, int depth) {
  if (np_is_array(v)) return loom_dtype_is_complex(np_array_of(v)->type.dtype);
  if (v->object && PyComplex_Check(v->object)) return true;
  bool items = value_is_sequence(v);
  for (Py_ssize_t i = 0; items && depth < 4 && i < v->seq.count; i++)
    if (call_has_complex(v->seq.items[i], depth + 1)) return true;
  return false;
}

/* What NumPy wrote in Python behind a function that dispatches: borrowed, or NULL. */
static PyObject *call_python(PyObject *callee) {
  if (PyFunction_Check(callee)) return callee;
  if (!Py_IS_TYPE(callee, call_dispatcher_type)) return NULL;
  PyObject *own = PyObject_GetAttrString(callee, "_implementation");
  Py_XDECREF(own); /* the dispatcher keeps it */
  error_drop();
  return own && PyFunction_Check(own) ? own : NULL;
}

/* Is there a parameter for each argument, and an argument for each parameter without a default? Of
 * what NumPy wrote in Python: handlers know the names of parameters, not which of them are for
 * positions or for keywords only. */
static bool call_binds(PyObject *function, Py_ssize_t count, PyObject *kwnames) {
  PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
  PyObject *names = PyCode_GetVarnames(code), *defaults = PyFunction_GET_DEFAULTS(function);
  Py_ssize_t named = code->co_argcount + code->co_kwonlyargcount,
             keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0,
             optional = defaults ? PyTuple_GET_SIZE(defaults) : 0, needed = 0;
  if (!names) return error_drop(), true;
  bool good = count <= code->co_argcount || (code->co_flags & CO_VARARGS);
  for (Py_ssize_t k = 0; good && k < keywords; k++) {
    PyObject *keyword = PyTuple_GET_ITEM(kwnames, k);
    Py_ssize_t i = code->co_posonlyargcount;
    while (i < named && PyUnicode_Compare(PyTuple_GET_ITEM(names, i), keyword) != 0)
      i++;
    good =
        i < named ? i >= count || i >= code->co_argcount : (code->co_flags & CO_VARKEYWORDS) != 0;
    needed += i >= count && i < code->co_argcount - optional;
  }
  Py_DECREF(names);
  return good &&
         (count >= code->co_argcount - optional || needed == code->co_argcount - optional - count);
}

static bool call_parameter_like(PyObject *kwnames) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "like")) return true;
  return false;
}

/* Has an argument, or an item of one, an __array_function__ of its own, which NumPy would call? */
static bool call_is_overridden(tracer *t, value *v, int depth) {
  static PyObject *name;
  if (!name && !(name = PyUnicode_InternFromString("__array_function__")))
    return error_drop(), true;
  if (!v || np_is_array(v) || value_is_number(v)) return false;
  bool items = value_is_sequence(v);
  for (Py_ssize_t i = 0; items && depth < 2 && i < v->seq.count; i++)
    if (call_is_overridden(t, v->seq.items[i], depth + 1)) return true;
  if (!value_is_instance(v)) return false; /* a live one of another type is a constant */
  PyObject *type = value_type_of(t, v);
  return type && PyType_Check(type) && _PyType_Lookup((PyTypeObject *)type, name);
}

static bool call_may_dispatch(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames) {
  Py_ssize_t total = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  for (Py_ssize_t i = 0; i < total; i++)
    if (call_is_overridden(t, args[i], 0))
      trace_break(t, BREAK_OVERRIDE, "an argument of a class with __array_function__");
  return !trace_pending(t);
}

/* Is the first argument of a type that a descriptor is for? */
static bool call_is_bound(tracer *t, PyObject *descriptor, value *const *args, Py_ssize_t count) {
  PyObject *type = count > 0 && np_is_array(args[0]) ? value_type_of(t, args[0]) : NULL;
  return type && PyType_IsSubtype((PyTypeObject *)type, PyDescr_TYPE(descriptor));
}

value *np_scalar_again(tracer *t, value *v) {
  PyObject *known = np_known(t, v);
  value *made = np_result(t, np_read(t, np_array_of(v)), NULL);
  if (made && known) np_array_of(made)->known = known;
  return made;
}

/* A handler may return its argument itself. Where that is a NumPy scalar, NumPy returns a new
 * object. */
static value *call_new_scalar(tracer *t, const np_call *c, value *v) {
  bool given = v && c->count && v == c->args[0] && strcmp(c->name, "__copy__") != 0;
  np_array *a = given ? np_array_of(v) : NULL;
  return a && a->scalar ? np_scalar_again(t, v) : v;
}

/* A call with several arguments that raises. Which exception it raises depends on the argument that
 * the library checks first: so the library has to make the call. */
static value *call_judged(tracer *t, value *v, bool several, const char *name) {
  if (v || t->state != TRACE_RAISING || !several) return v;
  return trace_raise_plainly(t, "%s() of several arguments raises an exception", name);
}

static value *call_row_run(tracer *t, const call_row *row, PyObject *callee, value *const *args,
                           Py_ssize_t count, PyObject *kwnames, bool method) {
  if (row->handler) {
    np_call c = {.name = row->name,
                 .args = args,
                 .count = count,
                 .kwnames = kwnames,
                 .method = method,
                 .callee = method ? NULL : callee};
    value *other = method ? NULL : np_derivative_other(t, callee);
    if (other || trace_pending(t)) return other ? trace_call(t, other, args, count, kwnames) : NULL;
    if (!np_gate(t, row->handler, &c)) return NULL;
    if (kwnames && call_parameter_like(kwnames))
      return trace_break(t, BREAK_OVERRIDE, "np.%s with like=", row->name);
    PyObject *own = method || !callee ? NULL : call_python(callee);
    if (own && !call_binds(own, count, kwnames))
      return trace_break(t, BREAK_RAISES, "np.%s does not take these arguments", row->name);
    for (Py_ssize_t i = 0; i < count && row->numbers == REAL; i++)
      if (call_has_complex(args[i], 0))
        return trace_break(t, BREAK_UNSUPPORTED_DTYPE, "np.%s of complex numbers", row->name);
    value *v = call_new_scalar(t, &c, row->handler(t, &c));
    v = call_judged(t, v, kwnames || count > 1, row->name);
    bool variable = strcmp(row->module, "frameloom._gradient") == 0; /* known or not */
    return v && callee && !variable ? call_attach_known(t, callee, &c, v) : v;
  }
  bool done;
  value *v = np_fold(t, callee, args, count, kwnames, &done);
  if (done || trace_pending(t)) return v;
  if (call_python(row->object)) return trace_not_implemented(t); /* NumPy's own code is inlined */
  return trace_break(t, BREAK_NUMPY_FUNCTION, "%s of arguments not known", row->name);
}

/* Methods of ndarray, of NumPy scalars and of ufuncs. */
static value *call_method(tracer *t, PyMethodDescrObject *descriptor, value *const *args,
                          Py_ssize_t count, PyObject *kwnames, bool *mine) {
  PyTypeObject *type = PyDescr_TYPE(descriptor);
  const char *name = descriptor->d_method->ml_name;
  *mine = true;
  if (type == &PyUFunc_Type) {
    bool done = false, writes = kwnames || strcmp(name, "at") == 0;
    value *v = writes ? NULL : np_fold(t, (PyObject *)descriptor, args, count, NULL, &done);
    if (done || trace_pending(t)) return v;
    v = np_ufunc_method(t, name, args, count, kwnames);
    return call_judged(t, v, kwnames || count > 2, name);
  }
  if (type == &PyContextVar_Type && count == 2) return np_error_context(t, name, args, mine);
  if (type != &PyArray_Type && !PyType_IsSubtype(type, &PyGenericArrType_Type)) {
    *mine = false;
    return NULL;
  }
  const call_row *row = call_find_method(name);
  if (row && call_is_bound(t, (PyObject *)descriptor, args, count))
    return call_row_run(t, row, (PyObject *)descriptor, args, count, kwnames, true);
  return trace_break(t, BREAK_NUMPY_FUNCTION, "the method %s", name);
}

/* A function of NumPy's public modules, whose dispatcher only names the arguments that count. Who
 * makes a dispatching function of their own has a dispatcher that may do anything. */
static bool call_is_public(PyObject *callee) {
  PyObject *module = PyObject_GetAttrString(callee, "__module__");
  const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
  bool public = name && !strncmp(name, "numpy", 5) && !strstr(name, "._");
  Py_XDECREF(module);
  error_drop();
  return public;
}

/* The functions whose dispatcher, which is not looked through, refuses what cannot be indexed or
 * iterated over. */
static bool call_wants_sequence(PyObject *own) {
  static const char *const names[] = {"stack",        "hstack", "vstack", "dstack",
                                      "column_stack", "poly",   "roots",  "multi_dot"};
  const char *name =
      PyFunction_Check(own) ? PyUnicode_AsUTF8(((PyFunctionObject *)own)->func_name) : NULL;
  for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static value *call_dispatcher(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                              PyObject *kwnames) {
  PyObject *own = PyObject_GetAttrString(callee, "_implementation");
  if (!own) return trace_raise_live(t);
  trace_keep(t, own);
  np_array *first = count ? np_array_of(args[0]) : NULL;
  bool flat = first && first->type.rank == 0;
  if (count && call_wants_sequence(own) && (flat || !np_is_sequence(t, args[0])))
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_NUMPY_FUNCTION, "arrays from an iterator");
  const call_row *row = call_find_function(own);
  if (row) return call_row_run(t, row, callee, args, count, kwnames, false);
  value *other = np_derivative_other(t, callee);
  if (other || trace_pending(t)) return other ? trace_call(t, other, args, count, kwnames) : NULL;
  if (PyFunction_Check(own) && call_is_public(callee))
    return trace_call(t, value_const(t, own), args, count, kwnames);
  if (PyFunction_Check(own))
    return trace_break(t, BREAK_OVERRIDE, "a function with a dispatcher of its own");
  return trace_break(t, BREAK_NUMPY_FUNCTION, "np.%s", ((PyCFunctionObject *)own)->m_ml->ml_name);
}

/* A builtin of one of NumPy's extension modules. */
static bool call_is_numpy_builtin(PyObject *callee) {
  if (!PyCFunction_Check(callee)) return false;
  PyObject *module = ((PyCFunctionObject *)callee)->m_module;
  const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
  return name && strncmp(name, "numpy", 5) == 0;
}

static value *call_any(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                       PyObject *kwnames, bool *mine) {
  *mine = true;
  if (Py_IS_TYPE(callee, &PyUFunc_Type) && !call_find_function(callee)) {
    bool done = false;
    /* No out=; and what is not NumPy's own may be Python code, or write into its operands. */
    bool plain = !kwnames && count == ((PyUFuncObject *)callee)->nin && np_ufunc_is_own(callee);
    value *v = plain ? np_fold(t, callee, args, count, NULL, &done) : NULL;
    if (done || trace_pending(t)) return v;
    PyUFuncObject *ufunc = (PyUFuncObject *)callee;
    v = np_ufunc_call(t, callee, args, count, kwnames);
    return call_judged(t, v, kwnames || count > ufunc->nin, ufunc->name);
  }
  if (Py_IS_TYPE(callee, call_dispatcher_type) && !call_may_dispatch(t, args, count, kwnames))
    return NULL;
  const call_row *row = call_find_function(callee);
  if (row) {
    value *v = call_row_run(t, row, callee, args, count, kwnames, false);
    PyObject *own = v == trace_not_implemented(t) ? call_python(callee) : NULL;
    return own && own != callee ? trace_call(t, value_const(t, own), args, count, kwnames) : v;
  }
  if (Py_IS_TYPE(callee, call_dispatcher_type))
    return call_dispatcher(t, callee, args, count, kwnames);
  if (Py_IS_TYPE(callee, &PyWrapperDescr_Type) && !kwnames &&
      (PyDescr_TYPE(callee) == &PyArray_Type ||
       PyType_IsSubtype(PyDescr_TYPE(callee), &PyGenericArrType_Type)) &&
      call_is_bound(t, callee, args, count))
    return np_slot_call(t, ((PyWrapperDescrObject *)callee)->d_base->name, args, count);
  if (Py_IS_TYPE(callee, &PyMethodDescr_Type))
    return call_method(t, (PyMethodDescrObject *)callee, args, count, kwnames, mine);
  if (call_is_numpy_builtin(callee)) {
    const char *name = ((PyCFunctionObject *)callee)->m_ml->ml_name;
    for (size_t i = 0; i < sizeof call_functions / sizeof *call_functions; i++)
      if (call_functions[i].handler && call_functions[i].handler != np_host &&
          strcmp(call_functions[i].name, name) == 0 &&
          strcmp(call_functions[i].module, "numpy") == 0)
        return call_row_run(t, &call_functions[i], callee, args, count, kwnames, false);
    return trace_break(t, BREAK_NUMPY_FUNCTION, "np.%s", name);
  }
  *mine = false;
  return NULL;
}

value *np_scalar_of(tracer *t, value *v) {
  static const char *const hooks[] = {"__array__",
                                      "__array_interface__",
                                      "__array_struct__",
                                      "__array_priority__",
                                      "__array_ufunc__",
                                      "__array_function__",
                                      NULL};
  return value_scalar_of(t, v, hooks);
}

value *np_call_object(tracer *t, PyObject *callee, value *self, value *const *args,
                      Py_ssize_t count, PyObject *kwnames, bool *mine) {
  if (!self) return call_any(t, callee, args, count, kwnames, mine);
  Py_ssize_t total = count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  value **all = trace_alloc(t, sizeof *all * (size_t)(total + 1));
  if (!all) return NULL;
  all[0] = self;
  memcpy(all + 1, args, sizeof *all * (size_t)total);
  return call_any(t, callee, all, count + 1, kwnames, mine);
}
