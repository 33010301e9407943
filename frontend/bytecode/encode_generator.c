/* The rewritten code of a generator, which asks for compiled parts.
 *
 * It is the function's own code. A query is inserted wherever a part may begin, and the code that
 * runs after a part follows the function's own:
 *
 *     ...                                the function's own instructions, in their order
 *  p: if <place p>: to stub p            behind RESUME, behind what may break a graph, in handlers
 *     ...
 *     stub p: drops the stack            the driver has put None into it
 *     a binary tree of <CHOOSE>          to one of:
 *     exit k: pushes as many None as the stack is deep in front of instruction k;
 *             <FILL> puts the stack's items there, or raises what is pending, under k's handlers
 *             to instruction k, behind a query that stands in front of it
 *     exit n: returns <RESULT>
 *
 * The driver writes local variables into the frame. So yields, handlers and `yield from` are the
 * interpreter's own, in one frame. Nothing stands between a YIELD_VALUE or SEND and its RESUME:
 * CPython tells by these where a generator is suspended. Inside of an exception handler the driver
 * also sets the exception that the generator handles. Where an exception leaves a handler or a
 * `with`, the stack holds the number of an instruction, and this code numbers instructions
 * differently: no part begins or ends there. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"
#include "frontend/bytecode/opcodes.h"

#define REWRITE_UNITS 4096
#define REWRITE_ROUNDS 16
#define REWRITE_VISITS 20

/* Items of the stack, by bits: what was handled before, as PUSH_EXC_INFO leaves it, one for each
 * handler around; numbers of instructions (or items that may be either). */
typedef struct marked {
  uint64_t handled, numbers;
} marked;

typedef struct rewrite {
  encoder e;
  int32_t *depth;   /* of the stack in front of an instruction, -1: not reached */
  marked *holds;    /* which items of that stack have special kinds */
  int32_t *in, *at; /* where the instruction is: with its question, behind it */
  int32_t *place;   /* of an instruction, -1: none */
  int32_t *todo, todo_count;
  uint8_t *width;                   /* prefixes of a jump, at its first unit */
  bool *begins;                     /* does an instruction, as parts see them, begin here? */
  int32_t *origin;                  /* of each new unit: whose line it has, -1: none */
  int32_t origin_capacity, *checks; /* the jump of each place */
  int32_t body;                     /* new units of the function's own */
  writer handlers;
  generator_layout *out;
} rewrite;

/* ---- how deep the stack is ---- */

/* 0: goes on behind; 1, -1: jumps forward or back. */
static int jump_direction(int opcode) {
  const jump_row *row = encode_find_jump(opcode);
  if (row) return row->direction;
  switch (opcode) {
  case JUMP_FORWARD:
  case SEND: return 1;
  case JUMP_BACKWARD:
  case JUMP_BACKWARD_NO_INTERRUPT: return -1;
  default: return 0;
  }
}

static bool jump_always(int opcode) {
  return opcode == JUMP_FORWARD || opcode == JUMP_BACKWARD || opcode == JUMP_BACKWARD_NO_INTERRUPT;
}

/* The unit that the jump names. */
static int32_t jump_names(const rewrite *w, const region *r) {
  return r->end + jump_direction(encode_op_at(&w->e, r->op)) * (int32_t)r->arg;
}

/* Where it goes on: see OPCODE_FOR_SKIPS. */
static int32_t jump_goes(const rewrite *w, const region *r) {
  return jump_names(w, r) + (encode_op_at(&w->e, r->op) == FOR_ITER ? OPCODE_FOR_SKIPS : 0);
}

static uint64_t bits_below(int32_t depth) {
  return depth < 64 ? ((uint64_t)1 << depth) - 1 : ~(uint64_t)0;
}

static uint64_t bit_at(int32_t item) { return item >= 0 && item < 64 ? (uint64_t)1 << item : 0; }

static bool flow_reach(rewrite *w, int32_t unit, int32_t depth, marked holds) {
  if (unit < 0 || unit >= w->e.units || depth < 0) return false;
  if (w->depth[unit] >= 0 && w->depth[unit] != depth) return false;
  bool first = w->depth[unit] < 0;
  marked *known = &w->holds[unit], now = holds;
  now.handled &= bits_below(depth);
  now.numbers &= bits_below(depth);
  if (!first) {
    if (now.handled != known->handled) now.numbers = bits_below(depth);
    now.handled |= known->handled;
    now.numbers |= known->numbers;
    if (!memcmp(known, &now, sizeof now)) return true;
  }
  w->depth[unit] = depth;
  *known = now;
  w->todo[w->todo_count++] = unit;
  return true;
}

/* What a handler finds on the stack: the part that it keeps, a number perhaps, the exception. */
static bool flow_handler(rewrite *w, int32_t unit, marked holds) {
  uint32_t row[4];
  if (!encode_find_handler(w->e.object->co_exceptiontable, unit, row)) return true;
  int32_t kept = (int32_t)(row[3] >> 1), numbered = (int32_t)(row[3] & 1);
  if (kept > 62) return false;
  holds.handled &= bits_below(kept);
  holds.numbers &= bits_below(kept);
  if (numbered) holds.numbers |= bit_at(kept);
  return flow_reach(w, (int32_t)row[2], kept + numbered + 1, holds);
}

static uint64_t bits_swap(uint64_t bits, int32_t a, int32_t b) {
  bool differ = !(bits & bit_at(a)) != !(bits & bit_at(b));
  return differ ? bits ^ bit_at(a) ^ bit_at(b) : bits;
}

static bool flow_one(rewrite *w, int32_t unit) {
  region r;
  if (!encode_read_one(&w->e, unit, &r)) return false;
  int opcode = encode_op_at(&w->e, r.op), direction = jump_direction(opcode);
  int32_t depth = w->depth[unit];
  marked holds = w->holds[unit];
  if (!flow_handler(w, unit, holds)) return false;
  if (opcode == PUSH_EXC_INFO) holds.handled |= bit_at(depth - 1);
  if (opcode == SWAP) {
    holds.handled = bits_swap(holds.handled, depth - 1, depth - (int32_t)r.arg);
    holds.numbers = bits_swap(holds.numbers, depth - 1, depth - (int32_t)r.arg);
  }
  if (direction && !flow_reach(w, jump_goes(w, &r), depth + r.effect[1], holds)) return false;
  if (opcode_ends(opcode) || jump_always(opcode)) return true;
  return flow_reach(w, r.end, depth + r.effect[0], holds);
}

/* From behind the first RESUME on. */
static bool flow_run(rewrite *w, int32_t *begin) {
  region r;
  for (int32_t unit = 0; unit <= w->e.units; unit++)
    w->depth[unit] = -1;
  for (*begin = 0; encode_read_one(&w->e, *begin, &r); *begin = r.end)
    if (encode_op_at(&w->e, r.op) == RESUME) break;
  *begin = r.end;
  if (!flow_reach(w, *begin, 0, (marked){0})) return false;
  /* Each unit comes in once, and again when more is marked. */
  for (int32_t at = 0; at < w->todo_count; at++)
    if (w->todo_count > w->e.units * (REWRITE_VISITS - 1) || !flow_one(w, w->todo[at]))
      return false;
  return true;
}

int32_t generator_call_below(int opcode, int32_t arg) {
  int32_t nulls = OPCODE_NULL_ABOVE; /* items between the callable and its arguments */
  switch (opcode) {
  case CALL: return arg + 1 + nulls;
  case CALL_FUNCTION_EX: return 2 + (arg & 1) + nulls;
#if LOOM_PYTHON >= 313
  case CALL_KW: return arg + 2 + nulls;
#endif
  default: return 0;
  }
}

/* ---- where parts may begin and end ---- */

/* Instructions at which no capture ends, but because of what follows. */
static bool op_is_trivial(int opcode) {
  switch (opcode) {
  case RESUME:
  case LOAD_CONST:
  case LOAD_FAST:
  case STORE_FAST:
  case POP_TOP:
  case COPY:
  case SWAP:
  case PUSH_NULL:
  case NOP:
  case LOAD_CLOSURE:
  case LOAD_GLOBAL:
  case BUILD_TUPLE:
  case BUILD_LIST:
  case YIELD_VALUE:
  case JUMP_FORWARD:
  case JUMP_BACKWARD:
  case JUMP_BACKWARD_NO_INTERRUPT:
  case RERAISE:
  case RETURN_VALUE: return true;
  default: return opcode_ends(opcode);
  }
}

/* How many handlers of exceptions an instruction is inside of. */
static int32_t level_at(const rewrite *w, int32_t unit) {
  return __builtin_popcountll(w->holds[unit].handled);
}

/* The number of the place at a unit, -1: there can be none. */
static int32_t place_at(rewrite *w, int32_t unit, bool armed) {
  generator_layout *out = w->out;
  if (unit < 0 || unit >= w->e.units || w->depth[unit] < 0 || w->holds[unit].numbers ||
      !w->begins[unit])
    return -1;
  if (w->place[unit] < 0) {
    w->place[unit] = out->place_count;
    out->places[out->place_count++] = (generator_place){
        .unit = unit, .depth = w->depth[unit], .handled = level_at(w, unit), .armed = armed};
  }
  out->places[w->place[unit]].armed |= armed;
  return w->place[unit];
}

static void exit_add(rewrite *w, const region *r, int32_t depth) {
  int opcode = encode_op_at(&w->e, r->op);
  generator_exit *out = &w->out->exits[w->out->exit_count++];
  *out = (generator_exit){
      .unit = r->begin, .depth = depth, .handled = level_at(w, r->begin), .places = {-1, -1}};
  if (op_is_trivial(opcode)) return;
  if (generator_call_below(opcode, (int32_t)r->arg)) {
    out->call = (uint8_t)opcode;
    out->arg = (int32_t)r->arg;
  }
  /* The loop of a `yield from` stays as it is. */
  if (opcode != SEND) out->places[0] = place_at(w, r->end, false);
  if (jump_direction(opcode)) out->places[1] = place_at(w, jump_goes(w, r), opcode == SEND);
}

static bool resumes_yield(const rewrite *w, const region *r) {
  return encode_op_at(&w->e, r->op) == RESUME && (r->arg & 3) == 1;
}

static void find_begins(rewrite *w) {
  region r;
  for (int32_t unit = 0; encode_read_region(&w->e, unit, &r); unit = r.end) {
    w->begins[r.begin] = true;
    encode_read_compared(&w->e, &r); /* nothing begins at its second half */
  }
}

static void find_exits(rewrite *w, int32_t begin) {
  region r;
  place_at(w, begin, true);
  for (int32_t unit = begin; encode_read_region(&w->e, unit, &r); unit = r.end) {
    if (w->depth[r.begin] < 0 || w->holds[r.begin].numbers) {
      encode_read_compared(&w->e, &r);
      continue;
    }
    if (resumes_yield(w, &r) || encode_op_at(&w->e, r.op) == PUSH_EXC_INFO)
      place_at(w, r.end, true);
    int32_t depth = w->depth[r.begin] + r.effect[0];
    region whole = r;
    if (encode_read_compared(&w->e, &r)) {
      w->out->exits[w->out->exit_count++] = (generator_exit){.unit = whole.begin,
                                                             .depth = w->depth[whole.begin],
                                                             .handled = level_at(w, whole.begin),
                                                             .places = {-1, -1}};
      w->holds[r.begin] = w->holds[whole.begin];
      exit_add(w, &r, depth);
    } else {
      exit_add(w, &r, w->depth[r.begin]);
    }
  }
  w->out->exits[w->out->exit_count++] = (generator_exit){.unit = -1, .places = {-1, -1}};
}

/* ---- writing ---- */

/* What was written since the last call has the line of `unit`. */
static void lines_from(rewrite *w, int32_t *written, int32_t unit) {
  if (w->e.count > w->origin_capacity) {
    int32_t bigger = w->e.count * 2;
    int32_t *grown = realloc(w->origin, (size_t)bigger * sizeof *grown);
    if (!grown) {
      w->e.failed = true;
      return;
    }
    w->origin = grown;
    w->origin_capacity = bigger;
  }
  while (*written < w->e.count)
    w->origin[(*written)++] = unit;
}

static void put_mark(rewrite *w, int32_t role) {
  encode_put(&w->e, LOAD_CONST, (uint32_t)(w->e.consts + 1 + role));
}

static int32_t put_question(rewrite *w, int32_t role) {
  put_mark(w, role);
  encode_truth(&w->e);
  return encode_jump(&w->e, OPCODE_JUMP_IF_TRUE);
}

static void body_jump(rewrite *w, const region *r, bool *stable) {
  encoder *e = &w->e;
  int32_t caches = r->end - r->op - 1, prefixes = w->width[r->begin];
  int32_t end = e->count + prefixes + 1 + caches, target = w->in[jump_names(w, r)];
  int opcode = encode_op_at(e, r->op);
  uint32_t distance = (uint32_t)(jump_direction(opcode) > 0 ? target - end : end - target);
  while (*stable && prefixes < 3 && distance >> 8 * (prefixes + 1))
    w->width[r->begin] = (uint8_t)++prefixes, *stable = false;
  for (int i = prefixes; i > 0; i--)
    encode_unit(e, EXTENDED_ARG, distance >> 8 * i & 0xff);
  encode_unit(e, opcode, distance & 0xff);
  for (int i = 0; i < caches; i++)
    encode_unit(e, CACHE, 0);
}

/* The function's own instructions. False: where they stand has changed. */
static bool body_write(rewrite *w) {
  bool stable = true;
  int32_t written = 0;
  region r;
  w->e.count = 0;
  for (int32_t unit = 0; unit < w->e.units && encode_read_one(&w->e, unit, &r); unit = r.end) {
    int32_t place = w->place[unit], in = w->e.count;
    if (place >= 0) w->checks[place] = put_question(w, GENERATOR_PLACE + place);
    stable = stable && w->in[unit] == in && w->at[unit] == w->e.count;
    w->in[unit] = in;
    w->at[unit] = w->e.count;
    if (jump_direction(encode_op_at(&w->e, r.op)))
      body_jump(w, &r, &stable);
    else
      for (int32_t i = r.begin; i < r.end; i++)
        encode_unit(&w->e, w->e.bytes[2 * i], w->e.bytes[2 * i + 1]);
    lines_from(w, &written, r.op);
  }
  w->in[w->e.units] = w->body = w->e.count;
  return stable;
}

static bool body_settle(rewrite *w) {
  region r;
  for (int32_t unit = 0; unit < w->e.units && encode_read_one(&w->e, unit, &r); unit = r.end)
    w->width[unit] = (uint8_t)(r.op - r.begin);
  for (int round = 0; round < REWRITE_ROUNDS && !w->e.failed; round++)
    if (body_write(w)) return true;
  return false;
}

/* The rows of the exception table for the function's own instructions. */
static bool body_handlers(rewrite *w) {
  PyObject *table = w->e.object->co_exceptiontable;
  const uint8_t *p = (const uint8_t *)PyBytes_AS_STRING(table), *last = p + PyBytes_GET_SIZE(table);
  uint32_t row[4], units = (uint32_t)w->e.units;
  while (p < last && encode_read_handler(&p, last, row)) {
    if (row[0] > units || row[1] > units - row[0] || row[2] >= units) return false;
    uint32_t end = (uint32_t)w->in[row[0] + row[1]];
    row[0] = (uint32_t)w->in[row[0]];
    row[1] = end - row[0];
    row[2] = (uint32_t)w->in[row[2]];
    encode_write_handler(&w->handlers, row);
  }
  return true;
}

static void exit_handled(rewrite *w, int32_t unit, int32_t begin) {
  uint32_t row[4];
  if (!encode_find_handler(w->e.object->co_exceptiontable, unit, row)) return;
  row[0] = (uint32_t)begin;
  row[1] = (uint32_t)(w->e.count - begin);
  row[2] = (uint32_t)w->in[row[2]];
  encode_write_handler(&w->handlers, row);
}

static void exit_back(rewrite *w, int32_t unit) {
  uint32_t distance = (uint32_t)(w->e.count + 3 - w->at[unit]);
  w->e.failed |= distance >> 24 != 0;
  for (int i = 2; i > 0; i--) {
    uint8_t prefix[2];
    encode_prefix(prefix, distance >> 8 * i);
    encode_unit(&w->e, prefix[0], prefix[1]);
  }
  encode_unit(&w->e, JUMP_BACKWARD_NO_INTERRUPT, distance & 0xff);
}

static void exit_write(rewrite *w, int32_t number, int32_t *written) {
  const generator_exit *out = &w->out->exits[number];
  if (out->unit < 0) {
    put_mark(w, GENERATOR_RESULT);
    encode_put(&w->e, UNARY_INVERT, 0);
    encode_put(&w->e, RETURN_VALUE, 0);
    lines_from(w, written, -1);
    return;
  }
  /* Within a comparison the jump behind it comes next, and wants a bool. */
  bool half = !w->begins[out->unit];
  int32_t where = out->unit - half, goes = out->unit;
  region r = {.op = where};
  if (encode_read_one(&w->e, where, &r) && half) goes = r.end;
  for (int32_t i = 0; i < out->depth; i++)
    encode_put(&w->e, LOAD_CONST, (uint32_t)w->e.consts);
  int32_t begin = w->e.count, filled = put_question(w, GENERATOR_FILL);
  encode_target(&w->e, filled, w->e.count);
  if (half) encode_truth(&w->e);
  exit_handled(w, where, begin);
  exit_back(w, goes);
  lines_from(w, written, r.op);
}

/* The exits from `low` to `high`, without the latter. */
static void tree_write(rewrite *w, int32_t low, int32_t high, int32_t *written) {
  if (high - low == 1) {
    exit_write(w, low, written);
    return;
  }
  int32_t middle = low + (high - low) / 2, upper = put_question(w, GENERATOR_CHOOSE);
  lines_from(w, written, -1);
  tree_write(w, low, middle, written);
  encode_target(&w->e, upper, w->e.count);
  tree_write(w, middle, high, written);
}

static void stubs_write(rewrite *w) {
  int32_t written = w->body, count = w->out->place_count;
  for (int32_t i = 0; i < count; i++) {
    encode_target(&w->e, w->checks[i], w->e.count);
    for (int32_t depth = w->out->places[i].depth; depth > 0; depth--)
      encode_put(&w->e, POP_TOP, 0);
    w->checks[i] = encode_jump(&w->e, JUMP_FORWARD);
  }
  for (int32_t i = 0; i < count; i++)
    encode_target(&w->e, w->checks[i], w->e.count);
  lines_from(w, &written, -1);
  tree_write(w, 0, w->out->exit_count, &written);
}

/* ---- the code object ---- */

static void line_write(writer *out, PyCodeObject *code, int32_t unit, int32_t count, int *now) {
  int line = 0, column = -1, end_line = 0, end_column = -1;
  if (unit >= 0) PyCode_Addr2Location(code, unit * 2, &line, &column, &end_line, &end_column);
  int kind = line <= 0                                         ? LOCATION_NONE
             : column < 0 || end_column < 0 || end_line < line ? LOCATION_NO_COLUMNS
                                                               : LOCATION_LONG;
  for (; count > 0; count -= 8) {
    encode_byte(out, 128u | (uint32_t)kind << 3 | (uint32_t)((count < 8 ? count : 8) - 1));
    if (kind == LOCATION_NONE) continue;
    encode_signed(out, line - *now);
    *now = line;
    if (kind != LOCATION_LONG) continue;
    encode_number(out, (uint32_t)(end_line - line));
    encode_number(out, (uint32_t)column + 1);
    encode_number(out, (uint32_t)end_column + 1);
  }
}

static PyObject *writer_bytes(writer *w) {
  PyObject *made = w->failed ? PyErr_NoMemory()
                             : PyBytes_FromStringAndSize((char *)w->bytes, (Py_ssize_t)w->count);
  free(w->bytes);
  *w = (writer){0};
  return made;
}

static PyObject *object_lines(const rewrite *w) {
  writer out = {0};
  int line = w->e.object->co_firstlineno;
  for (int32_t at = 0, end; at < w->e.count; at = end) {
    for (end = at + 1; end < w->e.count && w->origin[end] == w->origin[at];)
      end++;
    line_write(&out, w->e.object, w->origin[at], end - at, &line);
  }
  return writer_bytes(&out);
}

static PyObject *object_consts(const rewrite *w, generator_mark_new *mark, void *context) {
  int32_t own = w->e.consts, marks = GENERATOR_PLACE + w->out->place_count;
  PyObject *consts = PyTuple_New(own + 1 + marks);
  for (int32_t i = 0; consts && i < own; i++)
    PyTuple_SET_ITEM(consts, i, Py_NewRef(PyTuple_GET_ITEM(w->e.object->co_consts, i)));
  if (consts) PyTuple_SET_ITEM(consts, own, Py_NewRef(Py_None));
  for (int32_t i = 0; consts && i < marks; i++) {
    PyObject *one = mark(context, i);
    if (one)
      PyTuple_SET_ITEM(consts, own + 1 + i, one);
    else
      Py_CLEAR(consts);
  }
  return consts;
}

static PyObject *object_new(rewrite *w, generator_mark_new *mark, void *context) {
  int32_t stack = w->e.object->co_stacksize;
  PyObject *lines = object_lines(w), *handlers = writer_bytes(&w->handlers),
           *consts = object_consts(w, mark, context), *none = PyTuple_New(0), *kwargs = NULL,
           *replace = NULL, *made = NULL;
  if (lines && handlers && consts && none)
    kwargs = Py_BuildValue("{sNsOsOsOsi}", "co_code",
                           PyBytes_FromStringAndSize((char *)w->e.out, (Py_ssize_t)w->e.count * 2),
                           "co_consts", consts, "co_exceptiontable", handlers, "co_linetable",
                           lines, "co_stacksize", (int)stack + 2);
  if (kwargs) replace = PyObject_GetAttrString((PyObject *)w->e.object, "replace");
  if (replace) made = PyObject_Call(replace, none, kwargs);
  Py_XDECREF(lines);
  Py_XDECREF(handlers);
  Py_XDECREF(consts);
  Py_XDECREF(none);
  Py_XDECREF(kwargs);
  Py_XDECREF(replace);
  return made;
}

static bool rewrite_init(rewrite *w) {
  size_t units = (size_t)w->e.units + 1;
  w->depth = calloc(units, sizeof *w->depth);
  w->holds = calloc(units, sizeof *w->holds);
  w->in = calloc(units, sizeof *w->in);
  w->at = calloc(units, sizeof *w->at);
  w->place = calloc(units, sizeof *w->place);
  w->todo = calloc(units * REWRITE_VISITS, sizeof *w->todo);
  w->width = calloc(units, sizeof *w->width);
  w->begins = calloc(units, sizeof *w->begins);
  w->checks = calloc(units, sizeof *w->checks);
  w->out->places = calloc(units, sizeof *w->out->places);
  w->out->exits = calloc(units + 1, sizeof *w->out->exits);
  for (size_t i = 0; w->place && i < units; i++)
    w->place[i] = -1;
  return w->depth && w->holds && w->in && w->at && w->place && w->todo && w->width && w->begins &&
         w->checks && w->out->places && w->out->exits;
}

static void rewrite_fini(rewrite *w) {
  free(w->e.out);
  free(w->depth);
  free(w->holds);
  free(w->in);
  free(w->at);
  free(w->place);
  free(w->todo);
  free(w->width);
  free(w->begins);
  free(w->checks);
  free(w->origin);
  free(w->handlers.bytes);
}

void generator_layout_fini(generator_layout *l) {
  free(l->places);
  free(l->exits);
  Py_CLEAR(l->code);
  *l = (generator_layout){.code = NULL};
}

bool encode_generator(PyCodeObject *code, generator_mark_new *mark, void *context,
                      generator_layout *out) {
  rewrite w = {.out = out};
  PyObject *bytes;
  int32_t begin;
  *out = (generator_layout){.code = NULL};
  bool good = encode_open(&w.e, code, &bytes) && w.e.units <= REWRITE_UNITS;
  good = good && rewrite_init(&w) && flow_run(&w, &begin);
  if (good) {
    find_begins(&w);
    find_exits(&w, begin);
    good = body_settle(&w) && body_handlers(&w);
  }
  if (good) stubs_write(&w);
  if (good && !w.e.failed) out->code = object_new(&w, mark, context);
  rewrite_fini(&w);
  Py_XDECREF(bytes);
  if (!out->code) generator_layout_fini(out);
  return out->code != NULL;
}
