/* Generators whose work between two yields is compiled.
 *
 * Sections by file: encode_generator.c, generator.c.
 */
#ifndef LOOM_FRONTEND_GENERATOR_H
#define LOOM_FRONTEND_GENERATOR_H

#include "frontend/resume.h"

/* ---- encode_generator.c: the code of such a generator (the version of CPython matters here) -----
 */

/* Where a part may begin, and is asked for. */
typedef struct generator_place {
  int32_t unit, depth; /* in the function's own code */
  int32_t handled;     /* how many handlers of exceptions it is inside of */
  bool armed;          /* capture has ended in front of what comes before it, or it always may */
  uint8_t idle, failures;
} generator_place;

/* Where a part may end: in front of an instruction of the function's own code. */
typedef struct generator_exit {
  int32_t unit, depth, handled;
  int32_t places[2]; /* behind the instruction, and behind its jump; -1: none */
  uint8_t call;      /* the opcode, when it is a call's; else 0 */
  int32_t arg;       /* of a call */
} generator_exit;

/* What the code asks of the driver, by constants whose truth it asks for, or which it inverts. */
typedef enum generator_role {
  GENERATOR_CHOOSE, /* true: the exit is in the upper half of those that are left */
  GENERATOR_FILL,   /* fills the stack; may raise */
  GENERATOR_RESULT, /* ~ of it is what the generator returns */
  GENERATOR_PLACE   /* and those behind it: true when a part has run, and an exit is to be taken */
} generator_role;

typedef struct generator_layout {
  PyObject *code; /* owned */
  generator_place *places;
  generator_exit *exits; /* by unit; the last one, of no unit, returns */
  int32_t place_count, exit_count;
} generator_layout;
void generator_layout_fini(generator_layout *l);

/* Makes the constant for a role (for places: GENERATOR_PLACE + its number): a new reference. */
typedef PyObject *generator_mark_new(void *context, int32_t role);

/* How far under the top of the stack a call finds its callable, as from 1; 0: it is no call. Before
 * 3.13 a method comes one further below, in place of a NULL. */
int32_t generator_call_below(int opcode, int32_t arg);

/* Code that does what `code`, a generator's, does, and asks for compiled parts. False without an
 * exception when it cannot be made. */
bool encode_generator(PyCodeObject *code, generator_mark_new *mark, void *context,
                      generator_layout *out);

/* ---- generator.c ------------------------------------------------------------------------------
 */

/* Is this the code of a generator function, whose parts can be compiled? */
bool generator_is_code(const PyObject *code);
/* What is called for the callable of such a function. */
PyObject *generator_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *kwnames);
/* The generator for a frame of such a function, which is about to start and holds its arguments;
 * `c` is the shared callable for its code. NULL without an exception: it is to be a plain one. */
PyObject *generator_call_frame(callable *c, PyFunctionObject *function, PyObject *const *slots);

#endif
