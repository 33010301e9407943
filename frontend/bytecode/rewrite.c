/* Encodes a code object again and has it run, for tests of decoding and encoding.
 *
 * encode_generator.c writes the whole function anew, with its jumps, handlers and lines. In a
 * generator, queries of that code are answered by the driver, which runs parts. Here no part runs.
 * At every `period`th query the frame is emptied as if a part had run, and the code takes the exit
 * that comes back to the same instruction, where the stack is filled again. So each function does
 * what it did, and all of the code that was written is used. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"

typedef struct rewritten {
  uint32_t refs;
  long period, asked; /* 0: never */
  generator_layout layout;
  const PyObject *consts; /* borrowed: they hold this; code.replace() makes others of one code */
  int32_t slots;          /* of the frame: where its stack begins */
} rewritten;

typedef struct hop {
  PyObject_HEAD rewritten *code;
  int32_t role;
} hop;

/* A frame whose stack was taken away, until it comes to its exit. */
static struct {
  int32_t low, high, exit, depth;
  PyObject *stack[LOOM_MAX_SLOTS]; /* owned */
} hopping;

static void rewritten_unref(rewritten *r) {
  if (--r->refs) return;
  generator_layout_fini(&r->layout);
  free(r);
}

static PyObject **hop_stack(const rewritten *r) {
  const python_frame *f = python_frame_now();
  bool own = f && f->code && PyCode_Check(f->code) &&
             ((const PyCodeObject *)f->code)->co_consts == r->consts;
  return own ? ((python_frame *)f)->slots + r->slots : NULL;
}

static int32_t hop_exit(const generator_layout *l, const generator_place *p) {
  for (int32_t i = 0; i < l->exit_count; i++)
    if (l->exits[i].unit == p->unit) return l->exits[i].depth == p->depth ? i : -1;
  return -1;
}

static int hop_place(const hop *h) {
  rewritten *r = h->code;
  const generator_place *p = &r->layout.places[h->role - GENERATOR_PLACE];
  if (!r->period || ++r->asked % r->period || p->depth > LOOM_MAX_SLOTS) return 0;
  PyObject **stack = hop_stack(r);
  int32_t exit = stack ? hop_exit(&r->layout, p) : -1;
  if (exit < 0) {
    PyErr_SetString(PyExc_SystemError, "frameloom: a place without an exit");
    return -1;
  }
  hopping.low = 0;
  hopping.high = r->layout.exit_count;
  hopping.exit = exit;
  hopping.depth = p->depth;
  for (int32_t i = 0; i < p->depth; i++) {
    hopping.stack[i] = stack[i];
    stack[i] = Py_NewRef(Py_None);
  }
  return 1;
}

static int hop_choose(void) {
  int32_t middle = hopping.low + (hopping.high - hopping.low) / 2;
  bool upper = hopping.exit >= middle;
  if (upper)
    hopping.low = middle;
  else
    hopping.high = middle;
  return upper;
}

static int hop_fill(const hop *h) {
  PyObject **stack = hop_stack(h->code);
  if (!stack || hopping.high - hopping.low != 1) {
    PyErr_SetString(PyExc_SystemError, "frameloom: another exit than the one that was chosen");
    return -1;
  }
  for (int32_t i = 0; i < hopping.depth; i++) {
    Py_XDECREF(stack[i]); /* None */
    stack[i] = hopping.stack[i];
  }
  hopping.depth = 0;
  return 0;
}

static int hop_truth(PyObject *self) {
  switch (((const hop *)self)->role) {
  case GENERATOR_CHOOSE: return hop_choose();
  case GENERATOR_FILL: return hop_fill((const hop *)self);
  case GENERATOR_RESULT: return 1;
  default: return hop_place((const hop *)self);
  }
}

static void hop_dealloc(PyObject *self) {
  rewritten_unref(((hop *)self)->code);
  PyObject_Free(self);
}

static PyNumberMethods hop_number = {.nb_bool = hop_truth};

static PyTypeObject hop_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.Hop",
                                .tp_doc = PyDoc_STR("Leads code that was written again."),
                                .tp_basicsize = sizeof(hop),
                                .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .tp_dealloc = hop_dealloc,
                                .tp_as_number = &hop_number};

static PyObject *hop_make(void *context, int32_t role) {
  rewritten *r = context;
  hop *h = PyType_Ready(&hop_type) < 0 ? NULL : PyObject_New(hop, &hop_type);
  if (!h) return NULL;
  h->code = r;
  h->role = role;
  r->refs++;
  return (PyObject *)h;
}

/* (code, period) -> code that does the same, or None where it cannot be written again. */
PyObject *loom_debug_rewrite(PyObject *self, PyObject *args) {
  PyCodeObject *code;
  long period;
  if (!PyArg_ParseTuple(args, "O!l", &PyCode_Type, &code, &period)) return NULL;
  rewritten *r = calloc(1, sizeof *r);
  if (!r) return PyErr_NoMemory();
  *r = (rewritten){.refs = 1, .period = period, .slots = code->co_nlocalsplus};
  generator_layout layout;
  PyObject *made = NULL;
  if (encode_generator(code, hop_make, r, &layout)) {
    made = layout.code;
    r->consts = ((PyCodeObject *)made)->co_consts;
    r->layout = layout;
    r->layout.code = NULL;
  }
  rewritten_unref(r);
  return made || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}
