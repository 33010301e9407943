/* From co_code of CPython 3.11 to our own instruction set. The only file here that knows opcodes'
 * numbers.
 *
 * Always from co_code (PyCode_GetCode), never from the adaptive bytes that the interpreter rewrites
 * while it runs.
 */
#include "frontend/value/value.h"

#include <opcode.h>

static const char *const bytecode_names[BC_COUNT] = {
#define LOOM_BYTECODE(NAME) #NAME,
#include "frontend/bytecode.def"
#undef LOOM_BYTECODE
};

const char *loom_bytecode_name(loom_bytecode op) {
  return (unsigned)op < BC_COUNT ? bytecode_names[op] : "?";
}

/* What a CPython opcode becomes. */
typedef struct decode_row {
  uint8_t known; /* 0: unsupported; 1: one instruction; 2: dropped; 3: see decode_special() */
  uint8_t op;
  int8_t jump; /* 1 forward, -1 backward */
  bool fixed;  /* arg is replaced by `arg` */
  int8_t arg;
} decode_row;

#define ONE(CP, OURS) [CP] = {1, BC_##OURS, 0, false, 0}
#define SET(CP, OURS, ARG) [CP] = {1, BC_##OURS, 0, true, ARG}
#define FWD(CP, OURS) [CP] = {1, BC_##OURS, 1, false, 0}
#define BACK(CP, OURS) [CP] = {1, BC_##OURS, -1, false, 0}
#define DROP(CP) [CP] = {2, 0, 0, false, 0}
#define SPECIAL(CP) [CP] = {3, 0, 0, false, 0}

static const decode_row decode_rows[256] = {
    DROP(CACHE),
    DROP(NOP),
    DROP(RESUME),
    DROP(PRECALL),
    DROP(EXTENDED_ARG),
    ONE(POP_TOP, POP),
    ONE(PUSH_NULL, PUSH_NULL),
    ONE(SWAP, SWAP),
    ONE(COPY, COPY),
    SET(UNARY_POSITIVE, UNARY, UNOP_POS),
    SET(UNARY_NEGATIVE, UNARY, UNOP_NEG),
    SET(UNARY_NOT, UNARY, UNOP_NOT),
    SET(UNARY_INVERT, UNARY, UNOP_INVERT),
    ONE(BINARY_OP, BINARY),
    ONE(COMPARE_OP, COMPARE),
    ONE(IS_OP, IS),
    ONE(CONTAINS_OP, CONTAINS),
    ONE(BINARY_SUBSCR, SUBSCR),
    ONE(STORE_SUBSCR, STORE_SUBSCR),
    ONE(DELETE_SUBSCR, DELETE_SUBSCR),
    ONE(LOAD_CONST, LOAD_CONST),
    ONE(LOAD_FAST, LOAD_FAST),
    ONE(STORE_FAST, STORE_FAST),
    ONE(DELETE_FAST, DELETE_FAST),
    SPECIAL(LOAD_GLOBAL),
    ONE(STORE_GLOBAL, STORE_GLOBAL),
    ONE(DELETE_GLOBAL, STORE_GLOBAL),
    ONE(MAKE_CELL, MAKE_CELL),
    ONE(COPY_FREE_VARS, COPY_FREE),
    ONE(LOAD_CLOSURE, LOAD_CLOSURE),
    ONE(LOAD_DEREF, LOAD_DEREF),
    ONE(STORE_DEREF, STORE_DEREF),
    ONE(DELETE_DEREF, DELETE_DEREF),
    ONE(LOAD_ATTR, LOAD_ATTR),
    SPECIAL(LOAD_METHOD),
    ONE(STORE_ATTR, STORE_ATTR),
    ONE(DELETE_ATTR, DELETE_ATTR),
    FWD(JUMP_FORWARD, JUMP),
    BACK(JUMP_BACKWARD, JUMP),
    BACK(JUMP_BACKWARD_NO_INTERRUPT, JUMP),
    FWD(POP_JUMP_FORWARD_IF_FALSE, POP_JUMP_IF_FALSE),
    FWD(POP_JUMP_FORWARD_IF_TRUE, POP_JUMP_IF_TRUE),
    FWD(POP_JUMP_FORWARD_IF_NONE, POP_JUMP_IF_NONE),
    FWD(POP_JUMP_FORWARD_IF_NOT_NONE, POP_JUMP_IF_NOT_NONE),
    BACK(POP_JUMP_BACKWARD_IF_FALSE, POP_JUMP_IF_FALSE),
    BACK(POP_JUMP_BACKWARD_IF_TRUE, POP_JUMP_IF_TRUE),
    BACK(POP_JUMP_BACKWARD_IF_NONE, POP_JUMP_IF_NONE),
    BACK(POP_JUMP_BACKWARD_IF_NOT_NONE, POP_JUMP_IF_NOT_NONE),
    FWD(JUMP_IF_FALSE_OR_POP, JUMP_IF_FALSE_OR_POP),
    FWD(JUMP_IF_TRUE_OR_POP, JUMP_IF_TRUE_OR_POP),
    ONE(GET_ITER, GET_ITER),
    FWD(FOR_ITER, FOR_ITER),
    ONE(KW_NAMES, KW_NAMES),
    ONE(CALL, CALL),
    ONE(CALL_FUNCTION_EX, CALL_EX),
    ONE(MAKE_FUNCTION, MAKE_FUNCTION),
    ONE(RETURN_VALUE, RETURN),
    ONE(BUILD_TUPLE, BUILD_TUPLE),
    ONE(BUILD_LIST, BUILD_LIST),
    ONE(BUILD_SET, BUILD_SET),
    ONE(BUILD_MAP, BUILD_MAP),
    ONE(BUILD_CONST_KEY_MAP, BUILD_CONST_KEY_MAP),
    ONE(BUILD_STRING, BUILD_STRING),
    ONE(BUILD_SLICE, BUILD_SLICE),
    ONE(LIST_TO_TUPLE, LIST_TO_TUPLE),
    ONE(LIST_APPEND, LIST_APPEND),
    ONE(LIST_EXTEND, LIST_EXTEND),
    ONE(SET_ADD, SET_ADD),
    ONE(SET_UPDATE, SET_UPDATE),
    ONE(MAP_ADD, MAP_ADD),
    ONE(DICT_UPDATE, DICT_UPDATE),
    ONE(DICT_MERGE, DICT_MERGE),
    ONE(FORMAT_VALUE, FORMAT_VALUE),
    ONE(UNPACK_SEQUENCE, UNPACK_SEQUENCE),
    ONE(UNPACK_EX, UNPACK_EX),
    ONE(GET_LEN, GET_LEN),
    ONE(MATCH_SEQUENCE, MATCH_SEQUENCE),
    ONE(MATCH_MAPPING, MATCH_MAPPING),
    ONE(MATCH_KEYS, MATCH_KEYS),
    ONE(MATCH_CLASS, MATCH_CLASS),
    ONE(LOAD_BUILD_CLASS, LOAD_BUILD_CLASS),
    ONE(LOAD_NAME, LOAD_NAME),
    ONE(STORE_NAME, STORE_NAME),
    ONE(DELETE_NAME, DELETE_NAME),
    ONE(SETUP_ANNOTATIONS, SETUP_ANNOTATIONS),
    ONE(LOAD_CLASSDEREF, LOAD_CLASSDEREF),
    ONE(LOAD_ASSERTION_ERROR, LOAD_ASSERTION_ERROR),
    ONE(PUSH_EXC_INFO, PUSH_EXC),
    ONE(POP_EXCEPT, POP_EXC),
    ONE(CHECK_EXC_MATCH, EXC_MATCH),
    ONE(RAISE_VARARGS, RAISE),
    ONE(RERAISE, RERAISE),
    ONE(BEFORE_WITH, BEFORE_WITH),
    ONE(WITH_EXCEPT_START, WITH_EXCEPT_START),
    ONE(IMPORT_NAME, IMPORT_NAME),
    ONE(IMPORT_FROM, IMPORT_FROM),
    ONE(RETURN_GENERATOR, RETURN_GENERATOR),
    ONE(YIELD_VALUE, YIELD),
    ONE(GET_YIELD_FROM_ITER, YIELD_FROM_ITER),
    FWD(SEND, SEND),
};

typedef struct decoder {
  const uint8_t *bytes;
  int32_t units;
  loom_code *code;
  int32_t *first; /* unit -> first instruction at or after it */
  int32_t capacity;
} decoder;

static bool decode_emit(decoder *d, loom_bytecode op, int32_t arg, int32_t target, int32_t unit) {
  if (d->code->count >= d->capacity) return false;
  d->code->instrs[d->code->count++] =
      (loom_instr){.op = op, .arg = arg, .target = target, .unit = unit};
  return true;
}

/* LOAD_GLOBAL and LOAD_METHOD stand for two of our instructions. */
static bool decode_special(decoder *d, int opcode, int32_t arg, int32_t unit) {
  if (opcode == LOAD_GLOBAL) {
    if ((arg & 1) && !decode_emit(d, BC_PUSH_NULL, 0, -1, unit)) return false;
    return decode_emit(d, BC_LOAD_GLOBAL, arg >> 1, -1, unit);
  }
  return decode_emit(d, BC_LOAD_ATTR, arg, -1, unit) && decode_emit(d, BC_NULL_UNDER, 0, -1, unit);
}

static bool decode_instructions(decoder *d) {
  uint32_t extended = 0;
  for (int32_t unit = 0, start = 0; unit < d->units; start = unit) {
    int opcode = d->bytes[2 * unit];
    uint32_t arg = extended << 8 | d->bytes[2 * unit + 1];
    const decode_row *row = &decode_rows[opcode];
    d->first[unit] = d->code->count;
    extended = opcode == EXTENDED_ARG ? arg : 0;
    unit += 1;
    /* Inline caches follow as CACHE instructions in co_code, and are dropped one by one. */
    if (row->known == 2) continue;
    if (arg > INT32_MAX) return false;
    if (row->known == 3) {
      if (!decode_special(d, opcode, (int32_t)arg, start)) return false;
      continue;
    }
    int32_t target = -1;
    if (row->jump) target = row->jump > 0 ? unit + (int32_t)arg : unit - (int32_t)arg;
    if (!row->known) arg = (uint32_t)opcode;
    loom_bytecode op = row->known ? (loom_bytecode)row->op : BC_UNSUPPORTED;
    int32_t value = row->fixed ? row->arg : (int32_t)arg;
    if (!decode_emit(d, op, value, target, start)) return false;
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
    case BC_LOAD_NAME:
    case BC_STORE_NAME:
    case BC_DELETE_NAME:
    case BC_LOAD_ATTR:
    case BC_STORE_ATTR:
    case BC_DELETE_ATTR:
    case BC_IMPORT_NAME:
    case BC_IMPORT_FROM: limit = PyTuple_GET_SIZE(code->co_names); break;
    case BC_LOAD_FAST:
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
    PyErr_Clear();
    loom_fail(err, "out of memory");
    return NULL;
  }
  decoder d = {.bytes = (const uint8_t *)PyBytes_AS_STRING(bytes),
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
    d.code->stack = object->co_stacksize + 2;
    good = decode_instructions(&d) && decode_checks(&d) && decode_targets(&d) &&
           decode_handlers(&d, arena);
  }
  Py_DECREF(bytes);
  if (good) return d.code;
  loom_fail(err, "the bytecode of %s is not as CPython 3.11 writes it",
            PyUnicode_AsUTF8(object->co_qualname));
  return NULL;
}

#define LOCAL_CELL 0x40 /* CO_FAST_CELL of CPython's internal headers */

bool loom_local_is_cell(PyCodeObject *code, int32_t local) {
  return PyBytes_AS_STRING(code->co_localspluskinds)[local] & LOCAL_CELL;
}
