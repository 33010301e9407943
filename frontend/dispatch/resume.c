/* Going on behind a break.
 *
 * A capture that ends in front of an instruction gives what the frame holds there: its locals and
 * its stack. The interpreter then runs the instruction, in a frame that starts right there
 * (encode.c) and is left right behind it. The code after the instruction is a part of its own, with
 * guards on what the frame held. It is captured once, and found again by its place and by which
 * slots are filled. So a function with breaks is a chain of parts and instructions, and the loop in
 * this file goes along the chain. Nothing nests: a loop whose body breaks comes back to the same
 * parts, and there is one frame at a time, whose caller is the function's own.
 *
 * When the rest cannot run compiled, it runs as plain bytecode from the frame's position to the
 * function's end; never from the beginning, since the code before has had its effects.
 *
 * When the instruction raises an exception that a handler of the function takes, the frame is left
 * by an exit in front of the handler. While parts run, the exception that the thread handles is
 * that of the function's caller. The exception that the frame handles is kept with its state, and
 * is set again for each instruction.
 */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/run/run.h"

struct resume_point {
  frame_shape at;
  step_code step, rest; /* one instruction; all from there on */
  PyObject *step_function, *rest_function;
  bool tried[2]; /* has either been made? */
};

static const PyObject *resume_none[LOOM_MAX_SLOTS];

/* ---- points ---- */

void resume_point_free(resume_point *p) {
  if (!p) return;
  Py_XDECREF(p->step.code);
  Py_XDECREF(p->rest.code);
  Py_XDECREF(p->step_function);
  Py_XDECREF(p->rest_function);
  free(p);
}

void callable_place_init(callable_place *p, callable *owner, resume_point *point) {
  *p = (callable_place){.point = point, .owner = owner, .shared = owner->place.shared};
}

void callable_place_fini(callable_place *p) { resume_point_free(p->point); }

int callable_place_traverse(const callable_place *p, visitproc visit, void *arg) {
  if (!p->point) return 0;
  Py_VISIT(p->point->step_function);
  Py_VISIT(p->point->rest_function);
  return 0;
}

const frame_shape *resume_start(const callable *c) {
  return c->place.point ? &c->place.point->at : NULL;
}

static bool shape_equal(const frame_shape *a, const frame_shape *b) {
  return a->unit == b->unit && a->depth == b->depth && a->handled == b->handled &&
         !memcmp(&a->present, &b->present, sizeof a->present);
}

static callable *point_new(callable *owner, PyObject *code, const frame_shape *at) {
  resume_table *table = &owner->resumes;
  if (!loom_grow(&table->points, (size_t)table->count, &table->capacity, sizeof *table->points))
    return (callable *)PyErr_NoMemory();
  resume_point *p = calloc(1, sizeof *p);
  if (!p) return (callable *)PyErr_NoMemory();
  p->at = *at;
  callable *part = callable_part(owner, p, code);
  if (part) table->points[table->count++] = part;
  return part;
}

/* The part that starts there: a new reference, or NULL with an exception. */
static callable *point_get(callable *owner, PyObject *code, const frame_shape *at) {
  callable *part = NULL;
  for (uint32_t i = 0; i < owner->resumes.count && !part; i++) {
    callable *known = owner->resumes.points[i];
    if (known->code == code && shape_equal(&known->place.point->at, at)) part = known;
  }
  if (!part) part = point_new(owner, code, at);
  Py_XINCREF(part);
  return part;
}

callable *resume_part(callable *owner, PyObject *code, const frame_shape *at) {
  return owner->resumes.count > RESUME_MAX_POINTS ? NULL : point_get(owner, code, at);
}

static PyObject *point_make_function(const callable *part, PyObject *code) {
  const PyFunctionObject *own = callable_function(part);
  PyObject *made = PyFunction_NewWithQualName(code, own->func_globals, own->func_qualname);
  if (made && own->func_closure && PyFunction_SetClosure(made, own->func_closure)) Py_CLEAR(made);
  PyFunctionObject *function = (PyFunctionObject *)made;
  if (made) Py_SETREF(function->func_builtins, Py_NewRef(own->func_builtins));
  return made;
}

/* The function that runs one instruction, or all from there on; NULL without an exception when
 * there is none. A closure that is shared is made anew for the one that is called. */
static PyObject *point_function(callable *part, bool whole) {
  resume_point *p = part->place.point;
  step_code *s = whole ? &p->rest : &p->step;
  PyObject **function = whole ? &p->rest_function : &p->step_function;
  if (p->tried[whole] && *function) return Py_NewRef(*function);
  if (!p->tried[whole]) {
    encode_step((PyCodeObject *)part->code, &p->at, whole, s);
    p->tried[whole] = !PyErr_Occurred();
  }
  PyObject *made = s->code ? point_make_function(part, s->code) : NULL;
  if (made && !(part->place.shared && callable_function(part)->func_closure))
    *function = Py_NewRef(made);
  return made;
}

/* `call`: of the instruction that runs alone. */
static PyObject *point_call(const callable *part, PyObject *function, frame_state *s,
                            call_place call) {
  const PyCodeObject *code = (const PyCodeObject *)part->code;
  PyObject *names = NULL, *result;
  if (!callable_stack_check(part)) return NULL;
  if (!resume_none[0])
    for (int i = 0; i < LOOM_MAX_SLOTS; i++)
      resume_none[i] = Py_None;
  if (code->co_kwonlyargcount)
    names = PyTuple_GetSlice(code->co_localsplusnames, code->co_argcount,
                             code->co_argcount + code->co_kwonlyargcount);
  if (code->co_kwonlyargcount && !names) return NULL;
  hook_scope scope;
  int lent = callable_go_deeper();
  hook_open(&scope, (callable *)part, PyFunction_GET_CODE(function));
  scope.call = call;
  result =
      handover_call(function, s, (PyObject *const *)resume_none, (size_t)code->co_argcount, names);
  hook_close(&scope);
  python_recursion_take_back(lent);
  Py_XDECREF(names);
  return result;
}

/* ---- the table ---- */

bool resume_is_possible(const callable *c, const break_info *why) {
  const PyCodeObject *code = (const PyCodeObject *)c->code;
  if (c->options.fullgraph || c->options.kind == BACKEND_EAGER || why->step < 0) return false;
  if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) return false;
  if (code->co_flags & CO_GENERATOR && !c->place.point) return false;
  if (code->co_nlocalsplus - code->co_nfreevars > LOOM_MAX_SLOTS) return false;
  switch (why->reason) {
  case BREAK_LIMIT:
  case BREAK_PUT_OFF:
  case BREAK_RECURSION:
  case BREAK_TRACING: return false;
  default: return true;
  }
}

void resume_table_init(resume_table *t, const resume_table *owner) {
  t->callees = Py_XNewRef(owner->callees);
}

void resume_table_fini(resume_table *t) {
  resume_table old = *t;
  *t = (resume_table){.points = NULL};
  for (uint32_t i = 0; i < old.count; i++) {
    old.points[i]->place.owner = NULL;
    Py_DECREF(old.points[i]);
  }
  free(old.points);
  Py_XDECREF(old.callees);
  Py_XDECREF(old.generator);
}

int resume_table_traverse(const resume_table *t, visitproc visit, void *arg) {
  for (uint32_t i = 0; i < t->count; i++)
    Py_VISIT(t->points[i]);
  Py_VISIT(t->callees);
  Py_VISIT(t->generator);
  return 0;
}

/* ---- the state ---- */

/* How many slots a state has. */
static Py_ssize_t state_count(Py_ssize_t locals, const frame_shape *at) {
  return locals + at->depth + !!at->handled;
}

void resume_take(PyObject **items, PyObject *tuple, Py_ssize_t count, const slot_set *present) {
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    items[i] = NULL;
    if (!slot_has(present, i)) continue;
    items[i] = PyTuple_GET_ITEM(tuple, at);
    PyTuple_SET_ITEM(tuple, at++, NULL);
  }
  Py_DECREF(tuple);
}

static void state_take(frame_state *s, PyObject *tuple, Py_ssize_t count, const slot_set *present) {
  s->count = count;
  resume_take(s->items, tuple, count, present);
}

/* What a frame that was left by an exit gave: its stack, its locals. */
static void state_take_exit(frame_state *s, frame_shape *at, const callable *part, PyObject *tuple,
                            int number) {
  const step_code *step = &part->place.point->step;
  Py_ssize_t locals = part->slots - state_count(0, &part->place.point->at), from = 0;
  *at = (frame_shape){.unit = step->next[number],
                      .depth = step->depth[number],
                      .handled = part->place.point->at.handled,
                      .present = step->locals[number]};
  s->count = state_count(locals, at);
  for (Py_ssize_t i = 0; i < at->depth; i++, from++) {
    s->items[locals + i] = PyTuple_GET_ITEM(tuple, from);
    PyTuple_SET_ITEM(tuple, from, NULL);
    if (s->items[locals + i]) slot_add(&at->present, locals + i);
  }
  for (Py_ssize_t i = 0; i < locals; i++) {
    s->items[i] = NULL;
    if (!slot_has(&at->present, i)) continue;
    s->items[i] = PyTuple_GET_ITEM(tuple, from);
    PyTuple_SET_ITEM(tuple, from++, NULL);
  }
  Py_DECREF(tuple);
  PyObject *place = number == 2 && step->place >= 0 ? PyLong_FromLong(step->place) : NULL;
  if (place) Py_SETREF(s->items[locals + at->depth - 2], place);
}

/* ---- the loop ---- */

/* Frames that were left with an exception, whose names are kept up to date. */
#define DRIVE_LEFT 8

typedef struct drive {
  uint32_t steps;
  uint64_t builds;
  bool timed;  /* in a comparison with plain calls */
  bool useful; /* a part had something to compute */
  callable *owner;
  PyObject *code;  /* of the function when the call began (owned) */
  PyObject *outer; /* what is handled here beside it, or NULL (owned) */
  frame_state *state;
  frame_shape at;
  PyObject *left[DRIVE_LEFT]; /* frames that tracebacks have (owned), the last ones first */
  int left_count;
} drive;

/* A frame inside of a handler is entered while the thread handles its exception. */
static void drive_open(drive *d) {
  if (!d->at.handled) return;
  PyObject **handled = &d->state->items[--d->state->count];
  PyErr_SetHandledException(*handled ? *handled : Py_None);
  Py_CLEAR(*handled);
}

/* The frame was left: with its exception, when it goes on inside of a handler. */
static void drive_close(drive *d, bool goes_on) {
  PyObject *handled = goes_on && d->at.handled ? PyErr_GetHandledException() : NULL;
  if (handled) {
    d->state->items[d->state->count - 1] = handled;
    slot_add(&d->at.present, d->state->count - 1);
  } else if (goes_on && d->at.handled) {
    d->state->items[d->state->count - 1] = NULL;
  }
  PyErr_SetHandledException(d->outer ? d->outer : Py_None);
}

/* Binds the values of the variables in the frames that an exception has left. A traceback of the
 * function shows one frame, in which one sees what the names stand for now. The values die with the
 * traceback when the exception is raised again, and nothing else holds them. */
static void drive_bind_left(drive *d) {
  Py_ssize_t locals = d->state->count - state_count(0, &d->at);
  int count = d->left_count, kept = 0;
  for (int i = 0; i < count; i++) {
    PyObject *left = d->left[i];
    if (frame_bind(left, d->state->items, locals))
      d->left[kept++] = left;
    else
      Py_DECREF(left);
  }
  d->left_count = kept;
}

/* The function has returned: nobody knows what its names stood for at the end, and what they stood
 * for before is not to live for as long as a traceback. */
static void drive_end_left(drive *d, const PyObject *result) {
  static PyObject *const nothing[LOOM_MAX_SLOTS];
  const PyCodeObject *code = (const PyCodeObject *)d->code;
  Py_ssize_t locals = code->co_nlocalsplus - code->co_nfreevars;
  while (d->left_count) {
    PyObject *left = d->left[--d->left_count];
    if (result) frame_bind(left, nothing, locals);
    Py_DECREF(left);
  }
}

/* The frame of this code was left with an exception, which is on top of the stack. */
static void drive_add_left(drive *d, const PyObject *code) {
  Py_ssize_t top = d->state->count - state_count(0, &d->at) + d->at.depth - 1;
  PyObject *raised = d->state->items[top];
  PyObject *left = raised && PyExceptionInstance_Check(raised) ? frame_left_by(raised, code) : NULL;
  if (!left) return;
  if (d->left_count == DRIVE_LEFT) Py_DECREF(d->left[--d->left_count]);
  memmove(d->left + 1, d->left, (size_t)d->left_count * sizeof *d->left);
  d->left[0] = left;
  d->left_count++;
}

/* From here on as plain bytecode, which raises a pending exception first. Takes the state. */
static PyObject *drive_plain(drive *d, callable *part) {
  PyObject *type, *raised, *traceback, *result = NULL;
  plain_frame frame;
  PyErr_Fetch(&type, &raised, &traceback);
  PyObject *function = point_function(part, true);
  if (!function && !PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "frameloom: a frame cannot be entered again");
  if (type) PyErr_Restore(type, raised, traceback);
  weigh_run run;
  weigh_run_begin(&run, part);
  plain_frame_open(&frame, d->owner);
  drive_open(d);
  if (function) result = point_call(part, function, d->state, (call_place){0});
  weigh_run_end(&run, part);
  Py_XDECREF(function);
  plain_frame_close(&frame);
  frame_state_clear(d->state);
  drive_close(d, false);
  return result;
}

/* Runs the instruction in front of which the frame stands. True: the frame stands behind it. Else
 * the call has its result (*result), or has failed. */
static bool drive_step(drive *d, PyObject **result) {
  callable *part = point_get(d->owner, d->code, &d->at);
  PyObject *function = part ? point_function(part, false) : NULL;
  bool traced = callable_thread_is_traced();
  *result = NULL;
  if (part && !PyErr_Occurred() && (!function || traced)) {
    *result = drive_plain(d, part);
    Py_XDECREF(function);
    Py_DECREF(part);
    return false;
  }
  drive_open(d);
  if (function) *result = point_call(part, function, d->state, part->place.point->step.call);
  Py_XDECREF(function);
  frame_state_clear(d->state);
  int number = *result ? handover_exit(*result) : -1;
  if (number >= 0) {
    state_take_exit(d->state, &d->at, part, *result, number);
    *result = NULL;
  }
  drive_close(d, number >= 0);
  if (number == 2) drive_add_left(d, part->place.point->step.code);
  if (number >= 0) drive_bind_left(d);
  Py_XDECREF(part);
  return number >= 0;
}

/* Runs a part. A generator that it makes for what comes next is one whose parts are compiled. */
static PyObject *drive_run(const drive *d, entry *e, PyObject *const *args, const int64_t *symbols,
                           bool *plain, bool *changed) {
  hook_scope scope;
  bool hooked = e->captured->generators && e->stopped;
  if (hooked) hook_open(&scope, d->owner, d->code);
  PyObject *result = entry_run_part(e, args, symbols, plain, changed);
  if (hooked) hook_close(&scope);
  return result;
}

/* Runs the part that starts where the frame stands. True: it ended in front of another
 * instruction. */
static bool drive_part(drive *d, PyObject **result) {
  int64_t symbols[LOOM_MAX_SYMBOLS];
  callable *part = point_get(d->owner, d->code, &d->at);
  bool plain = false, changed = false;
  *result = NULL;
  if (!part) return frame_state_clear(d->state), false;
  entry *e = NULL;
  if ((!d->useful && d->steps++ > RESUME_IDLE_STEPS) || callable_thread_is_traced() ||
      d->owner->resumes.count > RESUME_MAX_POINTS)
    plain = true;
  else
    e = callable_entry(part, d->state->items, symbols, &plain);
  if (e) {
    *result = drive_run(d, e, d->state->items, symbols, &plain, &changed);
    d->useful |= e->operations > 0;
  }
  /* What was raised while nothing had been changed yet, by a signal handler that is, is raised
   * where the frame stands, under the handlers there. */
  plain |= !*result && !changed;
  if (plain)
    *result = drive_plain(d, part);
  else
    frame_state_clear(d->state);
  bool stopped = e && *result && !plain && e->stopped;
  if (stopped) {
    const frame_shape *at = &e->captured->at;
    Py_ssize_t locals = part->slots - state_count(0, &part->place.point->at);
    d->at = *at;
    state_take(d->state, *result, state_count(locals, at), &at->present);
    *result = NULL;
    drive_bind_left(d);
  }
  if (e) entry_unref(e);
  Py_DECREF(part);
  return stopped;
}

static void drive_normalise(drive *d) {
  int32_t begin = encode_begin((PyCodeObject *)d->code, d->at.unit);
  if (begin >= 0) d->at.unit = begin;
}

PyObject *resume_run(callable *c, entry *e, PyObject *const *args, const int64_t *symbols,
                     bool *fallback) {
  bool idle = !e->rest.useful && e->rest.idle >= RESUME_IDLE_RUNS;
  if (idle && loom_config.leave_slower) trial_idle(e);
  if (trial_is_plain(c, e) || idle) {
    *fallback = true;
    return NULL;
  }
  frame_state state; /* too large to be cleared */
  drive d = {.owner = c,
             .state = &state,
             .at = e->captured->at,
             .code = e->life.code,
             .outer = python_handled_here(),
             .timed = trial_watches(e),
             .builds = callable_builds,
             .useful = e->operations > 0};
  const PyCodeObject *code = (const PyCodeObject *)e->life.code;
  Py_ssize_t locals = code->co_nlocalsplus - code->co_nfreevars;
  trial_cost start = d.timed ? trial_clock(c, e) : (trial_cost){0, 0};
  Py_INCREF(c);
  Py_INCREF(d.code);
  e->refs++;
  bool changed = false;
  PyObject *result = drive_run(&d, e, args, symbols, fallback, &changed);
  if (result) {
    state_take(d.state, result, state_count(locals, &d.at), &d.at.present);
    /* What a frame started with is in its state now: nobody else is to hold it. */
    for (Py_ssize_t i = 0; c->place.shared && i < c->slots; i++)
      Py_CLEAR(((PyObject **)args)[i]);
    do
      drive_normalise(&d);
    while (drive_step(&d, &result) && drive_part(&d, &result));
  }
  if (d.timed && d.builds == callable_builds) trial_compiled(c, e, start, !result, *fallback);
  e->rest.useful |= d.useful;
  e->rest.idle += !d.useful;
  drive_end_left(&d, result);
  entry_unref(e);
  Py_XDECREF(d.outer);
  Py_DECREF(d.code);
  Py_DECREF(c);
  return result;
}
