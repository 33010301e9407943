/* Generators whose work between two yields is compiled.
 *
 * The callable of a generator function calls a twin of it, whose code asks for compiled parts
 * (encode_generator.c). The result is an ordinary generator, which the interpreter itself suspends,
 * resumes and closes. At a query the driver looks at the frame. When the guards of a part that
 * starts there hold for what the frame contains, the driver runs the part and writes the part's
 * results into the frame. The code then goes on in front of the instruction at which the part ends,
 * as a rule a yield. The frame itself executes everything else: the instructions that break a
 * graph, and all instructions where nothing could be compiled.
 *
 * While a part runs, the generator's frame is hidden, as if the caller had called the part
 * directly.
 */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/opcodes.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/run/run.h"

/* What the constants of one code object share. */
typedef struct segments {
  uint32_t refs;
  PyObject *owner;         /* weak reference to the callable (owned) */
  PyObject *code;          /* the function's own (owned) */
  generator_layout layout; /* its code is borrowed: it holds the constants */
} segments;

typedef struct mark {
  PyObject_HEAD segments *segments;
  int32_t role;
} mark;

/* Between a part's end and the instruction that comes next. */
typedef struct pending {
  const segments *segments;
  int32_t low, high, exit; /* exits that are left to choose from */
  PyObject *result;        /* owned, or NULL */
  Py_ssize_t depth;
  PyObject *stack[]; /* owned */
} pending;

static _Thread_local pending *pending_now __attribute__((tls_model("initial-exec")));

static void pending_drop(void) {
  pending *p = pending_now;
  pending_now = NULL;
  if (!p) return;
  for (Py_ssize_t i = 0; i < p->depth; i++)
    Py_XDECREF(p->stack[i]);
  Py_XDECREF(p->result);
  free(p);
}

static void segments_unref(segments *s) {
  if (--s->refs) return;
  Py_XDECREF(s->owner);
  Py_XDECREF(s->code);
  s->layout.code = NULL;
  generator_layout_fini(&s->layout);
  free(s);
}

/* ---- one part ---- */

/* A function that is called in place of another has it where functions have their documentation: it
 * is nobody's who could ask for that. */
static PyFunctionObject *twin_of(PyFunctionObject *twin) {
  PyObject *kept = twin->func_doc;
  return kept && PyFunction_Check(kept) ? (PyFunctionObject *)kept : twin;
}

static Py_ssize_t segments_locals(const segments *s) {
  const PyCodeObject *code = (const PyCodeObject *)s->code;
  return code->co_nlocalsplus - code->co_nfreevars;
}

/* The frame's stack. */
static PyObject **segments_stack(const segments *s, python_frame *f) {
  return f->slots + ((const PyCodeObject *)s->code)->co_nlocalsplus;
}

/* What the frame holds, borrowed; `handled`: the exception that it handles, or NULL. */
static void frame_look(const segments *s, python_frame *f, PyObject *handled, PyObject **items,
                       frame_shape *at) {
  Py_ssize_t locals = segments_locals(s);
  PyObject **stack = segments_stack(s, f);
  for (Py_ssize_t i = 0; i < locals + at->depth; i++) {
    items[i] = i < locals ? f->slots[i] : stack[i - locals];
    if (items[i]) slot_add(&at->present, i);
  }
  if (!handled) return;
  items[locals + at->depth] = handled;
  slot_add(&at->present, locals + at->depth);
}

/* The exit that a version ends at, -1: there is none. */
static int32_t segments_exit(const segments *s, const entry *e) {
  const frame_shape *at = &e->captured->at;
  int32_t low = 0, high = s->layout.exit_count - 1;
  if (!e->stopped) return high;
  int32_t begin = encode_begin((PyCodeObject *)s->code, at->unit),
          unit = begin >= 0 && begin != at->unit ? begin : at->unit;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    const generator_exit *out = &s->layout.exits[middle];
    if (out->unit == unit)
      return out->depth == at->depth && out->handled == at->handled ? middle : -1;
    if (out->unit < unit)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

/* Gives the frame other locals, None for its stack, and lets go of what both were. `items` has room
 * for all of it. */
static void frame_put(const segments *s, python_frame *f, PyObject **items, int32_t depth) {
  Py_ssize_t locals = segments_locals(s);
  PyObject **stack = segments_stack(s, f);
  for (Py_ssize_t i = 0; i < locals; i++) {
    PyObject *before = f->slots[i];
    f->slots[i] = items[i];
    items[i] = before;
  }
  for (int32_t i = 0; i < depth; i++) {
    items[locals + i] = stack[i];
    stack[i] = Py_NewRef(Py_None);
  }
  for (Py_ssize_t i = 0; i < locals + depth; i++)
    Py_XDECREF(items[i]);
}

/* Puts what the part has left into the frame, and has the generator handle what it does there; the
 * stack waits for the exit. */
static void frame_take(const segments *s, python_frame *f, const entry *e, PyObject *result,
                       int32_t depth, pending *p) {
  Py_ssize_t locals = segments_locals(s);
  PyObject *items[LOOM_MAX_SLOTS];
  bool handled = e->captured->at.handled;
  resume_take(items, result, locals + p->depth + handled, &e->captured->at.present);
  if (handled) {
    PyErr_SetHandledException(items[locals + p->depth]);
    Py_XDECREF(items[locals + p->depth]);
  }
  for (Py_ssize_t i = 0; i < p->depth; i++)
    p->stack[i] = items[locals + i];
  frame_put(s, f, items, depth);
}

/* Lets go of what the frame holds where the generator has returned within a part: the values are
 * those from before the part, and a traceback may keep the frame. An exception among them would
 * hold that traceback. */
static void frame_drop(const segments *s, python_frame *f, int32_t depth) {
  PyObject *items[LOOM_MAX_SLOTS];
  memset(items, 0, (size_t)segments_locals(s) * sizeof *items);
  frame_put(s, f, items, depth);
}

static int part_run(segments *s, generator_place *place, python_frame *f, entry *e,
                    PyObject *const *items, const int64_t *symbols) {
  int32_t exit = segments_exit(s, e);
  Py_ssize_t depth = e->stopped ? e->captured->at.depth : 0;
  if (exit < 0) return 0;
  pending *p = calloc(1, sizeof *p + (size_t)depth * sizeof(PyObject *));
  if (!p) return PyErr_NoMemory(), -1;
  bool plain = false;
  python_frame_set(f->previous);
  PyObject *result = entry_run(e, items, symbols, &plain);
  python_frame_set(f);
  if (plain || !result) {
    free(p);
    return plain && !PyErr_Occurred() ? 0 : -1;
  }
  *p = (pending){.segments = s, .high = s->layout.exit_count, .exit = exit, .depth = depth};
  if (e->stopped) {
    frame_take(s, f, e, result, place->depth, p);
  } else {
    p->result = result;
    frame_drop(s, f, place->depth);
  }
  pending_drop();
  pending_now = p;
  const generator_exit *out = &s->layout.exits[exit];
  for (int i = 0; i < 2; i++)
    if (out->places[i] >= 0) s->layout.places[out->places[i]].armed = true;
  return 1;
}

static void place_learn(generator_place *p, const entry *e, int ran) {
  if (ran > 0 && e->operations) {
    p->idle = p->failures = 0;
  } else if (ran > 0) {
    p->armed = ++p->idle < GENERATOR_IDLE;
  } else {
    p->armed = ++p->failures < GENERATOR_FAILURES;
  }
}

/* Runs a part of the generator. 1: a part has run; 0: the generator's own code continues; -1: an
 * exception is raised. While a part runs, the thread handles the exception that the generator's
 * caller handles. */
static int place_run(segments *s, generator_place *p, python_frame *f, callable *owner) {
  PyObject *items[LOOM_MAX_SLOTS];
  int64_t symbols[LOOM_MAX_SYMBOLS];
  frame_shape at = {.unit = p->unit, .depth = p->depth, .handled = p->handled};
  bool plain = false;
  int ran = 0;
  if (owner->function->func_code != s->code) return 0;
  PyObject *handled = p->handled ? PyErr_GetHandledException() : NULL;
  if (p->handled && !handled) return 0;
  frame_look(s, f, handled, items, &at);
  if (handled) PyErr_SetHandledException(Py_None);
  PyFunctionObject *outer = loom_function_now;
  if (owner->place.shared) loom_function_now = twin_of((PyFunctionObject *)f->function);
  callable *part = resume_part(owner, s->code, &at);
  python_frame_set(f->previous);
  entry *e = part ? callable_entry(part, items, symbols, &plain) : NULL;
  python_frame_set(f);
  if (e) ran = part_run(s, p, f, e, items, symbols);
  loom_function_now = outer;
  if (PyErr_Occurred()) ran = -1;
  if (handled && ran <= 0) PyErr_SetHandledException(handled);
  Py_XDECREF(handled);
  if (e || !part || !part->weighing.put_off) place_learn(p, e, ran);
  if (e) entry_unref(e);
  Py_XDECREF(part);
  return ran;
}

/* ---- calls that break a graph -------------------------------------------------------------------
 *
 * What a call runs for real is compiled too (hook.c): the callable on the stack is replaced by one
 * that calls it so. */

typedef struct hooked {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *called; /* owned */
  callable *owner;  /* owned */
  PyObject *code;   /* of the generator (owned) */
} hooked;

static PyObject *hooked_call(PyObject *self, PyObject *const *args, size_t flags,
                             PyObject *kwnames) {
  hooked *h = (hooked *)self;
  hook_scope scope;
  Py_INCREF(self);
  hook_open(&scope, h->owner, h->code);
  PyObject *result = PyObject_Vectorcall(h->called, args, flags, kwnames);
  hook_close(&scope);
  Py_DECREF(self);
  return result;
}

static void hooked_dealloc(PyObject *self) {
  hooked *h = (hooked *)self;
  Py_DECREF(h->called);
  Py_DECREF(h->owner);
  Py_DECREF(h->code);
  PyObject_Free(self);
}

static PyTypeObject hooked_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.HookedCall",
    .tp_doc = PyDoc_STR("Calls something, and has the functions compiled that it calls."),
    .tp_basicsize = sizeof(hooked),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(hooked, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = hooked_dealloc};

/* The stack in front of a call: nothing is done where it cannot be. */
static void call_hook(const segments *s, const generator_exit *out, PyObject **stack) {
  int32_t below = generator_call_below(out->call, out->arg);
  if (!below || below > out->depth || callable_is_off()) return;
  PyObject **called = stack + out->depth - below;
  if (!OPCODE_NULL_ABOVE && out->call == CALL && below < out->depth && called[-1]) called--;
  /* What cannot be unpacked is reported with the callable's name. */
  if (out->call == CALL_FUNCTION_EX && !PyTuple_CheckExact(stack[out->depth - 1 - (out->arg & 1)]))
    return;
  PyObject *owner = *called ? python_weakref_get(s->owner) : NULL;
  hooked *h = !owner || PyType_Ready(&hooked_type) < 0 ? NULL : PyObject_New(hooked, &hooked_type);
  if (h) {
    h->vectorcall = hooked_call;
    h->called = *called;
    h->owner = (callable *)Py_NewRef(owner);
    h->code = Py_NewRef(s->code);
    *called = (PyObject *)h;
  }
  Py_XDECREF(owner);
  error_drop();
}

/* ---- what the code asks ---- */

static python_frame *segments_frame(const segments *s) {
  python_frame *f = (python_frame *)python_frame_now();
  return f && (PyObject *)f->code == s->layout.code ? f : NULL;
}

static int ask_place(const mark *m) {
  segments *s = m->segments;
  generator_place *p = &s->layout.places[m->role - GENERATOR_PLACE];
  if (!p->armed || callable_is_off()) return 0;
  python_frame *f = segments_frame(s);
  PyObject *owner = f ? python_weakref_get(s->owner) : NULL;
  if (!owner) return 0;
  s->refs++;
  int ran = place_run(s, p, f, (callable *)owner);
  segments_unref(s);
  Py_DECREF(owner);
  return ran;
}

static int ask_choose(void) {
  pending *p = pending_now;
  if (!p || p->high - p->low < 2) return 0;
  int32_t middle = p->low + (p->high - p->low) / 2;
  bool upper = p->exit >= middle;
  if (upper)
    p->low = middle;
  else
    p->high = middle;
  return upper;
}

static int ask_fill(const mark *m) {
  pending *p = pending_now;
  python_frame *f = segments_frame(m->segments);
  if (!p || !f || p->segments != m->segments) return 0;
  PyObject **stack = segments_stack(m->segments, f);
  for (Py_ssize_t i = 0; i < p->depth; i++) {
    PyObject *none = stack[i];
    stack[i] = p->stack[i];
    p->stack[i] = none;
  }
  call_hook(m->segments, &m->segments->layout.exits[p->exit], stack);
  pending_drop();
  return 0;
}

static int mark_truth(PyObject *self) {
  const mark *m = (const mark *)self;
  switch (m->role) {
  case GENERATOR_CHOOSE: return ask_choose();
  case GENERATOR_FILL: return ask_fill(m);
  case GENERATOR_RESULT: return 1;
  default: return ask_place(m);
  }
}

static PyObject *mark_invert(PyObject *self) {
  pending *p = pending_now;
  PyObject *result = p ? p->result : NULL;
  if (!result) return PyErr_SetString(PyExc_TypeError, "bad operand type for unary ~"), NULL;
  p->result = NULL;
  pending_drop();
  return result;
}

static void mark_dealloc(PyObject *self) {
  segments_unref(((mark *)self)->segments);
  PyObject_Free(self);
}

static PyNumberMethods mark_number = {.nb_bool = mark_truth, .nb_invert = mark_invert};

static PyTypeObject mark_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name =
                                     "frameloom._native.Segment",
                                 .tp_doc = PyDoc_STR("Asks for a compiled part of a generator."),
                                 .tp_basicsize = sizeof(mark),
                                 .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .tp_dealloc = mark_dealloc,
                                 .tp_as_number = &mark_number};

static PyObject *mark_make(void *context, int32_t role) {
  segments *s = context;
  mark *m = PyType_Ready(&mark_type) < 0 ? NULL : PyObject_New(mark, &mark_type);
  if (!m) return NULL;
  m->segments = s;
  m->role = role;
  s->refs++;
  return (PyObject *)m;
}

/* ---- the generator function ---- */

bool generator_is_code(const PyObject *object) {
  const PyCodeObject *code = (const PyCodeObject *)object;
  return code->co_flags & CO_GENERATOR && code->co_flags & CO_OPTIMIZED &&
         !(code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)) &&
         code->co_nlocalsplus + code->co_stacksize < LOOM_MAX_SLOTS;
}

/* Code that asks for the parts of `c`: a new reference, or NULL. */
static PyObject *generator_code(callable *c) {
  segments *s = calloc(1, sizeof *s);
  if (!s) return PyErr_NoMemory();
  s->refs = 1;
  s->owner = PyWeakref_NewRef((PyObject *)c, NULL);
  s->code = Py_NewRef(c->code);
  generator_layout layout;
  PyObject *made = NULL;
  if (s->owner && encode_generator((PyCodeObject *)s->code, mark_make, s, &layout)) {
    s->layout = layout;
    made = layout.code;
  }
  segments_unref(s);
  return made;
}

/* A function with this code that is otherwise like `own`. */
static PyObject *twin_new(PyObject *code, PyFunctionObject *own) {
  PyObject *made = PyFunction_NewWithQualName(code, own->func_globals, own->func_qualname);
  if (made && own->func_closure && PyFunction_SetClosure(made, own->func_closure)) Py_CLEAR(made);
  if (!made) return NULL;
  PyFunctionObject *twin = (PyFunctionObject *)made;
  Py_XSETREF(twin->func_name, Py_NewRef(own->func_name));
  Py_XSETREF(twin->func_builtins, Py_NewRef(own->func_builtins));
  return made;
}

/* Borrowed; NULL where there is none. */
static PyObject *generator_twin(callable *c) {
  if (c->resumes.generator) return c->resumes.generator;
  PyObject *code = generator_code(c);
  if (code) hook_bar((PyCodeObject *)code, (PyCodeObject *)c->code);
  if (code) c->resumes.generator = twin_new(code, c->function);
  Py_XDECREF(code);
  return c->resumes.generator;
}

/* Updates attributes that users may change at any time. */
static bool twin_follow(PyFunctionObject *twin, const PyFunctionObject *own) {
  PyObject *none = Py_None, *defaults = own->func_defaults ? own->func_defaults : none,
           *keywords = own->func_kwdefaults ? own->func_kwdefaults : none;
  if (twin->func_defaults != own->func_defaults &&
      PyFunction_SetDefaults((PyObject *)twin, defaults))
    return false;
  if (twin->func_kwdefaults != own->func_kwdefaults &&
      PyFunction_SetKwDefaults((PyObject *)twin, keywords))
    return false;
  if (twin->func_name != own->func_name) Py_XSETREF(twin->func_name, Py_NewRef(own->func_name));
  if (twin->func_qualname != own->func_qualname)
    Py_XSETREF(twin->func_qualname, Py_NewRef(own->func_qualname));
  return true;
}

PyObject *generator_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *kwnames) {
  callable *c = (callable *)self;
  if (callable_is_off()) return callable_call_plain(c, args, flags, kwnames);
  if (c->code != c->function->func_code) {
    if (!callable_refresh(c)) return NULL;
    return c->vectorcall(self, args, flags, kwnames);
  }
  PyObject *twin = python_code_is_monitored(c->code) ? NULL : generator_twin(c);
  if (!twin) {
    if (PyErr_Occurred()) return NULL;
    return callable_call_plain(c, args, flags, kwnames);
  }
  Py_INCREF(twin);
  PyObject *result = NULL;
  if (twin_follow((PyFunctionObject *)twin, c->function))
    result = PyObject_Vectorcall(twin, args, flags, kwnames);
  Py_DECREF(twin);
  return result;
}

/* ---- generator functions that are called by what runs for real ---- */

/* May a part still begin somewhere? */
static bool twin_asks(const PyFunctionObject *twin) {
  PyObject *consts = ((PyCodeObject *)twin->func_code)->co_consts;
  const mark *last = (mark *)PyTuple_GET_ITEM(consts, PyTuple_GET_SIZE(consts) - 1);
  const generator_layout *layout = &last->segments->layout;
  for (int32_t i = 0; i < layout->place_count; i++)
    if (layout->places[i].armed) return true;
  return false;
}

/* Calls a function that has this one's arguments with what a frame of it starts with. */
static PyObject *twin_call(PyObject *twin, const PyCodeObject *code, PyObject *const *slots) {
  int positional = code->co_argcount, named = code->co_kwonlyargcount, next = positional + named;
  PyObject *rest = code->co_flags & CO_VARARGS ? slots[next++] : NULL,
           *more = code->co_flags & CO_VARKEYWORDS ? slots[next] : NULL, *result = NULL;
  PyObject *args = PyTuple_New(positional), *all = NULL,
           *kwargs = more    ? PyDict_Copy(more)
                     : named ? PyDict_New()
                             : NULL;
  for (int i = 0; args && i < positional; i++)
    PyTuple_SET_ITEM(args, i, Py_NewRef(slots[i]));
  if (args) all = rest ? PySequence_Concat(args, rest) : Py_NewRef(args);
  bool good = all && (kwargs || (!more && !named));
  for (int i = positional; good && i < positional + named; i++)
    good = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(code->co_localsplusnames, i), slots[i]) == 0;
  if (good) result = PyObject_Call(twin, all, kwargs);
  Py_XDECREF(args);
  Py_XDECREF(all);
  Py_XDECREF(kwargs);
  return result;
}

PyObject *generator_call_frame(callable *c, PyFunctionObject *function, PyObject *const *slots) {
  PyObject *shared = generator_twin(c), *result = NULL;
  if (!shared || !twin_asks((PyFunctionObject *)shared)) return NULL;
  PyObject *twin = twin_new(((PyFunctionObject *)shared)->func_code, function);
  if (!twin) return NULL;
  Py_XSETREF(((PyFunctionObject *)twin)->func_doc, Py_NewRef((PyObject *)function));
  result = twin_call(twin, (PyCodeObject *)function->func_code, slots);
  Py_DECREF(twin);
  return result;
}
