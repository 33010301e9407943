/* How a frame's state goes from the driver into a frame that the interpreter runs, and back.
 *
 * References move: the driver holds none while the frame runs, so that objects die where they would
 * have died, and reference counts are those of plain Python. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"

typedef struct handover_object {
  PyObject_HEAD handover_role role;
} handover_object;

/* What the frame that is about to start takes over. */
typedef struct handover {
  frame_state *state;
  Py_ssize_t at;
  bool taken;
  PyObject *type, *raised, *traceback; /* to be raised where the frame goes on; or NULL */
  struct handover *outer;
} handover;

static _Thread_local handover *handing __attribute__((tls_model("initial-exec")));

static PyObject *handover_result(void);

static PyObject *handover_give(PyObject *self) {
  if (((handover_object *)self)->role == HANDOVER_RESULT) return handover_result();
  handover *h = handing;
  while (h && h->at < h->state->count) {
    PyObject *item = h->state->items[h->at];
    h->state->items[h->at++] = NULL;
    if (item) return item;
  }
  PyErr_SetString(PyExc_SystemError, "frameloom: a frame takes more than it was given");
  return NULL;
}

/* What the frame that is about to be left returns, or raises. */
typedef struct leaving {
  PyObject *result, *type, *raised, *traceback;
  struct leaving *outer;
} leaving;

static _Thread_local leaving *leaving_now __attribute__((tls_model("initial-exec")));

static PyObject *handover_result(void) {
  leaving *l = leaving_now;
  if (!l) {
    PyErr_SetString(PyExc_SystemError, "frameloom: no frame is being left");
    return NULL;
  }
  leaving_now = l->outer;
  if (!l->result) PyErr_Restore(l->type, l->raised, l->traceback);
  return l->result;
}

PyObject *handover_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *result) {
  leaving l = {.result = result, .outer = leaving_now};
  if (!result) PyErr_Fetch(&l.type, &l.raised, &l.traceback);
  leaving_now = &l;
  PyObject *got = _PyEval_EvalFrameDefault(state, f, 0);
  if (leaving_now == &l) { /* too deep to be evaluated */
    leaving_now = l.outer;
    Py_XDECREF(l.result);
    Py_XDECREF(l.type);
    Py_XDECREF(l.raised);
    Py_XDECREF(l.traceback);
  }
  return got;
}

static int handover_enter(void) {
  handover *h = handing;
  if (!h) return 0;
  h->taken = true;
  handing = h->outer;
  if (!h->raised) return 0;
  PyErr_Restore(h->type, h->raised, h->traceback);
  h->type = h->raised = h->traceback = NULL;
  return -1;
}

static int handover_truth(PyObject *self) {
  switch (((handover_object *)self)->role) {
  case HANDOVER_ENTER: return handover_enter();
  /* Who holds the frame expects to see it go on. */
  case HANDOVER_LEAVE: return python_is_traced() || frame_is_seen();
  default: return 1;
  }
}

static int handover_contains(PyObject *self, PyObject *raised) {
  return python_is_traced() || frame_is_seen_beside(raised);
}

static PySequenceMethods handover_sequence = {.sq_contains = handover_contains};
static PyNumberMethods handover_number = {.nb_bool = handover_truth, .nb_invert = handover_give};

static PyTypeObject handover_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name =
                                         "frameloom._native.Handover",
                                     .tp_doc = PyDoc_STR("Restores the state of a frame."),
                                     .tp_basicsize = sizeof(handover_object),
                                     .tp_flags = Py_TPFLAGS_DEFAULT,
                                     .tp_as_number = &handover_number,
                                     .tp_as_sequence = &handover_sequence};

PyObject *handover_constant(handover_role role) {
  static handover_object objects[HANDOVER_ROLES];
  handover_object *o = &objects[role];
  if (!o->ob_base.ob_type) {
    PyType_Ready(&handover_type);
    PyObject_Init((PyObject *)o, &handover_type);
    o->role = role;
  }
  return (PyObject *)o;
}

void frame_state_clear(frame_state *s) {
  for (Py_ssize_t i = 0; i < s->count; i++)
    Py_CLEAR(s->items[i]);
}

int handover_exit(PyObject *result) {
  if (!PyTuple_CheckExact(result) || !PyTuple_GET_SIZE(result)) return -1;
  PyObject *last = PyTuple_GET_ITEM(result, PyTuple_GET_SIZE(result) - 1);
  if (!last || !Py_IS_TYPE(last, &handover_type)) return -1;
  return (int)((handover_object *)last)->role - HANDOVER_EXIT0;
}

/* A signal handler may raise before the frame has taken anything: what it raised is then raised
 * where the function goes on, under the handlers there. Its traceback starts with the frame that
 * was entered in vain. */
static bool handover_retry(handover *h) {
  if (h->raised || !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_RecursionError)) return false;
  PyErr_Fetch(&h->type, &h->raised, &h->traceback);
  PyErr_NormalizeException(&h->type, &h->raised, &h->traceback);
  PyTracebackObject *first = (PyTracebackObject *)h->traceback;
  if (first) Py_SETREF(h->traceback, Py_XNewRef((PyObject *)first->tb_next));
  if (h->raised) PyException_SetTraceback(h->raised, h->traceback ? h->traceback : Py_None);
  return true;
}

PyObject *handover_call(PyObject *function, frame_state *s, PyObject *const *args, size_t count,
                        PyObject *kwnames) {
  handover h = {.state = s};
  PyObject *result = NULL;
  if (PyErr_Occurred()) {
    PyErr_Fetch(&h.type, &h.raised, &h.traceback);
    PyErr_NormalizeException(&h.type, &h.raised, &h.traceback); /* it may be only a class */
  }
  for (int attempt = 0; attempt < 2; attempt++) {
    h.outer = handing;
    handing = &h;
    result = PyObject_Vectorcall(function, args, count, kwnames);
    if (h.taken) break;
    handing = h.outer;
    if (result || attempt || !handover_retry(&h)) break;
  }
  Py_XDECREF(h.type);
  Py_XDECREF(h.raised);
  Py_XDECREF(h.traceback);
  return result;
}
