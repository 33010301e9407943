/* From co_code to our own instruction set, by the table opcodes.def. Handlers never look at the
 * version.
 *
 * Always from co_code (PyCode_GetCode), never from the adaptive bytes that the interpreter rewrites
 * while it runs.
 */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"
#include "frontend/bytecode/opcodes.h"

static const char *const bytecode_names[BC_COUNT] = {
#define LOOM_BYTECODE(NAME, REACH) #NAME,
#include "frontend/bytecode/bytecode.def"
#undef LOOM_BYTECODE
};

const char *loom_bytecode_name(loom_bytecode op) {
  return (unsigned)op < BC_COUNT ? bytecode_names[op] : "?";
}

/* What a CPython opcode becomes. */
typedef enum decode_form {
  FORM_UNKNOWN, /* not in co_code */
  FORM_NONE,
  FORM_DROP,
  FORM_PLAIN,
  FORM_TWO,
  FORM_PAIR,
  FORM_NULLED,
  FORM_COMPARE,
  FORM_INTRINSIC,
  FORM_TRUTH
} decode_form;

#define OWN (-1) /* CPython's argument */

typedef struct decode_row {
  uint8_t form, op, then;
  int8_t jump; /* 1 forward, -1 backward */
  int8_t arg, then_arg, skip, shift;
} decode_row;

#define ONE(CP, OURS) [CP] = {.form = FORM_PLAIN, .op = BC_##OURS, .arg = OWN},
#define SET(CP, OURS, ARG) [CP] = {.form = FORM_PLAIN, .op = BC_##OURS, .arg = ARG},
#define TWO(CP, A, ARG, B, THEN)                                                                   \
  [CP] = {.form = FORM_TWO, .op = BC_##A, .arg = ARG, .then = BC_##B, .then_arg = THEN},
#define PAIR(CP, A, B) [CP] = {.form = FORM_PAIR, .op = BC_##A, .then = BC_##B},
#define NULLED(CP, OURS, SHIFT) [CP] = {.form = FORM_NULLED, .op = BC_##OURS, .shift = SHIFT},
#define SKIP(CP, OURS, UNITS)                                                                      \
  [CP] = {.form = FORM_PLAIN, .op = BC_##OURS, .arg = OWN, .jump = 1, .skip = UNITS},
#define FWD(CP, OURS) [CP] = {.form = FORM_PLAIN, .op = BC_##OURS, .arg = OWN, .jump = 1},
#define BACK(CP, OURS) [CP] = {.form = FORM_PLAIN, .op = BC_##OURS, .arg = OWN, .jump = -1},
#define DROP(CP) [CP] = {.form = FORM_DROP},
#define ASK(CP, FORM) [CP] = {.form = FORM_##FORM},
#define NONE(CP) [CP] = {.form = FORM_NONE},

static const decode_row decode_rows[256] = {
#include "frontend/bytecode/opcodes.def"
};

typedef struct decoder {
  const uint8_t *bytes;
  int32_t units;
  loom_code *code;
  int32_t *first; /* unit -> first instruction at or after it */
  int32_t capacity;
  int32_t truth; /* where the truth of the next instruction's operand is asked for; -1: nowhere */
} decoder;

/* One instruction of CPython's. */
typedef struct decode_one {
  int opcode;
  uint32_t arg;
  int32_t unit, next; /* of the opcode; behind its inline caches */
} decode_one;

static bool decode_emit(decoder *d, loom_bytecode op, int32_t arg, int32_t target, int32_t unit) {
  if (d->code->count >= d->capacity) return false;
  d->code->instrs[d->code->count++] =
      (loom_instr){.op = op, .arg = arg, .target = target, .unit = unit};
  return true;
}

static int32_t decode_arg(const decode_one *in, int8_t arg) {
  return arg == OWN ? (int32_t)in->arg : arg;
}

/* Does the next instruction ask for the truth of the value on the stack? Our jumps accept any
 * value. */
static bool decode_truth_follows(const decoder *d, int32_t unit) {
  while (unit < d->units && d->bytes[2 * unit] == EXTENDED_ARG)
    unit++;
  return unit < d->units && opcode_takes_truth(d->bytes[2 * unit]);
}

/* From 3.13 on a TO_BOOL instruction or the comparison makes a bool for a jump. Our jumps ask for
 * the truth themselves. They begin where CPython asks for it: within a comparison, at its inline
 * cache. */
static bool decode_truth(decoder *d, const decode_one *in, int32_t unit) {
  if (!decode_truth_follows(d, in->next)) return decode_emit(d, BC_TO_BOOL, 0, -1, unit);
  d->truth = unit;
  return true;
}

static bool decode_compare(decoder *d, const decode_one *in) {
  if (!decode_emit(d, BC_COMPARE, (int32_t)(in->arg >> OPCODE_COMPARE_SHIFT), -1, in->unit))
    return false;
  if (!(in->arg & OPCODE_COMPARE_TRUTH)) return true;
  return decode_truth(d, in, decode_truth_follows(d, in->next) ? in->unit + 1 : in->unit);
}

static bool decode_intrinsic(decoder *d, const decode_one *in) {
#if LOOM_PYTHON >= 312
  if (in->arg == OPCODE_INTRINSIC_POSITIVE) return decode_emit(d, BC_UNARY, UNOP_POS, -1, in->unit);
  if (in->arg == OPCODE_INTRINSIC_LIST_TO_TUPLE)
    return decode_emit(d, BC_LIST_TO_TUPLE, 0, -1, in->unit);
#endif
  return decode_emit(d, BC_UNSUPPORTED, in->opcode, -1, in->unit);
}

/* The NULL that makes a callable of what was pushed. A global's may come before it, an attribute's
 * comes last. */
static bool decode_nulled(decoder *d, const decode_row *row, const decode_one *in) {
  loom_bytecode op = (loom_bytecode)row->op;
  bool null = in->arg & 1, above = OPCODE_NULL_ABOVE, global = op == BC_LOAD_GLOBAL;
  if (null && !above && global && !decode_emit(d, BC_PUSH_NULL, 0, -1, in->unit)) return false;
  if (!decode_emit(d, op, (int32_t)(in->arg >> row->shift), -1, in->unit)) return false;
  if (!null || (!above && global)) return true;
  return decode_emit(d, above ? BC_PUSH_NULL : BC_NULL_UNDER, 0, -1, in->unit);
}

static bool decode_instruction(decoder *d, const decode_one *in) {
  const decode_row *row = &decode_rows[in->opcode];
  loom_bytecode op = (loom_bytecode)row->op, then = (loom_bytecode)row->then;
  int32_t unit = d->truth >= 0 ? d->truth : in->unit, target = -1;
  if (in->arg > INT32_MAX / 2) return false;
  if (row->form != FORM_DROP) d->truth = -1;
  switch ((decode_form)row->form) {
  case FORM_DROP: return true;
  case FORM_PLAIN:
    if (row->jump) target = in->next + row->jump * (int32_t)in->arg + row->skip;
    return decode_emit(d, op, decode_arg(in, row->arg), target, unit);
  case FORM_TWO:
    return decode_emit(d, op, decode_arg(in, row->arg), -1, unit) &&
           decode_emit(d, then, decode_arg(in, row->then_arg), -1, unit);
  case FORM_PAIR:
    return decode_emit(d, op, (int32_t)(in->arg >> 4), -1, unit) &&
           decode_emit(d, then, (int32_t)(in->arg & 15), -1, unit);
  case FORM_NULLED: return decode_nulled(d, row, in);
  case FORM_COMPARE: return decode_compare(d, in);
  case FORM_INTRINSIC: return decode_intrinsic(d, in);
  case FORM_TRUTH: return decode_truth(d, in, in->unit);
  default: return decode_emit(d, BC_UNSUPPORTED, in->opcode, -1, unit);
  }
}

static bool decode_instructions(decoder *d) {
  uint32_t extended = 0;
  for (int32_t unit = 0; unit < d->units;) {
    decode_one in = {.opcode = d->bytes[2 * unit], .unit = unit, .next = unit + 1};
    in.arg = extended << 8 | d->bytes[2 * unit + 1];
    extended = in.opcode == EXTENDED_ARG ? in.arg : 0;
    while (in.next < d->units && d->bytes[2 * in.next] == CACHE)
      in.next++;
    d->first[unit] = d->code->count;
    if (!decode_instruction(d, &in)) return false;
    for (unit++; unit < in.next; unit++)
      d->first[unit] = d->code->count;
  }
  d->first[d->units] = d->code->count;
  return true;
}

/* Jumps on EXTENDED_ARG-prefixed or cached instructions land on the first of our instructions at or
 * after the unit. */
static bool decode_targets(decoder *d) {
  for (int32_t i = 0; i < d->code->count; i++) {
    loom_instr *in = &d->code->instrs[i];
    if (in->target == -1) continue;
    if (in->target < 0 || in->target >= d->units) return false;
    in->target = d->first[in->target];
    if (in->target >= d->code->count) return false;
  }
  return true;
}

/* Handlers index tables with these arguments and trust them. */
static bool decode_checks(const decoder *d) {
  const PyCodeObject *code = d->code->object;
  for (int32_t i = 0; i < d->code->count; i++) {
    const loom_instr *in = &d->code->instrs[i];
    int64_t limit = 1 << 24;
    switch (in->op) {
    case BC_UNARY: limit = UNOP_ABS; break;
    case BC_BINARY: limit = NB_INPLACE_XOR + 1; break;
    case BC_COMPARE: limit = Py_GE + 1; break;
    case BC_LOAD_CONST:
    case BC_KW_NAMES: limit = PyTuple_GET_SIZE(code->co_consts); break;
    case BC_LOAD_GLOBAL:
    case BC_STORE_GLOBAL:
    case BC_DELETE_GLOBAL:
    case BC_LOAD_NAME:
    case BC_STORE_NAME:
    case BC_DELETE_NAME:
    case BC_LOAD_ATTR:
    case BC_STORE_ATTR:
    case BC_DELETE_ATTR:
    case BC_IMPORT_NAME:
    case BC_LOAD_SUPER_ATTR:
    case BC_LOAD_FROM_DICT_OR_GLOBALS:
    case BC_IMPORT_FROM: limit = PyTuple_GET_SIZE(code->co_names); break;
    case BC_LOAD_FAST:
    case BC_LOAD_FAST_AND_CLEAR:
    case BC_LOAD_FROM_DICT_OR_DEREF:
    case BC_STORE_FAST:
    case BC_DELETE_FAST:
    case BC_MAKE_CELL:
    case BC_LOAD_CLOSURE:
    case BC_LOAD_DEREF:
    case BC_LOAD_CLASSDEREF:
    case BC_STORE_DEREF:
    case BC_DELETE_DEREF: limit = d->code->locals; break;
    case BC_IS:
    case BC_CONTAINS: limit = 2; break;
    default: break;
    }
    if (in->arg < 0 || in->arg >= limit) return false;
  }
  return true;
}

static bool decode_varint(const uint8_t **p, const uint8_t *end, int32_t *out) {
  uint32_t result = 0;
  for (int digits = 0; *p < end && digits < 5; digits++) {
    uint8_t byte = *(*p)++;
    result = result << 6 | (byte & 63);
    if (!(byte & 64)) return *out = (int32_t)(result & INT32_MAX), true;
  }
  return false;
}

/* From 3.12 on generators have handlers of their own: one makes a RuntimeError of a StopIteration
 * that escapes, one is for what is thrown into a `yield from`. Both are what our generators do
 * anyway (values/generator.c). */
static bool decode_implicit(const decoder *d, int32_t target) {
#if LOOM_PYTHON >= 312
  const uint8_t *at = d->bytes + 2 * target;
  if (at[0] == CLEANUP_THROW) return true;
  return at[0] == CALL_INTRINSIC_1 && at[1] == OPCODE_STOPITERATION_ERROR;
#else
  return false;
#endif
}

/* The exception table: varints of start, size, target (in units) and depth << 1 | lasti. */
static bool decode_handlers(decoder *d, loom_arena *arena) {
  PyObject *table = d->code->object->co_exceptiontable;
  const uint8_t *p = (const uint8_t *)PyBytes_AS_STRING(table), *end = p + PyBytes_GET_SIZE(table);
  loom_handler *rows = loom_arena_alloc(arena, ((size_t)(end - p) / 4 + 1) * sizeof *rows);
  if (!rows) return false;
  d->code->handlers = rows;
  while (p < end) {
    int32_t start, size, target, depth;
    if (!decode_varint(&p, end, &start) || !decode_varint(&p, end, &size)) return false;
    if (!decode_varint(&p, end, &target) || !decode_varint(&p, end, &depth)) return false;
    if (start > d->units || size > d->units - start || target >= d->units) return false;
    if (decode_implicit(d, target)) continue;
    rows[d->code->handler_count++] = (loom_handler){.begin = d->first[start],
                                                    .end = d->first[start + size],
                                                    .target = d->first[target],
                                                    .depth = depth >> 1,
                                                    .lasti = depth & 1};
  }
  return true;
}

loom_code *loom_decode(PyCodeObject *object, loom_arena *arena, loom_error *err) {
  PyObject *bytes = PyCode_GetCode(object);
  if (!bytes) {
    error_drop();
    loom_fail(err, "out of memory");
    return NULL;
  }
  decoder d = {.bytes = (const uint8_t *)PyBytes_AS_STRING(bytes),
               .truth = -1,
               .units = (int32_t)(PyBytes_GET_SIZE(bytes) / 2)};
  d.capacity = 2 * d.units + 1;
  d.code = loom_arena_alloc(arena, sizeof *d.code);
  d.first = loom_arena_alloc(arena, ((size_t)d.units + 1) * sizeof *d.first);
  loom_instr *instrs = loom_arena_alloc(arena, (size_t)d.capacity * sizeof *instrs);
  bool good = d.code && d.first && instrs;
  if (good) {
    d.code->object = object;
    d.code->instrs = instrs;
    d.code->locals = object->co_nlocalsplus;
    d.code->stack = object->co_stacksize + 3; /* one more where two of ours stand for one */
    good = decode_instructions(&d) && decode_checks(&d) && decode_targets(&d) &&
           decode_handlers(&d, arena);
    if (good) places_read(d.code);
  }
  Py_DECREF(bytes);
  if (good) return d.code;
  loom_fail(err, "the bytecode of %s is not as CPython %d.%d writes it",
            PyUnicode_AsUTF8(object->co_qualname), PY_MAJOR_VERSION, PY_MINOR_VERSION);
  return NULL;
}

#define LOCAL_CELL 0x40 /* CO_FAST_CELL of CPython's internal headers */

bool loom_local_is_cell(PyCodeObject *code, int32_t local) {
  return PyBytes_AS_STRING(code->co_localspluskinds)[local] & LOCAL_CELL;
}
