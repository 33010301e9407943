/* What the files share that write code objects: encode.c, encode_generator.c. */
#ifndef LOOM_FRONTEND_BYTECODE_INTERNAL_H
#define LOOM_FRONTEND_BYTECODE_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"

typedef struct encoder {
  PyCodeObject *object;
  const uint8_t *bytes; /* of co_code */
  int32_t units;
  uint8_t *out;
  int32_t count, capacity; /* in code units */
  int32_t consts;          /* index of the first constant of ours */
  int32_t front;           /* units of ours, in front of the function's own */
  bool failed;
} encoder;

enum { LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };
static inline int encode_op_at(const encoder *e, int32_t unit) { return e->bytes[2 * unit]; }

/* ---- places.c: source lines and columns of instructions ---- */

void places_read(loom_code *code); /* fills in lines and columns (places.c) */

/* ---- decode.c: from a code object to our own instructions ---- */

const char *loom_bytecode_name(loom_bytecode op);

/* ---- encode.c: code objects that start in the middle of a function ---- */

/* One instruction as CPython has it, prefixes and caches included. */
typedef struct region {
  int32_t begin, op, end; /* `op`: unit of the last opcode in it */
  int32_t body;           /* what is copied starts here, behind a TO_BOOL when: */
  bool truth;             /* the truth of what is on the stack is asked for first */
  int32_t where;          /* its line, and its handler, are those of this unit */
  uint32_t arg;           /* of the opcode at `op` */
  int32_t effect[2];      /* on the depth of the stack: without and with its jump */
} region;

typedef struct jump_row {
  uint8_t opcode, forward; /* as a jump forward */
  int8_t direction, caches;
} jump_row;

/* Bytes of a table that goes with the code. */
typedef struct writer {
  uint8_t *bytes;
  size_t count, capacity;
  bool failed;
} writer;

/* *bytes: owned by the caller */
bool encode_open(encoder *e, PyCodeObject *code, PyObject **bytes);
bool encode_read_one(const encoder *e, int32_t at, region *out); /* with its prefixes and caches */
bool encode_read_region(const encoder *e, int32_t at, region *out);
/* The second half of a comparison that asks for the truth of its result takes its place. */
bool encode_read_compared(const encoder *e, region *r);
const jump_row *encode_find_jump(int opcode); /* NULL: it is not in OPCODE_JUMPS */
void encode_unit(encoder *e, int opcode, uint32_t arg);
void encode_put(encoder *e, int opcode, uint32_t arg); /* with the prefixes that it needs */
/* Writes one of the two units in front of a jump of fixed width: an EXTENDED_ARG with the lowest
 * byte of `upper`, or a NOP when `upper` is 0. */
void encode_prefix(uint8_t unit[2], uint32_t upper);
int32_t encode_jump(encoder *e, int opcode);
void encode_target(encoder *e, int32_t jump, int32_t target);
void encode_truth(encoder *e); /* in front of a jump that wants a bool */
bool encode_read_handler(const uint8_t **p, const uint8_t *last, uint32_t row[4]);
bool encode_find_handler(PyObject *table, int32_t unit, uint32_t row[4]);
void encode_write_handler(writer *w, const uint32_t row[4]);
void encode_byte(writer *w, uint32_t byte);
void encode_number(writer *w, uint32_t number);
void encode_signed(writer *w, int32_t number);

/* ---- handover.c: moving a frame's state into the interpreter and back ---- */

PyObject *handover_constant(handover_role role); /* borrowed */
/* Evaluates a frame whose code asks for HANDOVER_RESULT: it gives `result`, whose reference is
 * taken; NULL: the pending exception. */
PyObject *handover_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *result);

/* ---- frame.c: the interpreter's own frames ---- */

/* Does somebody hold the frame object of the frame that runs now? */
bool frame_is_seen(void);
/* Does somebody else than the traceback of this exception hold it? */
bool frame_is_seen_beside(PyObject *exception);

#endif
