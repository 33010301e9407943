/* Code objects that start in the middle of a function.
 *
 * The function's own code goes behind a prologue, with its exception table and line table shifted:
 *
 *     RESUME
 *     for each local: store it, or unbind it             (the prologue has the line of the
 *     for each item of the stack: push it                 instruction that comes next)
 *     <the truth of HANDOVER_ENTER>                       signals, and what was pending, are raised
 * here <a copy of the instruction> covered by exit 2, or by the handler
 *     exit 0: when not HANDOVER_LEAVE: return (stack..., locals..., HANDOVER_EXIT0)
 *             else jump behind the original
 *     exit 1: the same behind a jump that was taken
 *     exit 2: the same in front of the handler of the original, with the exception on the stack
 *     <the function's code>
 *
 * The copy of a call includes the instructions that prepare it (KW_NAMES, PRECALL), the copy of a
 * jump the TO_BOOL before it. Where a comparison asks for the truth of its own result, the frame
 * may stand in the middle of the instruction, after the comparison. Then the copy is a TO_BOOL and
 * the jump that follows.
 */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"
#include "frontend/bytecode/opcodes.h"

/* Where the instruction's copy stands, and where exceptions of it go: -1: to the function's own
 * code. */
typedef struct front {
  int32_t begin, end, target;
} front;

/* ---- reading ---- */

bool encode_read_one(const encoder *e, int32_t at, region *out) {
  uint32_t arg = 0;
  *out = (region){.begin = at, .body = at};
  while (at < e->units && encode_op_at(e, at) == EXTENDED_ARG)
    arg = (arg | e->bytes[2 * at++ + 1]) << 8;
  if (at >= e->units) return false;
  out->op = out->where = at;
  out->arg = arg | e->bytes[2 * at + 1];
  for (at++; at < e->units && encode_op_at(e, at) == CACHE;)
    at++;
  out->end = at;
  int opcode = encode_op_at(e, out->op), oparg = opcode < HAVE_ARGUMENT ? 0 : (int)out->arg;
  for (int jump = 0; jump < 2; jump++)
    out->effect[jump] = PyCompile_OpcodeStackEffectWithJump(opcode, oparg, jump);
  if (opcode == FOR_ITER) out->effect[1] = -1; /* it goes on behind what drops the iterator */
  return true;
}

/* Joins the instruction behind `out` with it. */
static bool read_joined(const encoder *e, region *out, bool truth) {
  region next;
  if (!encode_read_one(e, out->end, &next)) return false;
  for (int jump = 0; jump < 2; jump++)
    out->effect[jump] += next.effect[jump];
  out->op = next.op;
  out->arg = next.arg;
  out->end = next.end;
  out->truth = truth;
  if (truth) out->body = next.begin;
  return true;
}

static bool truth_follows(const encoder *e, const region *r) {
  region next;
  return encode_read_one(e, r->end, &next) && opcode_takes_truth(encode_op_at(e, next.op));
}

/* The instruction at `at`, where one begins. */
bool encode_read_region(const encoder *e, int32_t at, region *out) {
  if (!encode_read_one(e, at, out)) return false;
  while (opcode_prepares_call(encode_op_at(e, out->op)))
    if (!read_joined(e, out, false)) return false;
  if (opcode_asks_truth(encode_op_at(e, out->op)) && truth_follows(e, out))
    return read_joined(e, out, true);
  return true;
}

/* The second half of a comparison that asks for the truth of its result, and what follows it. */
bool encode_read_compared(const encoder *e, region *r) {
  region next;
  if (encode_op_at(e, r->op) != COMPARE_OP || !(r->arg & OPCODE_COMPARE_TRUTH)) return false;
  if (!truth_follows(e, r) || !encode_read_one(e, r->end, &next)) return false;
  next.truth = true;
  next.where = r->op;
  next.begin = r->op + 1; /* an inline cache: what decode.c says too */
  *r = next;
  return true;
}

static bool find_region(const encoder *e, int32_t unit, region *out) {
  for (int32_t at = 0; at < e->units; at = out->end) {
    if (!encode_read_region(e, at, out)) return false;
    if (unit <= out->op) return true;
    encode_read_compared(e, out);
    if (unit < out->end) return true;
  }
  return false;
}

#define JUMP_ROW(OPCODE, FORWARD, DIRECTION, CACHES) {OPCODE, FORWARD, DIRECTION, CACHES},
static const jump_row jump_rows[] = {OPCODE_JUMPS(JUMP_ROW)};

const jump_row *encode_find_jump(int opcode) {
  for (size_t i = 0; i < sizeof jump_rows / sizeof *jump_rows; i++)
    if (jump_rows[i].opcode == opcode) return &jump_rows[i];
  return NULL;
}

bool encode_open(encoder *e, PyCodeObject *code, PyObject **bytes) {
  *bytes = PyCode_GetCode(code);
  *e = (encoder){.object = code, .consts = (int32_t)PyTuple_GET_SIZE(code->co_consts)};
  if (!*bytes) return error_drop(), false;
  e->bytes = (const uint8_t *)PyBytes_AS_STRING(*bytes);
  e->units = (int32_t)(PyBytes_GET_SIZE(*bytes) / 2);
  return true;
}

#define ENCODE_HOPS 8

static int32_t encode_jump_target(const encoder *e, const region *r) {
  bool forward = encode_op_at(e, r->op) == JUMP_FORWARD;
  return forward ? r->end + (int32_t)r->arg : r->end - (int32_t)r->arg;
}

int32_t encode_begin(PyCodeObject *code, int32_t unit) {
  PyObject *bytes;
  encoder e;
  region r;
  bool found = encode_open(&e, code, &bytes) && find_region(&e, unit, &r);
  for (int hops = 0; found && hops < ENCODE_HOPS && opcode_jumps(encode_op_at(&e, r.op)); hops++)
    found = find_region(&e, encode_jump_target(&e, &r), &r);
  Py_XDECREF(bytes);
  return found ? r.begin : -1;
}

/* ---- writing ---- */

void encode_unit(encoder *e, int opcode, uint32_t arg) {
  if (e->count >= e->capacity) {
    int32_t bigger = e->capacity ? e->capacity * 2 : 256;
    uint8_t *grown = realloc(e->out, (size_t)bigger * 2);
    if (!grown) {
      e->failed = true;
      return;
    }
    e->out = grown;
    e->capacity = bigger;
  }
  e->out[2 * e->count] = (uint8_t)opcode;
  e->out[2 * e->count++ + 1] = (uint8_t)arg;
}

void encode_put(encoder *e, int opcode, uint32_t arg) {
  for (int shift = 24; shift > 0; shift -= 8)
    if (arg >> shift) encode_unit(e, EXTENDED_ARG, arg >> shift & 0xff);
  encode_unit(e, opcode, arg & 0xff);
}

static void encode_caches(encoder *e, int count) {
  for (int i = 0; i < count; i++)
    encode_unit(e, CACHE, 0);
}

/* A debug build of CPython refuses an EXTENDED_ARG of 0 without another one in front of it. */
void encode_prefix(uint8_t unit[2], uint32_t upper) {
  unit[0] = upper ? EXTENDED_ARG : NOP;
  unit[1] = (uint8_t)upper;
}

/* A jump forward, of a width that does not depend on where it goes; see encode_target(). */
int32_t encode_jump(encoder *e, int opcode) {
  const jump_row *row = encode_find_jump(opcode);
  encode_unit(e, NOP, 0);
  encode_unit(e, NOP, 0);
  encode_unit(e, opcode, 0);
  int32_t jump = e->count - 1;
  encode_caches(e, row ? row->caches : 0);
  return jump;
}

void encode_target(encoder *e, int32_t jump, int32_t target) {
  if (e->failed) return;
  const jump_row *row = encode_find_jump(e->out[2 * jump]);
  int32_t from = jump + 1 + (row ? row->caches : 0);
  uint32_t distance = (uint32_t)(target - from);
  if (target < from || distance >= 1u << 24) e->failed = true;
  e->out[2 * jump + 1] = (uint8_t)distance;
  for (int i = 1; i < 3; i++)
    encode_prefix(&e->out[2 * (jump - i)], distance >> 8 * i);
}

/* In front of a jump that wants a bool. */
void encode_truth(encoder *e) {
#if LOOM_PYTHON >= 313
  encode_put(e, TO_BOOL, 0);
  encode_caches(e, OPCODE_TO_BOOL_CACHES);
#endif
}

static void put_contains(encoder *e) {
  encode_put(e, CONTAINS_OP, 0);
  encode_caches(e, OPCODE_CONTAINS_CACHES);
}

/* Writes the instructions at the target of a FOR_ITER that it skips. */
static void put_end_for(encoder *e) {
#if LOOM_PYTHON >= 312
  encode_put(e, END_FOR, 0);
#endif
#if LOOM_PYTHON >= 313
  encode_put(e, POP_TOP, 0);
#endif
}

static void put_constant(encoder *e, handover_role role) {
  encode_put(e, LOAD_CONST, (uint32_t)(e->consts + (int)role));
}

/* locals() takes a cell for one only if the code that made it comes before the instruction. */
static void put_cells(encoder *e, int32_t locals) {
  int32_t over = encode_jump(e, JUMP_FORWARD);
  for (int32_t i = 0; i < locals; i++)
    if (loom_local_is_cell(e->object, i)) encode_put(e, MAKE_CELL, (uint32_t)i);
  encode_target(e, over, e->count);
}

static int32_t argument_count(const PyCodeObject *code) {
  return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
         !!(code->co_flags & CO_VARKEYWORDS);
}

static void put_prologue(encoder *e, const frame_shape *at, int32_t locals) {
  encode_put(e, RESUME, 0);
  if (e->object->co_ncellvars) put_cells(e, locals);
  if (e->object->co_nfreevars) encode_put(e, COPY_FREE_VARS, (uint32_t)e->object->co_nfreevars);
  for (int32_t i = 0; i < locals + at->depth; i++) {
    bool present = slot_has(&at->present, i);
    if (present) {
      put_constant(e, HANDOVER_GIVE);
      encode_put(e, UNARY_INVERT, 0);
      if (i < locals) encode_put(e, STORE_FAST, (uint32_t)i);
    } else if (i >= locals) {
      encode_put(e, PUSH_NULL, 0);
    } else if (i < argument_count(e->object)) {
      encode_put(e, DELETE_FAST, (uint32_t)i);
    }
  }
}

static void put_enter(encoder *e) {
  put_constant(e, HANDOVER_ENTER);
  encode_truth(e);
  int32_t jump = encode_jump(e, OPCODE_JUMP_IF_TRUE);
  encode_target(e, jump, e->count);
}

/* The jump to the function's own code, and what leaves the frame. */
static int32_t put_exit(encoder *e, const step_code *s, int number) {
  if (number == 2) encode_put(e, COPY, 1);
  put_constant(e, HANDOVER_LEAVE);
  if (number == 2)
    put_contains(e);
  else
    encode_truth(e);
  int32_t stay = encode_jump(e, OPCODE_JUMP_IF_TRUE), count = s->depth[number] + 1;
  for (int32_t i = 0; i < LOOM_MAX_SLOTS; i++) {
    if (!slot_has(&s->locals[number], i)) continue;
    encode_put(e, LOAD_FAST, (uint32_t)i);
    count++;
  }
  put_constant(e, (handover_role)(HANDOVER_EXIT0 + number));
  encode_put(e, BUILD_TUPLE, (uint32_t)count);
  encode_put(e, RETURN_VALUE, 0);
  return stay;
}

/* ---- tables ---- */

void encode_byte(writer *w, uint32_t byte) {
  if (w->count == w->capacity) {
    size_t bigger = w->capacity ? w->capacity * 2 : 64;
    uint8_t *grown = realloc(w->bytes, bigger);
    if (!grown) {
      w->failed = true;
      return;
    }
    w->bytes = grown;
    w->capacity = bigger;
  }
  w->bytes[w->count++] = (uint8_t)byte;
}

/* A number of a row of the exception table, the largest digit first. */
static void write_handler_number(writer *w, uint32_t number, uint32_t flag) {
  int shift = 30;
  while (shift > 0 && !(number >> shift))
    shift -= 6;
  for (; shift >= 0; shift -= 6, flag = 0)
    encode_byte(w, flag | (shift ? 64u : 0u) | (number >> shift & 63u));
}

static uint32_t read_handler_number(const uint8_t **p, const uint8_t *end) {
  uint32_t number = 0;
  while (*p < end) {
    uint8_t byte = *(*p)++;
    number = number << 6 | (byte & 63u);
    if (!(byte & 64)) break;
  }
  return number;
}

void encode_write_handler(writer *w, const uint32_t row[4]) {
  for (int i = 0; i < 4; i++)
    write_handler_number(w, row[i], i ? 0 : 128);
}

/* Rows of the table: start, size, target, depth and flag. */
bool encode_read_handler(const uint8_t **p, const uint8_t *last, uint32_t row[4]) {
  for (int i = 0; i < 4; i++)
    row[i] = read_handler_number(p, last);
  return *p <= last;
}

/* The row that covers a unit. */
bool encode_find_handler(PyObject *table, int32_t unit, uint32_t row[4]) {
  const uint8_t *p = (const uint8_t *)PyBytes_AS_STRING(table), *last = p + PyBytes_GET_SIZE(table);
  while (p < last && encode_read_handler(&p, last, row))
    if ((uint32_t)unit >= row[0] && (uint32_t)unit < row[0] + row[1]) return true;
  return false;
}

/* `begin` to `end` is handled as `unit` is, by `target` or (-1) the function's own code; then come
 * the function's own rows. */
static void write_handlers(writer *w, PyObject *table, int32_t unit, int32_t begin, int32_t end,
                           int32_t target, int32_t shift) {
  const uint8_t *p = (const uint8_t *)PyBytes_AS_STRING(table), *last = p + PyBytes_GET_SIZE(table);
  uint32_t row[4];
  if (encode_find_handler(table, unit, row)) {
    row[0] = (uint32_t)begin;
    row[1] = (uint32_t)(end - begin);
    row[2] = target >= 0 ? (uint32_t)target : row[2] + (uint32_t)shift;
    encode_write_handler(w, row);
  }
  while (p < last && encode_read_handler(&p, last, row)) {
    row[0] += (uint32_t)shift;
    row[2] += (uint32_t)shift;
    encode_write_handler(w, row);
  }
}

void encode_number(writer *w, uint32_t number) {
  for (; number >= 64; number >>= 6)
    encode_byte(w, 64 | (number & 63));
  encode_byte(w, number);
}

void encode_signed(writer *w, int32_t number) {
  encode_number(w, number < 0 ? (uint32_t)-number << 1 | 1 : (uint32_t)number << 1);
}

/* All `count` units stand where `unit` of the function stands; the last one is back on the first
 * line, where the function's own table starts. */
static void write_lines(writer *w, PyCodeObject *code, int32_t unit, int32_t count) {
  int line = 0, column = -1, end_line = 0, end_column = -1;
  PyCode_Addr2Location(code, unit * 2, &line, &column, &end_line, &end_column);
  int kind = line <= 0                                         ? LOCATION_NONE
             : column < 0 || end_column < 0 || end_line < line ? LOCATION_NO_COLUMNS
                                                               : LOCATION_LONG;
  int32_t delta = line > 0 ? line - code->co_firstlineno : 0, first = delta;
  for (int32_t left = count - 1; left > 0; left -= 8, first = 0) {
    encode_byte(w, 128u | (uint32_t)kind << 3 | (uint32_t)((left < 8 ? left : 8) - 1));
    if (kind != LOCATION_NONE) encode_signed(w, first);
    if (kind != LOCATION_LONG) continue;
    encode_number(w, (uint32_t)(end_line - line));
    encode_number(w, (uint32_t)column + 1);
    encode_number(w, (uint32_t)end_column + 1);
  }
  encode_byte(w, 128u | LOCATION_NO_COLUMNS << 3);
  encode_signed(w, -delta);
}

/* ---- one code object ---- */

static PyObject *encode_consts(const encoder *e) {
  PyObject *consts = PyTuple_New(e->consts + HANDOVER_ROLES);
  for (int32_t i = 0; consts && i < e->consts; i++)
    PyTuple_SET_ITEM(consts, i, Py_NewRef(PyTuple_GET_ITEM(e->object->co_consts, i)));
  for (int i = 0; consts && i < HANDOVER_ROLES; i++)
    PyTuple_SET_ITEM(consts, e->consts + i, Py_NewRef(handover_constant((handover_role)i)));
  return consts;
}

static PyObject *encode_lines(const encoder *e, const region *r, int32_t shift) {
  writer w = {0};
  PyObject *own = e->object->co_linetable;
  write_lines(&w, e->object, r->where, shift);
  for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(own); i++)
    encode_byte(&w, (uint8_t)PyBytes_AS_STRING(own)[i]);
  PyObject *made =
      w.failed ? PyErr_NoMemory() : PyBytes_FromStringAndSize((char *)w.bytes, (Py_ssize_t)w.count);
  free(w.bytes);
  return made;
}

static PyObject *encode_handlers(const encoder *e, const region *r, const front *f) {
  writer w = {0};
  write_handlers(&w, e->object->co_exceptiontable, r->where, f->begin, f->end, f->target, e->front);
  PyObject *made =
      w.failed ? PyErr_NoMemory() : PyBytes_FromStringAndSize((char *)w.bytes, (Py_ssize_t)w.count);
  free(w.bytes);
  return made;
}

static PyObject *encode_object(const encoder *e, const region *r, const front *f, int32_t stack) {
  PyObject *handlers = encode_handlers(e, r, f), *lines = encode_lines(e, r, e->front),
           *consts = encode_consts(e), *kwargs = NULL, *replace = NULL, *none = PyTuple_New(0),
           *made = NULL;
  if (handlers && lines && consts && none)
    kwargs = Py_BuildValue("{sNsOsOsOsi}", "co_code",
                           PyBytes_FromStringAndSize((char *)e->out, (Py_ssize_t)e->count * 2),
                           "co_consts", consts, "co_exceptiontable", handlers, "co_linetable",
                           lines, "co_stacksize", (int)stack);
  if (kwargs) replace = PyObject_GetAttrString((PyObject *)e->object, "replace");
  if (replace) made = PyObject_Call(replace, none, kwargs);
  Py_XDECREF(handlers);
  Py_XDECREF(lines);
  Py_XDECREF(consts);
  Py_XDECREF(kwargs);
  Py_XDECREF(replace);
  Py_XDECREF(none);
  return made;
}

static slot_set slots_of_locals(const frame_shape *at, int32_t locals) {
  slot_set bound = at->present;
  for (int32_t i = locals; i < LOOM_MAX_SLOTS; i++)
    slot_drop(&bound, i);
  return bound;
}

/* Which locals are bound behind the instruction. What is stored may be the NULL of an unbound one.
 */
static slot_set step_bound(int opcode, uint32_t arg, const frame_shape *at, int32_t locals) {
  slot_set bound = slots_of_locals(at, locals);
  int stores = opcode == STORE_FAST;
  uint32_t first = arg;
#if LOOM_PYTHON >= 313
  if (opcode == STORE_FAST_LOAD_FAST) stores = 1, first = arg >> 4;
  if (opcode == STORE_FAST_STORE_FAST) stores = 2, first = arg >> 4;
#endif
#if LOOM_PYTHON >= 312
  if (opcode == LOAD_FAST_AND_CLEAR) slot_drop(&bound, arg);
#endif
  if (opcode == DELETE_FAST) slot_drop(&bound, arg);
  for (int i = 0; i < stores; i++) {
    uint32_t slot = i ? arg & 15 : first;
    if (slot_has(&at->present, locals + at->depth - 1 - i))
      slot_add(&bound, slot);
    else
      slot_drop(&bound, slot);
  }
  return bound;
}

/* `raw`: where the function's own code goes on. */
static void step_describe(const encoder *e, const region *r, const frame_shape *at, int32_t locals,
                          int32_t raw[3], step_code *out) {
  int opcode = encode_op_at(e, r->op);
  const jump_row *jump = encode_find_jump(opcode);
  slot_set bound = step_bound(opcode, r->arg, at, locals);
  int32_t skips = opcode == FOR_ITER ? OPCODE_FOR_SKIPS : 0;
  raw[0] = opcode_ends(opcode) ? -1 : r->end;
  raw[1] = jump ? r->end + jump->direction * (int32_t)r->arg + skips : -1;
  for (int i = 0; i < 2; i++) {
    out->depth[i] = at->depth + r->effect[i];
    out->locals[i] = bound;
    out->next[i] = raw[i] < 0 ? -1 : encode_begin(e->object, raw[i]);
  }
  uint32_t row[4];
  bool handled = encode_find_handler(e->object->co_exceptiontable, r->where, row);
  out->next[2] = raw[2] = handled ? (int32_t)row[2] : -1;
  out->depth[2] = handled ? (int32_t)(row[3] >> 1) + (int32_t)(row[3] & 1) + 1 : 0;
  out->locals[2] = slots_of_locals(at, locals);
  out->place = handled && (row[3] & 1) && opcode != RERAISE ? r->where : -1;
}

/* Instructions that only make sense where they stand. */
static bool step_stays(int opcode) {
  switch (opcode) {
  case RESUME:
  case MAKE_CELL:
  case COPY_FREE_VARS:
  case RETURN_GENERATOR:
  case YIELD_VALUE:
  case SEND:
#if LOOM_PYTHON >= 312
  case CLEANUP_THROW:
#endif
  case JUMP_FORWARD:
  case JUMP_BACKWARD:
  case JUMP_BACKWARD_NO_INTERRUPT:
  case PUSH_EXC_INFO:
  case POP_EXCEPT: return true;
  default: return false;
  }
}

/* The instruction. Gives the jump in it, or -1. */
static int32_t put_instruction(encoder *e, const region *r) {
  const jump_row *jump = encode_find_jump(encode_op_at(e, r->op));
  if (r->truth) encode_truth(e);
  if (jump) return encode_jump(e, jump->forward);
  for (int32_t i = r->body; i < r->end; i++)
    encode_unit(e, e->bytes[2 * i], e->bytes[2 * i + 1]);
  return -1;
}

/* The jump to the instruction in the function's own code. */
static int32_t put_whole(encoder *e, const region *r) {
  if (r->truth) encode_truth(e);
  return encode_jump(e, JUMP_FORWARD);
}

/* Everything in front of the function's own code. */
static void encode_front(encoder *e, const region *r, const frame_shape *at, int32_t locals,
                         bool whole, const step_code *s, const int32_t raw[3], front *out) {
  int32_t body[3] = {-1, -1, -1}, jump;
  put_prologue(e, at, locals);
  *out = (front){.begin = e->count, .target = -1};
  put_enter(e);
  jump = whole ? put_whole(e, r) : put_instruction(e, r);
  out->end = e->count;
  for (int i = 0; i < 3 && !whole; i++) {
    if (raw[i] < 0) continue;
    if (i == 1) encode_target(e, jump, e->count);
    if (i == 1 && encode_op_at(e, r->op) == FOR_ITER) put_end_for(e);
    if (i == 2) out->target = e->count;
    body[i] = put_exit(e, s, i);
  }
  encode_put(e, NOP, 0);
  if (whole) encode_target(e, jump, e->count + r->body);
  for (int i = 0; i < 3; i++)
    if (body[i] >= 0) encode_target(e, body[i], e->count + raw[i]);
  e->front = e->count;
}

static bool encode_at(encoder *e, const frame_shape *at, bool whole, step_code *out) {
  region r;
  front f;
  int32_t locals = e->object->co_nlocalsplus - e->object->co_nfreevars, raw[3];
  if (!find_region(e, at->unit, &r)) return false;
  if (!whole && step_stays(encode_op_at(e, r.op))) return false;
  step_describe(e, &r, at, locals, raw, out);
  int32_t end = e->object->co_nlocalsplus + at->depth, taken = (int32_t)r.arg + 2;
  bool call = encode_op_at(e, r.op) == CALL && taken <= at->depth;
  if (call) out->call = (call_place){end - taken, end};
  for (int i = 0; i < 3 && !whole; i++)
    if (locals + out->depth[i] + !!at->handled > LOOM_MAX_SLOTS) return false;
  encode_front(e, &r, at, locals, whole, out, raw, &f);
  int32_t stack = e->object->co_stacksize;
  for (int32_t i = 0; i < e->units; i++)
    encode_unit(e, e->bytes[2 * i], e->bytes[2 * i + 1]);
  if (e->failed) return false;
  for (int i = 0; i < 3; i++)
    if (out->depth[i] + locals + 2 > stack) stack = out->depth[i] + locals + 2;
  if (at->depth > stack) stack = at->depth;
  out->code = encode_object(e, &r, &f, stack + 2);
  return out->code != NULL;
}

/* A frame is not visible before its first RESUME: tracers that the function has set get no event of
 * its call, and it is in no traceback. */
PyObject *encode_leave(PyCodeObject *code) {
  static const uint8_t units[] = {LOAD_CONST, 0, UNARY_INVERT, 0, RETURN_VALUE, 0, RESUME, 0},
                       lines[] = {128 | LOCATION_NO_COLUMNS << 3 | 3, 0};
  PyObject *replace = PyObject_GetAttrString((PyObject *)code, "replace"), *none = PyTuple_New(0),
           *made = NULL;
  PyObject *kwargs =
      Py_BuildValue("{sy#s(O)sy#sy#}", "co_code", units, (Py_ssize_t)sizeof units, "co_consts",
                    handover_constant(HANDOVER_RESULT), "co_linetable", lines,
                    (Py_ssize_t)sizeof lines, "co_exceptiontable", units, (Py_ssize_t)0);
  if (replace && none && kwargs) made = PyObject_Call(replace, none, kwargs);
  Py_XDECREF(replace);
  Py_XDECREF(none);
  Py_XDECREF(kwargs);
  return made;
}

bool encode_step(PyCodeObject *code, const frame_shape *at, bool whole, step_code *out) {
  PyObject *bytes;
  encoder e;
  *out = (step_code){.code = NULL};
  bool good = encode_open(&e, code, &bytes) && encode_at(&e, at, whole, out);
  free(e.out);
  Py_XDECREF(bytes);
  return good;
}
