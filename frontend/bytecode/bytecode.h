/* Code objects: decoded, their flow and their live locals; code that is written anew; frames of the
 * interpreter and their hand-over. */
#ifndef LOOM_FRONTEND_BYTECODE_BYTECODE_H
#define LOOM_FRONTEND_BYTECODE_BYTECODE_H

#include "frontend/base/python.h"
#include "graph/graph.h"

#define LOOM_MAX_SLOTS 256 /* of a frame that is left or entered in the middle */

typedef struct slot_set {
  uint64_t bits[LOOM_MAX_SLOTS / 64];
} slot_set;

static inline bool slot_has(const slot_set *s, Py_ssize_t i) {
  return s->bits[i / 64] >> i % 64 & 1;
}
static inline void slot_add(slot_set *s, Py_ssize_t i) { s->bits[i / 64] |= (uint64_t)1 << i % 64; }

static inline void slot_add_all(slot_set *s, const slot_set *more) {
  for (int i = 0; i < LOOM_MAX_SLOTS / 64; i++)
    s->bits[i] |= more->bits[i];
}

static inline bool slot_any(const slot_set *s) {
  uint64_t all = 0;
  for (int i = 0; i < LOOM_MAX_SLOTS / 64; i++)
    all |= s->bits[i];
  return all != 0;
}

static inline void slot_drop(slot_set *s, Py_ssize_t i) {
  s->bits[i / 64] &= ~((uint64_t)1 << i % 64);
}

/* Binary operators are numbered as in the BINARY_OP of CPython 3.11 (NB_ADD ...). Unary operators:
 */
enum { UNOP_NEG, UNOP_POS, UNOP_INVERT, UNOP_NOT, UNOP_ABS };

typedef enum loom_bytecode {
#define LOOM_BYTECODE(NAME, REACH) BC_##NAME,
#include "frontend/bytecode/bytecode.def"
#undef LOOM_BYTECODE
  BC_COUNT
} loom_bytecode;

typedef struct loom_instr {
  loom_bytecode op;
  int32_t arg;
  int32_t target; /* of a jump: an instruction, else -1 */
  int32_t unit;   /* where it stands in co_code, in code units: never less than the one before */
  int32_t line, column; /* in the file, from 1; column 0: none */
} loom_instr;

/* Row of the exception table: an exception in [begin, end) goes to `target` with `depth` stack
 * items kept. */
typedef struct loom_handler {
  int32_t begin, end, target, depth;
  bool lasti;
} loom_handler;

typedef struct loom_code {
  PyCodeObject *object; /* borrowed */
  loom_instr *instrs;
  loom_handler *handlers;
  int32_t count, handler_count;
  int32_t locals; /* fast locals, cells and free variables together */
  int32_t stack;
} loom_code;

/* The slots of a frame that a CALL takes: two for the callable (with self or NULL), then the other
 * arguments. Empty: the instruction is no CALL. */
typedef struct call_place {
  int32_t begin, end;
} call_place;

/* Longer code has no flow: its sets would take megabytes. */
#define FLOW_LONGEST 4096
struct _PyInterpreterFrame;
typedef PyObject *frame_evaluator(PyThreadState *, struct _PyInterpreterFrame *, int);

/* Constants in the code that encode_step() makes, by which that code talks to the driver
 * (handover.c). */
typedef enum handover_role {
  HANDOVER_GIVE,   /* `~` of the constant gives the next object of the frame's state */
  HANDOVER_ENTER,  /* the code asks for its truth when the state is restored: that may raise */
  HANDOVER_LEAVE,  /* true (or: contains the exception) when the frame is to go on by itself */
  HANDOVER_RESULT, /* `~` of the constant gives the result of a frame that was not evaluated, or
                      raises */
  HANDOVER_EXIT0,  /* ends the tuple that a frame returns: it was left behind the instruction */
  HANDOVER_EXIT1,  /* the frame was left behind a jump that was taken */
  HANDOVER_EXIT2,  /* the frame was left before the handler of an exception */
  HANDOVER_ROLES
} handover_role;

/* What the code asks the driver, by the truth of a constant or by `~` of it. */
typedef enum generator_role {
  GENERATOR_CHOOSE, /* true: the exit taken is in the upper half of the candidates (binary search)
                     */
  GENERATOR_FILL,   /* fills the stack; may raise */
  GENERATOR_RESULT, /* `~` of it is the generator's return value */
  GENERATOR_PLACE   /* and those behind it: true when a part has run, and an exit is to be taken */
} generator_role;

/* ---- recode.c: for tests: decoding and encoding a code object ---- */

/* For tests: a code object decoded and encoded again. METH_O. */
PyObject *loom_debug_recode(PyObject *self, PyObject *code);

/* ---- rewrite.c: for tests: running code that was encoded again ---- */

/* For tests: makes a function run code that was encoded again. METH_VARARGS. */
PyObject *loom_debug_rewrite(PyObject *self, PyObject *args);

/* ---- decode.c: from a code object to our own instructions ---- */

/* Allocated in the arena; NULL with `err` set when the code makes no sense. */
loom_code *loom_decode(PyCodeObject *code, loom_arena *arena, loom_error *err);
/* Is the local made into a cell when the function starts? */
bool loom_local_is_cell(PyCodeObject *code, int32_t local);

/* ---- flow.c: joins of branches, natural loops ---- */

typedef struct loom_flow loom_flow;

/* The control flow of a code. NULL: out of memory. */
const loom_flow *flow_new(loom_arena *arena, const loom_code *code);
/* The first instruction that execution reaches both from `a` and from `b` on every path, exceptions
 * aside. The number of instructions: they only meet where the function returns. -1: nowhere. */
int32_t flow_join(const loom_flow *flow, int32_t a, int32_t b);
/* The head of the innermost loop around an instruction, or -1. */
int32_t flow_loop(const loom_flow *flow, int32_t at);
/* Is it in the loop with this head? */
bool flow_within(const loom_flow *flow, int32_t head, int32_t at);
/* Where execution goes on from this instruction: unconditional jumps are followed. */
int32_t flow_settle(const loom_code *code, int32_t at);

/* ---- live.c: liveness of locals ---- */

/* Liveness: for each instruction of a code, the locals that may be read from there on before they
 * are assigned. */
typedef struct live_locals live_locals;

live_locals *live_locals_new(loom_arena *arena, const loom_code *code); /* NULL: out of memory */
/* Which locals are live at instruction `at`. */
void live_from(const live_locals *l, int32_t at, bool *out);

/* ---- encode.c: code objects that start in the middle of a function ---- */

/* Which slots of a frame are in use before an instruction. Slots are its locals and cells (free
 * variables have none), then the items of its stack. */
typedef struct frame_shape {
  int32_t unit; /* of the instruction, in code units of co_code */
  int32_t depth;
  int32_t handled;  /* how many exception handlers surround it: if any, a slot for the
                       exception comes last */
  slot_set present; /* bound locals, items that are not NULL */
} frame_shape;

typedef struct step_code {
  PyObject *code;     /* owned */
  int32_t next[3];    /* where the function goes on behind each exit; -1: there is no such exit */
  int32_t depth[3];   /* of its stack there */
  slot_set locals[3]; /* which locals are bound there; no other slot is in use */
  /* Offset of the instruction, which the handler expects under the exception; or -1. */
  int32_t place;
  call_place call; /* when it is a CALL */
} step_code;

/* The first code unit of the instruction that `unit` belongs to, with its prefixes and with the
 * instructions that prepare a call. Of an unconditional jump: of its target. -1: there is none. */
int32_t encode_begin(PyCodeObject *code, int32_t unit);
/* Code that takes over a frame's state in front of the instruction at `at->unit`. With `whole` the
 * function goes on to its end; else one instruction is run, and the frame is left by an exit. False
 * without an exception when this cannot be done there. */
bool encode_step(PyCodeObject *code, const frame_shape *at, bool whole, step_code *out);
/* Code that returns HANDOVER_RESULT's, for a frame of `code`. NULL with an exception. */
PyObject *encode_leave(PyCodeObject *code);

/* ---- frame.c: the interpreter's own frames ---- */

/* The result of the interpreter's hook for a frame that it has not evaluated: `result`, or NULL
 * with an exception. `leave` is the code of encode_leave() for the frame's code. */
PyObject *frame_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *leave,
                      PyObject *result);
PyCodeObject *frame_code(const struct _PyInterpreterFrame *f);         /* borrowed */
PyFunctionObject *frame_function(const struct _PyInterpreterFrame *f); /* borrowed; NULL: none */
PyObject **frame_slots(struct _PyInterpreterFrame *f); /* its locals: the arguments come first */
/* If the running frame is one of `code`, and its CALL is that of the function of `f`: drops the
 * arguments from its stack, so that the frame `f` alone holds them. */
void frame_give_arguments(struct _PyInterpreterFrame *f, const PyObject *code, call_place call);
/* Is it the frame of a generator that is resumed? */
bool frame_is_generators(const struct _PyInterpreterFrame *f);
/* frames_agree(function) -> have the interpreter's frames the fields that python.h declares? The
 * function has one argument and one more local, and returns frame_probe(argument), with nothing
 * bound to the local. METH_O. */
PyObject *loom_py_frames_agree(PyObject *module, PyObject *function);
PyObject *loom_py_frame_probe(PyObject *module, PyObject *local);
/* The frame object of `code` that was left with this exception: a new reference, or NULL. */
PyObject *frame_left_by(PyObject *exception, const PyObject *code);
/* Sets the locals of a frame that was left. False: nobody else holds its frame object any more. */
bool frame_bind(PyObject *object, PyObject *const *locals, Py_ssize_t count);

/* ---- handover.c: moving a frame's state into the interpreter and back ---- */

/* What a frame's locals and stack hold, by slot: owned, NULL where nothing is. */
typedef struct frame_state {
  PyObject *items[LOOM_MAX_SLOTS];
  Py_ssize_t count;
} frame_state;

void frame_state_clear(frame_state *s);
/* Calls a function made of a step's code: the frame takes over the state, and raises a pending
 * exception. `args` are those that its code has to be given. */
PyObject *handover_call(PyObject *function, frame_state *s, PyObject *const *args, size_t count,
                        PyObject *kwnames);
/* The exit by which the frame was left that gave this result; -1: it is the function's own result.
 */
int handover_exit(PyObject *result);

/* ---- encode_generator.c: code of a generator that asks for compiled parts ---- */

/* A place where a compiled part may begin: the code asks for it there. */
typedef struct generator_place {
  int32_t unit, depth; /* in the function's own code */
  int32_t handled;     /* how many exception handlers surround it */
  bool armed;          /* the code asks for a part here: some capture has ended right before it, or
                          a part always begins here */
  uint8_t idle, failures;
} generator_place;

/* Where a part may end: in front of this instruction of the function's own code. */
typedef struct generator_exit {
  int32_t unit, depth, handled;
  int32_t places[2]; /* behind the instruction, and behind its jump; -1: none */
  uint8_t call;      /* the opcode, when it is a call's; else 0 */
  int32_t arg;       /* of a call */
} generator_exit;

typedef struct generator_layout {
  PyObject *code; /* owned */
  generator_place *places;
  generator_exit *exits; /* by unit; the last one, of no unit, returns */
  int32_t place_count, exit_count;
} generator_layout;

/* Makes the constant for a role (for places: GENERATOR_PLACE + its number): a new reference. */
typedef PyObject *generator_mark_new(void *context, int32_t role);

void generator_layout_fini(generator_layout *l);
/* How far below the top of the stack the callable of a call is, counted from 1; 0: the instruction
 * is no call. Before 3.13 a method is one place further below, instead of a NULL. */
int32_t generator_call_below(int opcode, int32_t arg);
/* Code that does what a generator's `code` does, and asks for compiled parts. False without an
 * exception: it cannot be made. */
bool encode_generator(PyCodeObject *code, generator_mark_new *mark, void *context,
                      generator_layout *out);

#endif
