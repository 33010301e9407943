/* The tracer: the state of one capture while it is made, and how a step ends. */
#ifndef LOOM_FRONTEND_CORE_TRACER_H
#define LOOM_FRONTEND_CORE_TRACER_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/parts.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

typedef struct function_data { /* any.a of a value_function_type; its any.b is the function's own
                                  name or NULL */
  PyCodeObject *code;
  PyObject *globals;
  value *defaults;    /* tuple value or NULL */
  value *kwdefaults;  /* dict value or NULL */
  value *closure;     /* tuple value of cells or NULL */
  bool annotated;     /* made with annotations: */
  value *annotations; /* tuple or dict value */
  value *attrs;       /* of a function made inside: the dict value of its __dict__, or NULL */
  PyObject *live;     /* the function itself, when it existed before (borrowed); or NULL */
  value *own; /* of a function made inside: a dict value with those of __name__ and the like that
                 were assigned, or NULL */
} function_data;

typedef struct frame {
  struct frame *back;
  const loom_code *code;
  function_data *function;
  value **locals; /* NULL: unbound */
  value **stack;
  value *names;   /* of the body of a class: a dict value */
  value *kwnames; /* for the next CALL: a tuple constant */
  value *thrown;  /* generators: the exception to be raised where the frame continues */
  value *handled; /* generators: the handled exception while suspended */
  int32_t sp, pc;
  struct frame *next_generator;
  bool generator, running, finished, library;
} frame;

typedef enum step { STEP_NEXT, STEP_FAIL, STEP_RETURN, STEP_YIELD } step;
typedef enum trace_status {
  TRACE_GOING,
  TRACE_RAISING, /* `raised` travels to a handler */
  TRACE_BROKEN,  /* capture->broke says why */
  TRACE_RESTART, /* a symbolic argument has to be known: start again with `numbers` changed */
  TRACE_ERROR    /* a Python exception of our own: MemoryError, KeyboardInterrupt */
} trace_status;

struct tracer {
  capture *capture;
  capture_tables *tables;
  trace_kept *kept;
  trace_status state;
  value *raised, *handled; /* `handled` NULL: what the caller handles, if anything */
  value *returned;         /* the result of the frame that has just finished (also a generator's
                              StopIteration         value) */
  frame *frame, *generators;
  uint64_t formula_symbols[LOOM_MAX_SYMBOLS]; /* for each symbol that a formula computes: the
                                                 symbols it is computed from */
  trace_memory memory;
  trace_call_state call;
  trace_outer outer;
  trace_spent spent;
  trace_constants constants;
  trace_known known;
  trace_flags flags;
  trace_late late;
  trace_live live;
  trace_loops loops;
  trace_adapters adapters;
};

/* ---- trace_state.c: how a step fails, what is appended to the capture ---- */

/* Breaks at an operation that raises an exception which capture does not follow: its type, its
 * text, or what the operation has done by then is not known. The operation then raises it for real.
 */
void *trace_raise_plainly(tracer *t, const char *format, ...);
void *trace_break(tracer *t, int reason, const char *format, ...); /* reasons: breaks.def */
loom_graph *trace_graph(tracer *t);
loom_location trace_location(tracer *t); /* of the user's instruction now being evaluated */
loom_location trace_innermost_location(const tracer *t); /* which may be in a library's code */
/* Nodes from here on belong to one checkpointed call, until its end (loom_location.checkpoint).
 * False: they already belong to a call around it. */
bool trace_checkpoint_begin(tracer *t);
void trace_checkpoint_end(tracer *t);
/* Appends a node with the current location; NULL attrs when the op has none. LOOM_NO_VALUE after
 * trace_break(). */
loom_value trace_node(tracer *t, loom_opcode op, const loom_value *operands, uint32_t count,
                      const loom_attr *attrs, uint32_t attr_count, const loom_type *type);
void trace_guard(tracer *t, guard g); /* takes over g's object and payload */
/* A guard with a copy of the payload, of an adapter's kind. False, with something pending: out of
 * memory. */
bool trace_guard_payload(tracer *t, guard_kind kind, const source *s, const loom_adapter *adapter,
                         const void *payload, size_t size);
const source *trace_source(tracer *t, source_kind kind, const source *base, PyObject *object,
                           PyObject *key, Py_ssize_t index); /* hash-consed */
/* Code that is followed for later reads this place; NULL: none. */
void trace_read_aside(tracer *t, const source *s);
/* For functions that recurse along the user's objects: false, with a break, when capture has used
 * up its share of the C stack (lists that contain themselves, or many levels of lists). */
bool trace_goes_deeper(tracer *t);
bool trace_pending(const tracer *t); /* an exception is being raised, or capture has broken off */
void *trace_alloc(tracer *t, size_t bytes); /* zeroed, lives as long as the capture is being made */
/* An array of such memory with room for one more; NULL: out of memory. */
void *trace_more(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size);
PyObject *trace_keep(tracer *t, PyObject *object); /* takes the reference, returns it borrowed */
/* For adapters. A new graph input read from `s` on each call (or the constant `constant`, whose
 * reference it takes). */
loom_value trace_input(tracer *t, loom_input_kind kind, const loom_type *type,
                       const int64_t *strides, const source *s, PyObject *constant);
/* A new graph output; its number. */
int64_t trace_output(tracer *t, loom_value v, const int64_t *strides);
void **trace_state(tracer *t,
                   const loom_adapter *adapter); /* a pointer of the adapter's own, NULL at first */
recipe *trace_recipe(
    tracer *t,
    recipe_kind kind); /* zeroed, owned by the capture; its payload and items are malloc'ed */
void trace_effect(tracer *t, effect e);
void trace_change(tracer *t, change c); /* takes over its key */
/* From here on the function ignores these floating-point flags, and reports those. */
void trace_fp_state(tracer *t, uint32_t ignored, uint32_t reported);
/* Code that is evaluated from here on will be differentiated (`begins`), or no longer. No
 * floating-point exception is reported meanwhile. When the outermost frame does it, none is
 * reported from here on, since that frame has no plain run that could report it. */
void trace_derive(tracer *t, bool begins, bool outermost);
/* Nodes made from here on are those of an operation that the code itself asks for: by this name
 * (which lasts) the library warns of it. NULL: of anything else. */
void trace_operation(tracer *t, const char *name);
int64_t trace_host(tracer *t, PyObject *row); /* takes the reference; the slot of a host call */
int32_t frame_line(const frame *f);           /* of the instruction now being evaluated */
/* pointer_map_set() in the tracer's arena; false with an error pending. */
bool trace_map_set(tracer *t, pointer_map *map, const void *key, void *item);
bool trace_charge(
    tracer *t,
    Py_ssize_t items); /* a search through so many items counts as steps, too: false after a break
                        */
void *trace_fail(tracer *t); /* a Python exception of our own is set: capture ends with it */
bool trace_grow(tracer *t, void *array, uint32_t count, uint32_t *capacity, size_t size);
void trace_restart(tracer *t, Py_ssize_t arg); /* guard this argument by value instead */
void guard_simple(tracer *t, guard_kind kind, const source *s, PyObject *object, int64_t number);
void *trace_raise_value(tracer *t, value *exception);
bool class_is_made(const tracer *t, PyObject *object); /* a class (or part of one) made inside */

/* ---- examples.c: values that stand for one element of a batch ---- */

/* From now on this value does so. False when out of memory. */
bool trace_example(tracer *t, loom_value v);
/* By value of the graph: does it depend on one of these values (NULL: of all that stand for an
 * element)? malloc'ed; NULL when out of memory. */
bool *trace_examples_mark(tracer *t, const loom_value *from, uint32_t count);

/* ---- inline ---- */

/* The value that popping an empty stack gives: only invalid bytecode does that. */
extern value value_poison;

static inline void frame_push(frame *f, value *v) { f->stack[f->sp++] = v; }

static inline value *frame_pop(frame *f) { return f->sp > 0 ? f->stack[--f->sp] : &value_poison; }

static inline value *frame_peek(frame *f, int32_t depth) {
  return depth >= 1 && f->sp >= depth ? f->stack[f->sp - depth] : &value_poison;
}

static inline step frame_result(frame *f, value *v) {
  if (!v) return STEP_FAIL;
  f->stack[f->sp++] = v;
  return STEP_NEXT;
}

#endif
