/* The callable that stands in for a Python function.
 *
 * A call that an entry's guards accept runs its plan; all other calls end in the plain function,
 * called with the very arguments that came in. The object behaves like the function in all else:
 * attributes are read from it and written to it, it binds as a method, copies as itself and pickles
 * by name.
 */
#include "frontend/dispatch/callable.h"
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

#include <structmember.h>

/* bytes of C stack that nothing is compiled without */
#define BUILD_STACK (1 << 20)

/* Functions that this thread is running as plain Python inside a compiled call: a recursive call
 * among them that no entry fits is not captured again. */
static _Thread_local plain_frame *plain_frames __attribute__((tls_model("initial-exec")));

static callable *all_callables; /* doubly linked, under the GIL */

/* ---- calls ---------------------------------------------------------------------------------- */

bool callable_thread_is_traced(void) { return python_is_traced(); }

bool callable_is_off(void) { return disabled_depth || loom_all_eager || python_is_traced(); }

PyFunctionObject *callable_function(const callable *c) {
  return c->place.shared && loom_function_now ? loom_function_now : c->function;
}

PyObject *callable_call_plain(const callable *c, PyObject *const *args, size_t flags,
                              PyObject *kwnames) {
  if (!callable_stack_check(c)) return NULL;
  int lent = callable_go_deeper();
  PyObject *result = PyObject_Vectorcall((PyObject *)c->function, args, flags, kwnames);
  python_recursion_take_back(lent);
  return result;
}

void plain_frame_open(plain_frame *frame, const callable *c) {
  *frame = (plain_frame){c, plain_frames};
  plain_frames = frame;
}

void plain_frame_close(const plain_frame *frame) { plain_frames = frame->outer; }

PyObject *callable_call_uncompiled(callable *c, PyObject *const *args, size_t flags,
                                   PyObject *kwnames) {
  plain_frame frame;
  hook_scope scope;
  trial_run run;
  if (PyErr_Occurred()) return interrupt_pass(c, args, flags, kwnames);
  Py_INCREF(c);
  trial_run_begin(&run, c);
  plain_frame_open(&frame, c);
  bool scoped = !run.alone || hook_pause(&scope);
  if (!run.alone) hook_open(&scope, c, c->function->func_code);
  PyObject *result = callable_call_plain(c, args, flags, kwnames);
  if (scoped) hook_close(&scope);
  plain_frame_close(&frame);
  trial_run_end(&run, c, result == NULL);
  Py_DECREF(c);
  return result;
}

static bool call_is_nested(const callable *c) {
  for (const plain_frame *f = plain_frames; f; f = f->outer)
    if (f->who == c) return true;
  return false;
}

static inline bool call_fits(const callable *c, const entry *e, PyObject *const *slots,
                             int64_t *symbols) {
  return e->life.fits == c->function->func_code && guard_program_check(e->guards, slots, symbols);
}

static inline entry *call_find(const callable *c, PyObject *const *slots, int64_t *symbols) {
  entry_list *list = c->entries;
  for (uint32_t i = 0; list && i < list->count; i++) {
    entry *e = list->items[i];
    if (call_fits(c, e, slots, symbols)) return e;
  }
  return NULL;
}

/* Has the function another code by now than the frame that is to go on in a part? What it calls may
 * have exchanged it. */
static bool call_is_of_old_code(const callable *c) {
  return c->place.point && callable_function(c)->func_code != c->code;
}

/* Builds a version for a call that none fits: new reference, or NULL with *plain set or an
 * exception. */
static entry *call_build(callable *c, PyObject *const *slots, int64_t *symbols, bool *plain) {
  entry *found = callable_wait(c) ? call_find(c, slots, symbols) : NULL;
  if (found) return found->refs++, found;
  c->counts.misses++;
  c->weighing.put_off = c->weighing.unfit = false;
  bool build = !call_is_nested(callable_whole(c)) && callable_stack_left() >= BUILD_STACK &&
               !call_is_of_old_code(c);
  PyFunctionObject *function = loom_function_now;
  if (!c->place.shared) loom_function_now = NULL;
  entry *e = build ? callable_build(c, slots) : NULL;
  loom_function_now = function;
  if (!e) {
    *plain = !PyErr_Occurred() || error_is_foreign();
    return NULL;
  }
  /* Handlers and other threads have run since it was captured. */
  *plain = !call_fits(c, e, slots, symbols);
  if (!*plain) return e;
  entry_unref(e);
  return NULL;
}

entry *callable_entry(callable *c, PyObject *const *slots, int64_t *symbols, bool *plain) {
  entry *e = call_find(c, slots, symbols);
  if (!e) return call_build(c, slots, symbols, plain);
  c->counts.hits++;
  e->refs++;
  return e;
}

/* A version with breaks, or one that may run as plain Python. */
__attribute__((noinline)) static PyObject *
call_watched(callable *c, entry *e, PyObject *const *slots, const int64_t *symbols, bool *plain) {
  e->refs++;
  PyObject *result = e->stopped ? resume_run(c, e, slots, symbols, plain)
                                : trial_call(c, e, slots, symbols, plain);
  entry_unref(e);
  return result;
}

static inline PyObject *call_entry(callable *c, entry *e, PyObject *const *slots,
                                   const int64_t *symbols, bool *plain) {
  return __builtin_expect(e->watched, 0) ? call_watched(c, e, slots, symbols, plain)
                                         : entry_run(e, slots, symbols, plain);
}

/* Runs a fitting entry, or builds one. NULL with *plain set: the plain function has to run. */
static PyObject *call_slots(callable *c, PyObject *const *slots, bool *plain) {
  int64_t symbols[LOOM_MAX_SYMBOLS];
  if (__builtin_expect(c->turns.clocked, 0)) c->turns.found_since = loom_clock_ns();
  entry *e = call_find(c, slots, symbols);
  if (e) {
    if (__builtin_expect(++c->counts.hits >= c->turns.look_at, 0)) trial_look(c, e);
    return call_entry(c, e, slots, symbols, plain);
  }
  e = call_build(c, slots, symbols, plain);
  if (!e) return NULL;
  PyObject *result = call_entry(c, e, slots, symbols, plain);
  entry_unref(e);
  return result;
}

PyObject *callable_call_frame(callable *c, PyFunctionObject *function, PyObject **slots,
                              bool *plain, bool *useful) {
  int64_t symbols[LOOM_MAX_SYMBOLS];
  PyFunctionObject *outer = loom_function_now;
  PyObject *result = NULL;
  if (c->slots > LOOM_MAX_SLOTS) return *plain = true, NULL;
  loom_function_now = function;
  if (c->turns.clocked) c->turns.found_since = loom_clock_ns();
  entry *e = callable_entry(c, slots, symbols, plain);
  if (e && c->counts.hits >= c->turns.look_at) trial_look(c, e);
  if (e) {
    result = call_entry(c, e, slots, symbols, plain);
    *useful = e->rest.useful || e->operations > 0;
    entry_unref(e);
  }
  loom_function_now = outer;
  return result;
}

/* Warns without events for the tracer. */
static bool call_warn_untraced(void) {
  PyThreadState *thread = PyThreadState_Get();
  PyThreadState_EnterTracing(thread);
  bool good = loom_warn_notices();
  PyThreadState_LeaveTracing(thread);
  return good;
}

/* Debuggers and profilers see the user's own frames. On record once, for explain(). */
static PyObject *call_traced(callable *c, PyObject *const *args, size_t flags, PyObject *kwnames) {
  const break_info why = {.reason = BREAK_TRACING};
  if (!c->report.breaks && !callable_record_break(c, &why)) return NULL;
  if (!c->place.quiet) {
    loom_notice(
        LOOM_NOTICE_TRACED,
        "a debugger, profiler, tracer or coverage tool is active: compiled functions run as plain "
        "Python meanwhile");
    if (!call_warn_untraced()) return NULL;
  }
  return callable_call_plain(c, args, flags, kwnames);
}

static PyObject *call_bound(callable *c, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                            bool *plain) {
  binding bound;
  PyObject *result = NULL;
  if (bind_arguments(c, args, count, kwnames, &bound))
    result = call_slots(c, bound.slots, plain);
  else
    *plain = !PyErr_Occurred();
  binding_fini(&bound);
  return result;
}

static PyObject *callable_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                     PyObject *kwnames) {
  callable *c = (callable *)self;
  if (disabled_depth || loom_all_eager) return callable_call_plain(c, args, flags, kwnames);
  if (python_is_traced()) return call_traced(c, args, flags, kwnames);
  if (c->code != c->function->func_code && !callable_refresh(c)) return NULL;
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  bool plain = false;
  PyObject *result;
  if (count == c->simple && (!kwnames || !PyTuple_GET_SIZE(kwnames)))
    result = call_slots(c, args, &plain);
  else
    result = call_bound(c, args, count, kwnames, &plain);
  return plain ? callable_call_uncompiled(c, args, flags, kwnames) : result;
}

/* ---- functions that are left to Python ---- */

/* A call that runs plain, but not without further ado: nothing below it is to be compiled, or the C
 * stack is looked after. */
__attribute__((noinline)) static PyObject *let_be_with_care(callable *c, PyObject *const *args,
                                                            size_t flags, PyObject *kwnames) {
  hook_scope scope;
  bool paused = hook_pause(&scope);
  PyObject *result = callable_call_plain(c, args, flags, kwnames);
  if (paused) hook_close(&scope);
  return result;
}

/* As few instructions as there can be: what is left to Python may take no more than 50 ns. It runs
 * plain as well while the thread is debugged or profiled, so that is not asked. */
static PyObject *let_be_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                                   PyObject *kwnames) {
  callable *c = (callable *)self;
  PyFunctionObject *function = c->function;
  if (__builtin_expect(!c->turns.let_be || c->code != function->func_code, 0)) {
    c->turns.let_be = 0;
    c->vectorcall = callable_vectorcall;
    return callable_vectorcall(self, args, flags, kwnames);
  }
  c->turns.let_be--;
  bool roomy = stack_end && (char *)__builtin_frame_address(0) > stack_end;
  if (__builtin_expect(!roomy || hook_scope_now || python_recursion_is_low(), 0))
    return let_be_with_care(c, args, flags, kwnames);
  return function->vectorcall((PyObject *)function, args, flags, kwnames);
}

bool callable_is_let_be(const callable *c) { return c->turns.left_row >= LET_BE_ROW; }

uint32_t callable_let_be(callable *c, bool settled, bool often) {
  uint64_t now = c->counts.hits + c->counts.misses, others = now - c->turns.left_at - 1;
  uint32_t stands_for = c->turns.let_be_all + 1;
  if (others && often)
    c->turns.left_row -= others < c->turns.left_row ? (uint32_t)others : c->turns.left_row;
  else if (others)
    c->turns.left_row = 0;
  if ((!others || often) && c->turns.left_row < LET_BE_ROW) c->turns.left_row++;
  c->turns.left_at = now;
  c->turns.let_be = c->turns.let_be_all = 0;
  if (settled && callable_is_let_be(c) && c->vectorcall == callable_vectorcall) {
    c->turns.let_be = c->turns.let_be_all =
        stands_for < LET_BE_MOST ? stands_for * 2 - 1 : LET_BE_MOST;
    c->vectorcall = let_be_vectorcall;
  }
  return stands_for;
}

void callable_look_at(callable *c) {
  c->turns.left_row = c->turns.let_be = c->turns.let_be_all = 0;
  if (c->vectorcall == let_be_vectorcall) c->vectorcall = callable_vectorcall;
}

/* ---- making one ----------------------------------------------------------------------------- */

/* Counts that follow from the function's code, which the user may replace at any time. */
bool callable_refresh(callable *c) {
  PyCodeObject *code = (PyCodeObject *)c->function->func_code;
  bool variadic = code->co_flags & (CO_VARARGS | CO_VARKEYWORDS);
  callable_forget(c);
  Py_XSETREF(c->code, Py_NewRef((PyObject *)code));
  c->slots = code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
             !!(code->co_flags & CO_VARKEYWORDS);
  if (c->duty.role == ROLE_COMPILE && !c->place.shared)
    c->vectorcall = generator_is_code((PyObject *)code) && !c->options.fullgraph &&
                            c->options.kind != BACKEND_EAGER
                        ? generator_vectorcall
                        : callable_vectorcall;
  c->simple =
      variadic || code->co_kwonlyargcount || c->slots > LOOM_MAX_SLOTS ? -1 : code->co_argcount;
  return true;
}

static void callable_link(callable *c) {
  c->links.next = all_callables;
  if (all_callables) all_callables->links.previous = c;
  all_callables = c;
}

static void callable_unlink(callable *c) {
  callable_links *links = &c->links;
  if (links->previous) links->previous->links.next = links->next;
  if (links->next) links->next->links.previous = links->previous;
  if (all_callables == c) all_callables = links->next;
}

static PyObject *callable_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"function", "backend", "fullgraph", "dynamic", "fastmath", "cpu",
                          "role",     "target",  "reason",    "derives", NULL};
  PyObject *function, *dynamic_object = Py_None, *target = NULL, *reason = NULL, *backend = NULL;
  const char *cpu = "native", *role = "compile";
  int fullgraph = 0, fastmath = 0, derives = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OpOpssOUp:Callable", names, &PyFunction_Type,
                                   &function, &backend, &fullgraph, &dynamic_object, &fastmath,
                                   &cpu, &role, &target, &reason, &derives))
    return NULL;
  callable *c = (callable *)type->tp_alloc(type, 0);
  if (!c) return NULL;
  c->options.derives = derives;
  c->function = (PyFunctionObject *)Py_NewRef(function);
  callable_link(c);
  if (callable_duty_init(&c->duty, role, target, reason) &&
      callable_options_init(&c->options, backend, dynamic_object, cpu, fullgraph, fastmath) &&
      callable_refresh(c)) {
    if (c->duty.role != ROLE_COMPILE) c->vectorcall = stance_vectorcall(c->duty.role);
    return (PyObject *)c;
  }
  Py_DECREF(c);
  return NULL;
}

/* A callable with the options of another one, and counts of zero. */
static callable *callable_copy(const callable *like, PyObject *function) {
  callable *c = (callable *)loom_callable_type.tp_alloc(&loom_callable_type, 0);
  if (!c) return NULL;
  c->function = (PyFunctionObject *)Py_NewRef(function);
  c->vectorcall = callable_vectorcall;
  callable_options_copy(&c->options, &like->options);
  callable_numbers_init(&c->numbers, c->options.dynamic);
  callable_link(c);
  return c;
}

callable *callable_part(callable *owner, resume_point *point, PyObject *code) {
  callable *c = callable_copy(owner, (PyObject *)owner->function);
  if (!c) {
    resume_point_free(point);
    return NULL;
  }
  callable_place_init(&c->place, owner, point);
  c->code = Py_NewRef(code);
  c->simple = -1;
  c->slots = ((PyCodeObject *)code)->co_nlocalsplus - ((PyCodeObject *)code)->co_nfreevars +
             resume_start(c)->depth + !!resume_start(c)->handled;
  return c;
}

callable *callable_shared(const callable *owner, PyObject *function) {
  callable *c = callable_copy(owner, function);
  if (!c || !callable_refresh(c)) {
    Py_XDECREF(c);
    return NULL;
  }
  c->place.quiet = c->place.shared = true;
  resume_table_init(&c->resumes, &owner->resumes);
  return c;
}

static int callable_traverse_entries(const callable *c, visitproc visit, void *arg) {
  int stopped = 0;
  for (uint32_t i = 0; c->entries && c->entries->refs == 1 && i < c->entries->count && !stopped;
       i++)
    stopped = entry_traverse(c->entries->items[i], visit, arg);
  return stopped;
}

static int callable_traverse(PyObject *self, visitproc visit, void *arg) {
  callable *c = (callable *)self;
  Py_VISIT(c->function);
  Py_VISIT(c->code);
  int stopped = callable_options_traverse(&c->options, visit, arg);
  if (!stopped) stopped = callable_duty_traverse(&c->duty, visit, arg);
  if (!stopped) stopped = callable_place_traverse(&c->place, visit, arg);
  if (!stopped) stopped = callable_numbers_traverse(&c->numbers, visit, arg);
  if (!stopped) stopped = report_traverse(&c->report, visit, arg);
  if (!stopped) stopped = callable_traverse_entries(c, visit, arg);
  return stopped ? stopped : resume_table_traverse(&c->resumes, visit, arg);
}

/* The function stays: a callable that the collector has found may still be called by a finalizer.
 */
static int callable_clear(PyObject *self) {
  callable_forget((callable *)self);
  return 0;
}

static void callable_dealloc(PyObject *self) {
  callable *c = (callable *)self;
  PyObject_GC_UnTrack(self);
  callable_disown(c);
  if (c->weakrefs) PyObject_ClearWeakRefs(self);
  if (c->place.shared) hook_forget(c);
  callable_unlink(c);
  callable_forget(c);
  Py_CLEAR(c->function);
  Py_CLEAR(c->code);
  callable_duty_fini(&c->duty);
  callable_options_fini(&c->options);
  callable_place_fini(&c->place);
  Py_TYPE(self)->tp_free(self);
}

/* ---- behaving like the function ------------------------------------------------------------- */

static PyObject *callable_get(PyObject *self, PyObject *object, PyObject *type) {
  if (!object || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

/* Attributes that every type has, and that are the function's here. */
static PyObject *forward_get(PyObject *self, void *name) {
  return PyObject_GetAttrString((PyObject *)((callable *)self)->function, name);
}

static int forward_set(PyObject *self, PyObject *item, void *name) {
  return PyObject_SetAttrString((PyObject *)((callable *)self)->function, name, item);
}

static PyObject *callable_getattr(PyObject *self, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  error_drop_users();
  return PyObject_GetAttr((PyObject *)((callable *)self)->function, name);
}

static int callable_setattr(PyObject *self, PyObject *name, PyObject *item) {
  if (PyUnicode_Check(name) && _PyType_Lookup(Py_TYPE(self), name))
    return PyObject_GenericSetAttr(self, name, item);
  return PyObject_SetAttr((PyObject *)((callable *)self)->function, name, item);
}

static PyObject *callable_repr(PyObject *self) {
  static const char *const words[] = {"compiled", "disabled", "skipped", "frozen"};
  callable *c = (callable *)self;
  return PyUnicode_FromFormat("<%s function %U>", words[c->duty.role], c->function->func_qualname);
}

static PyObject *callable_itself(PyObject *self, PyObject *unused) { return Py_NewRef(self); }

static PyObject *callable_reduce(PyObject *self, PyObject *unused) {
  return Py_NewRef(((callable *)self)->function->func_qualname);
}

static PyObject *callable_reset(PyObject *self, PyObject *unused) {
  callable_forget((callable *)self);
  Py_RETURN_NONE;
}

static PyMethodDef callable_methods[] = {
    {"__copy__", callable_itself, METH_NOARGS, NULL},
    {"__deepcopy__", callable_itself, METH_O, NULL},
    {"__reduce__", callable_reduce, METH_NOARGS, NULL},
    {"_report", callable_report, METH_NOARGS, "What was compiled and what was not, as a dict."},
    {"_options", callable_get_options, METH_NOARGS, "The arguments that make another one like it."},
    {"_reset", callable_reset, METH_NOARGS, "Forgets everything that was compiled."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef callable_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(callable, function), READONLY, "The plain function."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(callable, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

#define FORWARD(NAME) {NAME, forward_get, forward_set, NULL, NAME}
static PyGetSetDef callable_getset[] = {FORWARD("__name__"), FORWARD("__qualname__"),
                                        FORWARD("__doc__"),  FORWARD("__module__"),
                                        FORWARD("__dict__"), {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject loom_callable_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.Callable",
    .tp_doc = PyDoc_STR("A compiled function. Made by frameloom.compile()."),
    .tp_basicsize = sizeof(callable),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = callable_new,
    .tp_dealloc = callable_dealloc,
    .tp_traverse = callable_traverse,
    .tp_clear = callable_clear,
    .tp_repr = callable_repr,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(callable, vectorcall),
    .tp_weaklistoffset = offsetof(callable, weakrefs),
    .tp_descr_get = callable_get,
    .tp_getattro = callable_getattr,
    .tp_setattro = callable_setattr,
    .tp_methods = callable_methods,
    .tp_members = callable_members,
    .tp_getset = callable_getset,
};

/* ---- the module's part ---------------------------------------------------------------------- */

static PyObject *callable_unwrap(PyObject *object) {
  if (!Py_IS_TYPE(object, &loom_callable_type)) return NULL;
  const callable *c = (const callable *)object;
  return c->duty.role == ROLE_COMPILE ? (PyObject *)c->function : NULL;
}

static PyObject *callable_why_plain(PyObject *object) {
  static PyObject *nothing;
  if (!Py_IS_TYPE(object, &loom_callable_type)) return NULL;
  const callable *c = (const callable *)object;
  if (c->duty.role == ROLE_COMPILE) return NULL;
  if (c->duty.reason) return c->duty.reason;
  if (!nothing) nothing = PyUnicode_InternFromString("");
  return nothing;
}

static PyObject *callable_globals(const callable *c) { return callable_function(c)->func_globals; }

bool loom_callable_init(PyObject *module) {
  static const dispatch_hooks hooks = {.pause = hook_pause,
                                       .go_on = hook_close,
                                       .give_up = trial_give_up,
                                       .died = callable_bury_soon,
                                       .globals = callable_globals};
  loom_dispatch = &hooks;
  loom_config_changed = loom_stance_refresh;
  loom_stance_refresh();
  loom_callable_unwrap = callable_unwrap;
  loom_callable_why_plain = callable_why_plain;
  return PyType_Ready(&loom_callable_type) == 0 &&
         PyModule_AddObjectRef(module, "Callable", (PyObject *)&loom_callable_type) == 0;
}

PyObject *loom_py_callables(PyObject *module, PyObject *unused) {
  PyObject *list = PyList_New(0);
  for (callable *c = all_callables; list && c; c = c->links.next)
    if (Py_REFCNT(c) > 0 && PyList_Append(list, (PyObject *)c) < 0) Py_CLEAR(list);
  return list;
}

/* Forgetting one may free others: all are kept until it is done. */
PyObject *loom_py_reset(PyObject *module, PyObject *unused) {
  PyObject *all = loom_py_callables(module, NULL);
  if (!all) return NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); i++)
    callable_forget((callable *)PyList_GET_ITEM(all, i));
  Py_DECREF(all);
  loom_block_trim();
  Py_RETURN_NONE;
}

/* graph_break() and skip_frame() take one message; only capture uses it. */
static PyObject *module_message(PyObject *args, PyObject *kwargs, const char *format) {
  static char *names[] = {"msg", NULL};
  PyObject *message;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &message)) return NULL;
  Py_RETURN_NONE;
}

PyObject *loom_py_graph_break(PyObject *module, PyObject *args, PyObject *kwargs) {
  return module_message(args, kwargs, "|U:graph_break");
}

PyObject *loom_py_skip_frame(PyObject *module, PyObject *args, PyObject *kwargs) {
  return module_message(args, kwargs, "|U:skip_frame");
}

PyObject *loom_py_is_compiling(PyObject *module, PyObject *unused) { Py_RETURN_FALSE; }
