/* Functions that are called, however deep, by code that runs for real inside of a compiled call:
 * they are compiled too, without anybody having asked for each of them.
 *
 * While such code runs, and only then, the interpreter gives each Python frame that it is about to
 * evaluate to a function of ours (PEP 523). It finds the frame's arguments bound already, so that
 * nothing has to be known of how the function was called: by an instruction, through a method or a
 * closure, as a callback of C code. There is one callable for a code object: what differs between
 * functions with the same code (closures that are made anew for each call) is read from the
 * function that is called.
 *
 * The interpreter's hook is one for all threads. It passes on, to whatever was set before: frames
 * of threads that run nothing compiled; coroutines, and generators that go on; frames in which an
 * exception is thrown; code of Python's own library, NumPy, torch and frameloom; code that turned
 * out to have nothing to compute; all frames
 * while the thread is debugged or profiled. Frames that run under a hook use the C stack, which
 * plain calls do not. When little of it is left, the hook is removed until the present frame has
 * ended.
 */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/objects.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/run/run.h"

#include <pthread.h>

#define HOOK_STACK (512 << 10) /* bytes of C stack that nothing is hooked without */

uint64_t hook_callees;

_Thread_local hook_scope *hook_scope_now __attribute__((tls_model("initial-exec")));

/* All under the GIL: */
static Py_ssize_t scope_count;      /* of all threads */
static frame_evaluator *hook_outer; /* whoever was there before */
static Py_ssize_t hook_index = -1;  /* of what is kept with code objects */

/* ---- what is kept with a code object ---- */

/* Of generators: some are compiled and some are plain, and each time that one goes on is measured.
 */
typedef struct hook_trial {
  uint32_t calls, count[2]; /* plain; compiled */
  uint64_t spent[2], least[2];
  bool open;
} hook_trial;

typedef struct hook_record {
  callable *made;          /* borrowed: it forgets itself here when it goes; or NULL */
  uint32_t idle, failures; /* calls in a row */
  bool useful, never;      /* some had something to compute; it is let alone */
  bool barred;             /* for what it is */
  PyObject *leave;         /* code for frames that were not evaluated (owned), or NULL so far */
  hook_trial trial;
  struct hook_record
      *twin_of; /* it belongs to code that asks for the parts of that one's; or NULL */
} hook_record;

/* NULL where somebody else keeps something with a code object, and we do not. */
static void record_free(void *kept) {
  if (kept) Py_XDECREF(((hook_record *)kept)->leave);
  free(kept);
}

static hook_record *record_of(PyCodeObject *code) {
  void *kept = NULL;
  if (hook_index < 0 && (hook_index = PyUnstable_Eval_RequestCodeExtraIndex(record_free)) < 0)
    return NULL;
  if (PyUnstable_Code_GetExtra((PyObject *)code, hook_index, &kept)) error_drop();
  return kept;
}

static hook_record *record_new(PyCodeObject *code) {
  hook_record *r = calloc(1, sizeof *r);
  if (r && PyUnstable_Code_SetExtra((PyObject *)code, hook_index, r)) {
    error_drop();
    free(r);
    return NULL;
  }
  if (r)
    r->barred = !(code->co_flags & CO_OPTIMIZED) || code->co_stacksize < 1 ||
                code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR) ||
                (code->co_flags & CO_GENERATOR && !generator_is_code((PyObject *)code));
  return r;
}

void hook_bar(PyCodeObject *twin, PyCodeObject *code) {
  hook_record *r = record_of(twin);
  if (!r && hook_index >= 0) r = record_new(twin);
  if (!r) return;
  r->barred = true;
  r->twin_of = record_of(code);
}

/* A new reference; NULL when out of memory. */
static PyObject *record_leave(hook_record *r, PyFunctionObject *function) {
  if (!r->leave && !(r->leave = encode_leave((PyCodeObject *)function->func_code))) error_drop();
  return Py_XNewRef(r->leave);
}

void hook_reset(const callable *c) {
  hook_record *r = c->code ? record_of((PyCodeObject *)c->code) : NULL;
  if (r && r->made == c)
    *r = (hook_record){.made = r->made, .barred = r->barred, .leave = r->leave};
}

void hook_forget(const callable *c) {
  hook_record *r = c->code ? record_of((PyCodeObject *)c->code) : NULL;
  if (r && r->made == c) *r = (hook_record){.barred = r->barred, .leave = r->leave};
}

/* ---- which callable a frame is given to ---- */

/* Codes that are equal are not the same, and the callable keeps its own alive. */
static PyObject *hook_key(const PyFunctionObject *function) {
  return PyLong_FromVoidPtr(function->func_code);
}

/* Keeps a callee alive: each callable that calls it holds a reference. */
static callable *hook_keep(callable *owner, const PyFunctionObject *function, callable *c) {
  PyObject *callees = owner->resumes.callees;
  if (c->resumes.callees == callees) return c;
  PyObject *key = hook_key(function);
  bool good = key && PyDict_SetItem(callees, key, (PyObject *)c) == 0;
  Py_XDECREF(key);
  return good ? c : NULL;
}

/* References to its code that a callable and the parts of its function have. */
static Py_ssize_t hook_own_references(const callable *c) {
  Py_ssize_t own = 1 + (c->function->func_code == c->code && !c->place.owner);
  for (uint32_t i = 0; c->entries && i < c->entries->count; i++)
    own += c->entries->items[i]->life.code == c->code;
  for (uint32_t i = 0; i < c->resumes.count; i++)
    own += hook_own_references(c->resumes.points[i]);
  return own;
}

/* Callees go whose code nobody else has any more; and the oldest one where there are too many. */
static void hook_prune(PyObject *callees) {
  PyObject *key, *called, *gone = PyList_New(0);
  for (Py_ssize_t at = 0; gone && PyDict_Next(callees, &at, &key, &called);) {
    const callable *c = (callable *)called;
    if (Py_REFCNT(c->code) <= hook_own_references(c)) PyList_Append(gone, key);
  }
  Py_ssize_t at = 0;
  if (gone && !PyList_GET_SIZE(gone) && PyDict_GET_SIZE(callees) >= HOOK_CALLEES &&
      PyDict_Next(callees, &at, &key, &called))
    PyList_Append(gone, key);
  for (Py_ssize_t i = 0; gone && i < PyList_GET_SIZE(gone); i++)
    PyDict_DelItem(callees, PyList_GET_ITEM(gone, i));
  Py_XDECREF(gone);
  error_drop();
}

static callable *hook_make(callable *owner, hook_record *r, PyFunctionObject *function) {
  PyObject *callees = owner->resumes.callees, *key = hook_key(function), *named = NULL;
  callable *known = key ? (callable *)PyDict_GetItemWithError(callees, key) : NULL, *made = NULL;
  if (key && !known && !PyErr_Occurred()) hook_prune(callees);
  if (key && !known && !PyErr_Occurred() && PyDict_GET_SIZE(callees) < HOOK_CALLEES)
    named = PyFunction_New(function->func_code, function->func_globals);
  if (named) made = callable_shared(owner, named);
  if (made && PyDict_SetItem(callees, key, (PyObject *)made) == 0) known = made;
  if (known && known == made && !r->made) r->made = made;
  Py_XDECREF(key);
  Py_XDECREF(named);
  Py_XDECREF(made);
  return known;
}

/* Borrowed; NULL: the frame is not for us. */
static callable *hook_callable(callable *owner, hook_record *r, PyFunctionObject *function) {
  callable *c = r->made;
  if (!owner->resumes.callees && !(owner->resumes.callees = PyDict_New())) return NULL;
  if (c && callable_options_agree(&c->options, &owner->options))
    c = hook_keep(owner, function, c);
  else
    c = hook_make(owner, r, function);
  return c && c->function->func_globals == function->func_globals ? c : NULL;
}

static bool hook_is_library(PyCodeObject *code, PyFunctionObject *function) {
  return loom_code_is_library(code, function->func_globals);
}

static PyObject *hook_pass(PyThreadState *state, struct _PyInterpreterFrame *f, int thrown) {
  return hook_outer ? hook_outer(state, f, thrown) : _PyEval_EvalFrameDefault(state, f, thrown);
}

/* A frame that has just been called, and is no business of ours. */
static PyObject *hook_pass_call(PyThreadState *state, struct _PyInterpreterFrame *f) {
  const hook_scope *scope = hook_scope_now;
  if (scope && scope->call.end) frame_give_arguments(f, scope->code, scope->call);
  return hook_pass(state, f, 0);
}

static PyObject *hook_evaluate(PyThreadState *state, struct _PyInterpreterFrame *f, int thrown);

/* Evaluates the frame without our hook until it has ended. */
static PyObject *hook_pass_deep(PyThreadState *state, struct _PyInterpreterFrame *f) {
  PyInterpreterState *interpreter = PyThreadState_GetInterpreter(state);
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != hook_evaluate)
    return hook_pass(state, f, 0);
  frame_evaluator *outer = hook_outer ? hook_outer : _PyEval_EvalFrameDefault;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, outer);
  PyObject *result = hook_pass(state, f, 0);
  if (scope_count && _PyInterpreterState_GetEvalFrameFunc(interpreter) == outer)
    _PyInterpreterState_SetEvalFrameFunc(interpreter, hook_evaluate);
  return result;
}

static void hook_learn(hook_record *r, bool plain, bool useful) {
  if (plain)
    r->never = ++r->failures >= HOOK_FAILURES;
  else
    r->failures = 0;
  r->useful |= useful;
  if (!plain && !r->useful) r->never = ++r->idle >= HOOK_IDLE;
}

/* The frame of a function that may be compiled. */
static PyObject *hook_call(PyThreadState *state, struct _PyInterpreterFrame *f, hook_record *r,
                           callable *c, PyFunctionObject *function) {
  bool plain = false, useful = false;
  plain_frame frame;
  PyObject *leave = PYTHON_FRAME_IS_EVALUATED ? record_leave(r, function) : NULL;
  if (PYTHON_FRAME_IS_EVALUATED && !leave) return hook_pass(state, f, 0);
  const PyCodeObject *code = (PyCodeObject *)function->func_code;
  Py_INCREF(c);
  Py_INCREF(function);
  PyObject *result = callable_call_frame(c, function, frame_slots(f), &plain, &useful);
  if (!plain || !c->weighing.put_off) hook_learn(r, plain, useful);
  interrupt_watch watch;
  if (plain && PyErr_Occurred() &&
      interrupt_open(&watch, function, frame_slots(f), code->co_argcount)) {
    result = interrupt_close(&watch, hook_pass(state, f, 0));
  } else if (plain && !PyErr_Occurred()) {
    trial_run run;
    hook_scope scope;
    trial_run_begin(&run, c);
    bool paused = run.alone && hook_pause(&scope);
    plain_frame_open(&frame, c);
    result = hook_pass(state, f, 0);
    plain_frame_close(&frame);
    if (paused) hook_close(&scope);
    trial_run_end(&run, c, result == NULL);
  } else {
    result = frame_leave(state, f, leave, result);
  }
  Py_XDECREF(leave);
  Py_DECREF(function);
  Py_DECREF(c);
  return result;
}

/* ---- generators ---- */

/* Whether compiled parts gain more than they cost shows only when a generator runs. */
static void trial_note(hook_record *r, bool compiled, uint64_t ns) {
  hook_trial *t = &r->trial;
  uint64_t most =
      t->count[compiled] ? HOOK_TRIAL_ODD * t->spent[compiled] / t->count[compiled] : ns;
  if (!t->count[compiled] || ns < t->least[compiled]) t->least[compiled] = ns;
  t->spent[compiled] += ns < most ? ns : most;
  t->count[compiled]++;
  if (t->count[0] < HOOK_TRIAL_STEPS || t->count[1] < HOOK_TRIAL_STEPS) return;
  uint64_t mean[2] = {t->spent[0] / t->count[0], t->spent[1] / t->count[1]};
  t->open = false;
  r->never = mean[1] > mean[0] / 4 * 5 && t->least[1] > t->least[0];
  if (r->never && r->made)
    trial_tell(hook_scope_now && hook_scope_now->owner ? hook_scope_now->owner : r->made,
               BREAK_SLOWER_GENERATOR, r->made->function, mean[1], mean[0]);
}

/* The frame of a generator that goes on. */
static PyObject *hook_resume(PyThreadState *state, struct _PyInterpreterFrame *f, hook_record *r) {
  bool compiled = r && r->twin_of;
  hook_record *own = compiled ? r->twin_of : r;
  if (!own || !own->trial.open) return hook_pass(state, f, 0);
  PyObject *code =
      Py_NewRef((PyObject *)frame_code(f)); /* keeps the code of which it is the twin alive, too */
  uint64_t start = loom_clock_ns();
  PyObject *result = hook_pass(state, f, 0);
  if (own->trial.open) trial_note(own, compiled, loom_clock_ns() - start);
  Py_DECREF(code);
  return result;
}

/* The frame of a generator function that is called. */
static PyObject *hook_generator(PyThreadState *state, struct _PyInterpreterFrame *f, hook_record *r,
                                callable *c, PyFunctionObject *function) {
  if (r->trial.calls++ == HOOK_TRIAL_WARM_UP) r->trial.open = loom_config.leave_slower;
  if (r->trial.open && r->trial.calls % 2) return hook_pass(state, f, 0);
  PyObject *leave = PYTHON_FRAME_IS_EVALUATED ? record_leave(r, function) : NULL, *result = NULL;
  if (PYTHON_FRAME_IS_EVALUATED && !leave) return hook_pass(state, f, 0);
  Py_INCREF(c);
  Py_INCREF(function);
  result = generator_call_frame(c, function, frame_slots(f));
  if (result || PyErr_Occurred()) {
    result = frame_leave(state, f, leave, result);
  } else {
    r->never = true;
    result = hook_pass(state, f, 0);
  }
  Py_XDECREF(leave);
  Py_DECREF(function);
  Py_DECREF(c);
  return result;
}

static PyObject *hook_evaluate(PyThreadState *state, struct _PyInterpreterFrame *f, int thrown) {
  const hook_scope *scope = hook_scope_now;
  if (!scope || !scope->owner || thrown) return hook_pass(state, f, thrown);
  PyCodeObject *code = frame_code(f);
  if ((const PyObject *)code == scope->code) return hook_pass(state, f, 0);
  hook_record *r = record_of(code);
  PyFunctionObject *function = frame_function(f);
  if (!r && hook_index >= 0 && (r = record_new(code)) && function)
    r->barred |= hook_is_library(code, function);
  if (callable_stack_left() < HOOK_STACK || python_recursion_is_low())
    return hook_pass_deep(state, f);
  bool lazy = code->co_flags & CO_GENERATOR;
  if (lazy && frame_is_generators(f)) return hook_resume(state, f, r);
  if (!r || r->never || r->barred || !function || callable_is_off())
    return hook_pass_call(state, f);
  if (lazy && python_code_is_monitored((PyObject *)code)) return hook_pass(state, f, 0);
  callable *c = hook_callable(scope->owner, r, function);
  error_drop();
  if (!c) return hook_pass(state, f, 0);
  hook_callees++;
  return lazy ? hook_generator(state, f, r, c, function) : hook_call(state, f, r, c, function);
}

static void hook_install(void) {
  PyInterpreterState *interpreter = PyInterpreterState_Get();
  frame_evaluator *now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  if (now == hook_evaluate) return;
  hook_outer = now == _PyEval_EvalFrameDefault ? NULL : now;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, hook_evaluate);
}

/* If somebody has set another hook since, it goes on calling ours, which then passes on all frames.
 */
static void hook_remove(void) {
  PyInterpreterState *interpreter = PyInterpreterState_Get();
  if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != hook_evaluate) return;
  _PyInterpreterState_SetEvalFrameFunc(interpreter,
                                       hook_outer ? hook_outer : _PyEval_EvalFrameDefault);
}

/* ---- when it is on ---- */

/* The other threads do not go on in a child of this process. */
static void hook_forked(void) {
  scope_count = 0;
  for (const hook_scope *scope = hook_scope_now; scope; scope = scope->outer)
    scope_count++;
}

bool hook_pause(hook_scope *scope) {
  if (!hook_scope_now) return false;
  *scope = (hook_scope){.outer = hook_scope_now};
  hook_scope_now = scope;
  scope_count++;
  return true;
}

/* The owner of what is called inside: callees of a shared callable belong to the callable that has
 * called it. */
void hook_open(hook_scope *scope, callable *owner, const PyObject *code) {
  if (owner->place.owner) owner = owner->place.owner;
  if (owner->place.shared && hook_scope_now && hook_scope_now->owner) owner = hook_scope_now->owner;
  *scope = (hook_scope){.owner = owner, .code = code, .outer = hook_scope_now};
  hook_scope_now = scope;
  static bool watching;
  if (!watching) watching = pthread_atfork(NULL, NULL, hook_forked) == 0;
  if (!scope_count++) hook_install();
}

callable *hook_asked(void) {
  const hook_scope *scope = hook_scope_now;
  while (scope && (!scope->owner || scope->owner->place.shared))
    scope = scope->outer;
  return scope ? scope->owner : NULL;
}

void hook_close(const hook_scope *scope) {
  hook_scope_now = scope->outer;
  if (!--scope_count) hook_remove();
}
