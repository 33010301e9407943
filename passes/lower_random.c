/* Random numbers inside a group (lower.h): Philox 4x32-10 of (key, counter + block), where the
 * block follows from an element's place in C order alone. So the bits depend on neither the number
 * of threads nor the width of a vector nor on what the op is fused with.
 *
 * Words are kept as 64-bit lanes whose upper halves are 0: the products of two words are then the
 * full products that a round wants (vpmuludq).
 */
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "passes/lower.h"
#include "passes/math.h"

#include <string.h>

typedef struct random_state {
  loom_builder *b;
  MlirType type; /* of 64-bit lanes */
  MlirValue words[4];
  MlirValue key[2]; /* scalars */
} random_state;

static MlirValue random_op(loom_builder *b, const char *name, MlirValue x, int64_t y) {
  return lane_op2(b, name, x, lane_const_int(b, mlirValueGetType(x), y));
}

static MlirValue random_low(loom_builder *b, MlirValue x) {
  return random_op(b, "arith.andi", x, 0xFFFFFFFF);
}

static MlirValue random_high(loom_builder *b, MlirValue x) {
  return random_op(b, "arith.shrui", x, 32);
}

static MlirValue random_mix(random_state *s, MlirValue product, MlirValue word, MlirValue key) {
  MlirValue wide = lane_splat(s->b, key, lane_width(s->type));
  MlirValue x = lane_op2(s->b, "arith.xori", random_high(s->b, product), word);
  return lane_op2(s->b, "arith.xori", x, wide);
}

/* The ten rounds. */
static void random_rounds(random_state *s) {
  MlirValue *w = s->words;
  for (int round = 0; round < 10; round++) {
    MlirValue p0 = random_op(s->b, "arith.muli", w[0], 0xD2511F53);
    MlirValue p1 = random_op(s->b, "arith.muli", w[2], 0xCD9E8D57);
    MlirValue first = random_mix(s, p1, w[1], s->key[0]);
    MlirValue third = random_mix(s, p0, w[3], s->key[1]);
    w[0] = first;
    w[1] = random_low(s->b, p1);
    w[2] = third;
    w[3] = random_low(s->b, p0);
    s->key[0] = random_low(s->b, random_op(s->b, "arith.addi", s->key[0], 0x9E3779B9));
    s->key[1] = random_low(s->b, random_op(s->b, "arith.addi", s->key[1], 0xBB67AE85));
  }
}

/* The four words of `block` (lanes of i64): the 128-bit counter has it added. */
static void random_block(random_state *s, MlirValue block, MlirValue counter[2]) {
  int width = lane_width(s->type);
  MlirValue low = lane_op2(s->b, "arith.addi", lane_splat(s->b, counter[0], width), block);
  MlirValue carry = loom_build1(s->b, "arith.extui", lane_cmpi(s->b, "ult", low, block), s->type);
  MlirValue high = lane_op2(s->b, "arith.addi", lane_splat(s->b, counter[1], width), carry);
  s->words[0] = random_low(s->b, low);
  s->words[1] = random_high(s->b, low);
  s->words[2] = random_low(s->b, high);
  s->words[3] = random_high(s->b, high);
  random_rounds(s);
}

/* 64 bits of words i and i + 1, the first one low. */
static MlirValue random_pair(const random_state *s, int i) {
  MlirValue high = random_op(s->b, "arith.shli", s->words[i + 1], 32);
  return lane_op2(s->b, "arith.ori", high, s->words[i]);
}

static MlirValue random_is(const random_state *s, MlirValue place, int64_t value) {
  return lane_cmpi(s->b, "eq", place, lane_const_int(s->b, s->type, value));
}

/* The top bits of a word, times 2 to the minus their number: [0, 1). */
static MlirValue random_unit(const random_state *s, MlirValue bits, int drop, int64_t plus,
                             loom_dtype dtype) {
  bits = random_op(s->b, "arith.shrui", bits, drop);
  if (plus) bits = random_op(s->b, "arith.addi", bits, plus);
  MlirValue real = lower_convert(NULL, s->b, bits, LOOM_I64, dtype);
  double scale = dtype == LOOM_F32 ? 0x1p-24 : 0x1p-53;
  return lane_op2(s->b, "arith.mulf", real, lane_const_float(s->b, mlirValueGetType(real), scale));
}

/* Box-Muller: sqrt(-2 log u) cos(2 pi v), u in (0, 1], v in [0, 1), in double. */
static MlirValue random_normal(lower *l, const random_state *s, loom_dtype dtype) {
  MlirValue none = {NULL};
  MlirValue u = random_unit(s, random_pair(s, 0), 11, 1, LOOM_F64);
  MlirValue v = random_unit(s, random_pair(s, 2), 11, 0, LOOM_F64);
  MlirType real = mlirValueGetType(u);
  MlirValue log = lower_math(l, s->b, LOOM_OP_LOG, LOOM_F64, u, none);
  MlirValue angle =
      lane_op2(s->b, "arith.mulf", v, lane_const_float(s->b, real, 2 * 3.14159265358979323846));
  MlirValue cosine = lower_math(l, s->b, LOOM_OP_COS, LOOM_F64, angle, none);
  math m = math_of(l, s->b, u);
  MlirValue radius = math_sqrt(&m, math_scale(&m, log, -2));
  MlirValue out = lane_op2(s->b, "arith.mulf", radius, cosine);
  return dtype == LOOM_F64 ? out : lower_convert(NULL, s->b, out, LOOM_F64, dtype);
}

static MlirValue random_value(lower *l, random_state *s, MlirStringRef kind, loom_dtype dtype,
                              MlirValue element, MlirValue counter[2]) {
  if (loom_str_is(kind, "normal")) {
    random_block(s, element, counter);
    return random_normal(l, s, dtype);
  }
  bool wide = loom_dtype_size(dtype) == 8;
  int shared = wide ? 1 : 2; /* logarithm of the elements in a block */
  MlirValue place = random_op(s->b, "arith.andi", element, (1 << shared) - 1), bits;
  random_block(s, random_op(s->b, "arith.shrui", element, shared), counter);
  if (wide) {
    bits = lane_select(s->b, random_is(s, place, 0), random_pair(s, 0), random_pair(s, 2));
  } else {
    bits = s->words[3];
    for (int i = 2; i >= 0; i--)
      bits = lane_select(s->b, random_is(s, place, i), s->words[i], bits);
  }
  if (loom_str_is(kind, "uniform")) return random_unit(s, bits, wide ? 11 : 8, 0, dtype);
  return wide ? bits
              : loom_build1(s->b, "arith.trunci", bits,
                            lane_int(s->b->ctx, 32, lane_width(s->type)));
}

/* The element's number in C order. */
static lower_value random_element(lower *l, MlirOperation op, const lower_at *at) {
  lower_value sum = {{NULL}, 0, false, LOOM_I64};
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) || type.rank != at->rank) {
    lower_fail(l, op, "a result of another rank");
    return sum;
  }
  lower_index linear;
  lower_index_linear(l, &type, at, &linear);
  l->individual |= lower_index_vars(&linear);
  return l->dry ? sum : lower_index_value(l, &linear);
}

/* Word `i` of the key or the counter, a uint64. */
static lower_value random_word(lower *l, MlirOperation op, int operand, int i) {
  lower_at *at = lower_at_new(l, 1);
  if (!at) return (lower_value){{NULL}, 0, false, LOOM_U64};
  at->dims[0].constant = i;
  return lower_emit(l, loom_operand(op, operand), lower_at_intern(l, at));
}

lower_value lower_emit_random(lower *l, MlirOperation op, const lower_at *at) {
  loom_dtype dtype = LOOM_F32;
  lower_value none = {{NULL}, 0, false, dtype};
  loom_dtype_from_mlir(mlirShapedTypeGetElementType(mlirValueGetType(loom_result(op, 0))), &dtype);
  lower_value key = random_word(l, op, 0, 0);
  lower_value counter[2] = {random_word(l, op, 1, 0), random_word(l, op, 1, 1)};
  lower_value element = random_element(l, op, at);
  MlirStringRef kind = loom_get_str(op, "kind");
  l->cost += loom_op_table[LOOM_OP_RANDOM].cost + (loom_str_is(kind, "normal") ? 60 : 0);
  if (l->failed) return none;
  lower_value out = {{NULL}, element.level, element.lanes, dtype};
  if (l->dry) return out;
  if (key.level > out.level) out.level = key.level;
  MlirValue words[2];
  for (int i = 0; i < 2; i++) {
    words[i] = counter[i].v;
    if (counter[i].level > out.level) out.level = counter[i].level;
  }
  loom_builder b = lower_at_level(l, out.level), outer = lower_at_level(l, key.level);
  random_state s = {.b = &b, .type = mlirValueGetType(element.v)};
  s.key[0] = random_low(&outer, key.v);
  s.key[1] = random_high(&outer, key.v);
  out.v = random_value(l, &s, kind, dtype, element.v, words);
  return out;
}
