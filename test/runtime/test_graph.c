/* graph/: building, shape rules, symbolic sizes, pruning, canonical bytes, the interpreter. */
#include "build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

static loom_type f32(int rank, loom_dim a, loom_dim b) {
  return (loom_type){.dtype = LOOM_F32, .rank = rank, .dims = {a, b}};
}

static loom_value add(loom_graph *g, loom_value a, loom_value b, loom_error *err) {
  loom_value operands[] = {a, b};
  loom_location here = {.file = "f.py", .function = "f", .line = 3, .column = 5};
  return loom_graph_node(g, LOOM_OP_ADD, operands, 2, NULL, 0, NULL, 0, &here, err);
}

static loom_value reduce(loom_graph *g, loom_value a, const char *kind, int64_t axis) {
  loom_attr attrs[] = {{.kind = LOOM_ATTR_STR, .str = kind},
                       {.kind = LOOM_ATTR_I64S, .count = 1, .ints = &axis}};
  return loom_graph_node(g, LOOM_OP_REDUCE, &a, 1, attrs, 2, NULL, 0, NULL, NULL);
}

static loom_value constant(loom_graph *g, uint32_t bits) {
  loom_type type = f32(0, 0, 0);
  loom_attr value = {.kind = LOOM_ATTR_SCALAR, .bits = bits};
  return loom_graph_node(g, LOOM_OP_CONSTANT, NULL, 0, &value, 1, &type, 1, NULL, NULL);
}

static void refuses_bad_nodes(void **state) {
  loom_graph g;
  loom_error err = {0};
  loom_graph_init(&g);
  loom_type type = f32(1, 4, 0), other = f32(1, 5, 0);
  loom_value a = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value b = loom_graph_input(&g, LOOM_INPUT_ARRAY, &other, NULL);
  assert_int_equal(add(&g, a, b, &err), LOOM_NO_VALUE);
  assert_non_null(strstr(err.message, "sizes differ"));
  assert_int_equal(add(&g, a, 99, &err), LOOM_NO_VALUE);
  assert_non_null(strstr(err.message, "no value of the graph"));
  loom_value pair[] = {a, a};
  assert_int_equal(loom_graph_node(&g, LOOM_OP_AND, pair, 2, NULL, 0, NULL, 0, NULL, &err),
                   LOOM_NO_VALUE);
  assert_non_null(strstr(err.message, "float32"));
  assert_int_equal(loom_graph_node(&g, LOOM_OP_NEG, pair, 2, NULL, 0, NULL, 0, NULL, &err),
                   LOOM_NO_VALUE);
  assert_int_equal(loom_graph_node(&g, LOOM_OP_CONVERT, &a, 1, NULL, 0, NULL, 0, NULL, &err),
                   LOOM_NO_VALUE);
  assert_int_equal(loom_graph_node(&g, LOOM_OP_ADD, pair, 2, NULL, 0, &other, 1, NULL, &err),
                   LOOM_NO_VALUE);
  assert_int_equal(g.node_count, 0);
  assert_int_equal(loom_graph_input(&g, LOOM_INPUT_SCALAR, &type, NULL), LOOM_NO_VALUE);
  assert_false(loom_graph_output(&g, 99, NULL));
  loom_graph_fini(&g);
}

/* A pointer to a type stays good while the graph grows. */
static void grows(void **state) {
  loom_graph g;
  loom_graph_init(&g);
  loom_type type = f32(2, 3, 4);
  loom_value value = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, NULL);
  const loom_type *first = loom_graph_type(&g, value);
  for (int i = 0; i < 5000; i++)
    value = add(&g, value, value, NULL);
  assert_true(loom_type_equal(first, &type));
  assert_true(loom_type_equal(loom_graph_type(&g, value), &type));
  assert_ptr_equal(g.nodes[0].location.file, g.nodes[4999].location.file);
  assert_null(loom_graph_type(&g, g.value_count));
  loom_graph_fini(&g);
}

static void computes_sizes(void **state) {
  loom_graph g;
  loom_graph_init(&g);
  loom_dim n, m, a, b, c;
  assert_true(loom_dim_symbol(&g, NULL, &n));
  assert_true(loom_dim_symbol(&g, NULL, &m));
  /* (n + m) * 2 == m + n + m + n */
  assert_true(loom_dim_combine(&g, LOOM_EXPR_ADD, n, m, &a));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MUL, a, 2, &b));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_ADD, m, n, &c));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_ADD, c, a, &c));
  assert_int_equal(b, c);
  assert_int_not_equal(a, b);
  /* (6n + 3) floordiv 3 == 2n + 1, its remainder 0, and n - n is a plain 0 */
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MUL, n, 6, &a) && loom_dim_offset(&g, a, 3, &a));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_FLOORDIV, a, 3, &b));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MUL, n, 2, &c) && loom_dim_offset(&g, c, 1, &c));
  assert_int_equal(b, c);
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MOD, a, 3, &b));
  assert_int_equal(b, 0);
  /* ((n - 1) floordiv 2 + 3) floordiv 4 == (n + 5) floordiv 8 */
  loom_dim halved, other;
  assert_true(loom_dim_offset(&g, n, -1, &halved));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_FLOORDIV, halved, 2, &halved));
  assert_true(loom_dim_offset(&g, halved, 3, &halved));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_FLOORDIV, halved, 4, &halved));
  assert_true(loom_dim_offset(&g, n, 5, &other));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_FLOORDIV, other, 8, &other));
  assert_int_equal(halved, other);
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MUL, n, 0, &b));
  assert_int_equal(b, 0);
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MAX, n, m, &a));
  assert_true(loom_dim_combine(&g, LOOM_EXPR_MAX, m, n, &b));
  assert_int_equal(a, b);
  int64_t symbols[] = {5, 7}, value;
  assert_true(loom_dim_eval(&g, a, symbols, &value));
  assert_int_equal(value, 7);
  assert_true(loom_dim_eval(&g, c, symbols, &value));
  assert_int_equal(value, 11);
  assert_false(loom_dim_combine(NULL, LOOM_EXPR_MUL, INT64_MAX, 2, &a));
  assert_false(loom_dim_combine(&g, LOOM_EXPR_FLOORDIV, n, 0, &a));
  loom_graph_fini(&g);
}

static void prunes(void **state) {
  loom_graph g;
  loom_graph_init(&g);
  loom_type type = f32(2, 3, 4);
  loom_value x = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value unused = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, NULL);
  add(&g, unused, x, NULL);
  constant(&g, 0x3f800000);
  loom_value kept = add(&g, x, x, NULL);
  assert_true(loom_graph_output(&g, reduce(&g, kept, "sum", 1), NULL));
  loom_graph_prune(&g);
  assert_int_equal(g.node_count, 2);
  assert_int_equal(g.value_count, 4);
  assert_int_equal(g.input_count, 2);
  assert_int_equal(g.nodes[1].operands[0], g.nodes[0].first_result);
  assert_int_equal(g.outputs[0].value, g.nodes[1].first_result);
  assert_int_equal(g.values[g.outputs[0].value].node, 1);
  loom_graph_fini(&g);
}

static void build_sample(loom_graph *g, int line, uint32_t bits) {
  loom_graph_init(g);
  loom_type type = f32(1, 4, 0);
  loom_value x = loom_graph_input(g, LOOM_INPUT_ARRAY, &type, NULL);
  loom_location here = {.file = "f.py", .function = "f", .line = line, .column = 1};
  loom_value minus = loom_graph_node(g, LOOM_OP_NEG, &x, 1, NULL, 0, NULL, 0, &here, NULL);
  loom_graph_output(g, minus, NULL);
  loom_graph_output(g, constant(g, bits), NULL);
}

static bool same_bytes(int line, uint32_t bits) {
  loom_graph a, b;
  loom_bytes left, right;
  build_sample(&a, 1, 0x3f800000);
  build_sample(&b, line, bits);
  assert_true(loom_graph_serialize(&a, &left) && loom_graph_serialize(&b, &right));
  bool same = left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
  free(left.data);
  free(right.data);
  loom_graph_fini(&a);
  loom_graph_fini(&b);
  return same;
}

static void serialises(void **state) {
  assert_true(same_bytes(1, 0x3f800000));
  assert_true(same_bytes(9, 0x3f800000)); /* locations are no part of the key */
  assert_false(same_bytes(1, 0x40000000));
}

static void prints(void **state) {
  loom_graph g;
  build_sample(&g, 1, 0x7fc00000);
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  loom_graph_print(&g, out);
  fclose(out);
  assert_non_null(strstr(text, "%1 = loom.neg %arg0 : tensor<4xf32>"));
  assert_non_null(strstr(text, "0x7FC00000 : f32"));
  assert_non_null(strstr(text, "loc(\"f.py\":1:1)"));
  free(text);
  loom_graph_fini(&g);
}

/* sum over rows of x + x for a reversed x of a size that is known only now. */
static void interprets(void **state) {
  loom_graph g;
  loom_graph_init(&g);
  loom_dim n;
  assert_true(loom_dim_symbol(&g, NULL, &n));
  loom_type type = f32(2, n, 2);
  int64_t strides[] = {-2, 1};
  loom_value x = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, strides);
  loom_graph_output(&g, reduce(&g, add(&g, x, x, NULL), "sum", 1), NULL);
  float data[] = {1, 2, 3, 4, 5, 6}, out[3] = {0};
  loom_buffer in = {data + 4, f32(2, 3, 2), {-2, 1}}, result = {out, f32(1, 3, 0), {1}};
  loom_error err = {0};
  assert_true(loom_interpret(&g, &in, &result, NULL, &err));
  assert_true(out[0] == 22 && out[1] == 14 && out[2] == 6);
  in.type.dims[1] = 3;
  assert_false(loom_interpret(&g, &in, &result, NULL, &err));
  assert_non_null(strstr(err.message, "another size"));
  loom_graph_fini(&g);
}

/* n times x = x + step, where `step` is outside of the loop: the loop, and what it gives. */
static loom_value loop(loom_graph *g, loom_value n, loom_value x, loom_value step, bool twice) {
  loom_graph body;
  loom_region_init(&body, g);
  loom_type index = {.dtype = LOOM_I64}, type = *loom_graph_type(g, x);
  loom_graph_input(&body, LOOM_INPUT_ARRAY, &index, NULL);
  loom_value carried = loom_graph_input(&body, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value outside = loom_graph_input(&body, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value next = add(&body, carried, outside, NULL);
  if (twice) next = add(&body, next, outside, NULL);
  loom_graph_output(&body, next, NULL);
  loom_value operands[] = {n, x, step};
  return loom_graph_region_node(g, LOOM_OP_FOR, operands, 3, &body, -1, NULL, NULL);
}

static loom_value loops_sample(loom_graph *g, bool twice) {
  loom_graph_init(g);
  loom_dim size;
  loom_dim_symbol(g, NULL, &size);
  loom_type index = {.dtype = LOOM_I64}, type = f32(1, size, 0);
  loom_value n = loom_graph_input(g, LOOM_INPUT_ARRAY, &index, NULL);
  loom_value x = loom_graph_input(g, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value step = loom_graph_input(g, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value dead = loop(g, n, x, step, true), result = loop(g, n, x, step, twice);
  assert_true(dead != LOOM_NO_VALUE && result != LOOM_NO_VALUE);
  loom_graph_output(g, result, NULL);
  loom_graph_prune(g);
  assert_int_equal(g->node_count, 1);
  return result;
}

static void loops(void **state) {
  loom_graph g, other;
  loops_sample(&g, false);
  int64_t count = 3;
  float data[] = {1, 2}, step[] = {10, 100}, out[2] = {0};
  loom_buffer in[] = {
      {&count, {.dtype = LOOM_I64}, {0}}, {data, f32(1, 2, 0), {1}}, {step, f32(1, 2, 0), {1}}};
  loom_buffer result = {out, f32(1, 2, 0), {1}};
  loom_error err = {0};
  assert_true(loom_interpret(&g, in, &result, NULL, &err));
  assert_true(out[0] == 31 && out[1] == 302);
  loom_bytes x, y;
  loops_sample(&other, true);
  assert_true(loom_graph_serialize(&g, &x) && loom_graph_serialize(&other, &y));
  assert_false(x.size == y.size && memcmp(x.data, y.data, x.size) == 0);
  free(x.data);
  free(y.data);
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  assert_non_null(file);
  loom_graph_print(&g, file);
  fclose(file);
  assert_non_null(strstr(text, "%3 = loom.for %arg0 init(%arg1) {\n"
                               "  ^bb0(%r1_arg0: tensor<i64>, %r1_arg1: tensor<?xf32"));
  assert_non_null(strstr(text, "    %r1_3 = loom.add %r1_arg1, %arg2 : "));
  assert_non_null(strstr(text, "    loom.yield %r1_3 : "));
  free(text);
  loom_graph_fini(&g);
  loom_graph_fini(&other);
}

static void refuses_bad_regions(void **state) {
  loom_graph g, body;
  loom_error err = {0};
  loom_graph_init(&g);
  loom_type truth = {.dtype = LOOM_BOOL}, type = f32(1, 4, 0);
  loom_value c = loom_graph_input(&g, LOOM_INPUT_ARRAY, &truth, NULL);
  loom_value x = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, NULL);
  loom_value operands[] = {c, x};
  loom_region_init(&body, &g);
  loom_graph_input(&body, LOOM_INPUT_ARRAY, &truth, NULL);
  assert_int_equal(loom_graph_region_node(&g, LOOM_OP_FOR, operands, 2, &body, -1, NULL, &err),
                   LOOM_NO_VALUE);
  assert_non_null(strstr(err.message, "count is not"));
  loom_graph regions[2];
  for (int r = 0; r < 2; r++) {
    loom_region_init(&regions[r], &g);
    loom_value in = loom_graph_input(&regions[r], LOOM_INPUT_ARRAY, &type, NULL);
    loom_graph_output(&regions[r], r ? reduce(&regions[r], in, "sum", 0) : in, NULL);
  }
  assert_int_equal(loom_graph_region_node(&g, LOOM_OP_IF, operands, 2, regions, -1, NULL, &err),
                   LOOM_NO_VALUE);
  assert_non_null(strstr(err.message, "another type than the result"));
  assert_int_equal(g.node_count, 0);
  loom_graph_fini(&g);
}

/* x[n - 3:] of a reversed x, padded by m: starts, sizes and padding are numbers of symbols. */
static void interprets_symbolic_numbers(void **state) {
  loom_graph g;
  loom_graph_init(&g);
  loom_dim n, m, tail;
  const loom_symbol known = {.min = 3, .max = 100, .divisor = 1};
  assert_true(loom_dim_symbol(&g, &known, &n));
  assert_true(loom_dim_symbol(&g, &known, &m));
  assert_true(loom_dim_offset(&g, n, -3, &tail));
  loom_type type = f32(1, n, 0);
  int64_t stride, start = loom_stride_of_dim(tail), size = 3, step = 1, pad = loom_stride_of_dim(m),
                  none = 0;
  assert_true(loom_stride_symbol(&g, NULL, &stride));
  loom_value x = loom_graph_input(&g, LOOM_INPUT_ARRAY, &type, &stride);
  loom_attr slice[] = {{.kind = LOOM_ATTR_I64S, .count = 1, .ints = &start},
                       {.kind = LOOM_ATTR_I64S, .count = 1, .ints = &size},
                       {.kind = LOOM_ATTR_I64S, .count = 1, .ints = &step}};
  loom_value last = loom_graph_node(&g, LOOM_OP_SLICE, &x, 1, slice, 3, NULL, 0, NULL, NULL);
  loom_attr padding[] = {{.kind = LOOM_ATTR_I64S, .count = 1, .ints = &pad},
                         {.kind = LOOM_ATTR_I64S, .count = 1, .ints = &none}};
  loom_value operands[] = {last, constant(&g, 0x3f800000)};
  loom_value y = loom_graph_node(&g, LOOM_OP_PAD, operands, 2, padding, 2, NULL, 0, NULL, NULL);
  assert_int_not_equal(y, LOOM_NO_VALUE);
  assert_true(loom_graph_output(&g, y, NULL));
  float data[] = {1, 2, 3, 4, 5}, out[7] = {0};
  const float wanted[] = {1, 1, 1, 1, 3, 2, 1};
  loom_buffer in = {data + 4, f32(1, 5, 0), {-1}}, result = {out, f32(1, 7, 0), {1}};
  loom_error err = {0};
  int64_t symbols[] = {5, 4, -1};
  if (!loom_interpret(&g, &in, &result, symbols, &err)) fail_msg("%s", err.message);
  assert_memory_equal(out, wanted, sizeof out);
  symbols[0] = 2; /* the start is negative */
  in.type.dims[0] = 2;
  assert_false(loom_interpret(&g, &in, &result, symbols, &err));
  loom_graph_fini(&g);
}

static void knows_numbers(void **state) {
  loom_graph g;
  loom_graph_init(&g);
  loom_dim n;
  const loom_symbol known = {.min = 2, .max = 1000, .divisor = 8, .hint = 300};
  assert_true(loom_dim_symbol(&g, &known, &n));
  int64_t a = loom_stride_of_dim(n), b, c, low, high;
  assert_true(loom_stride_combine(&g, LOOM_EXPR_MUL, a, -3, &b));
  assert_true(loom_stride_combine(&g, LOOM_EXPR_ADD, b, -6, &c));
  loom_stride_range(&g, c, &low, &high);
  assert_int_equal(low, -3006);
  assert_int_equal(high, -12);
  assert_int_equal(loom_stride_divisor(&g, b), 24);
  assert_int_equal(loom_stride_divisor(&g, c), 6);
  assert_int_equal(loom_stride_hint(&g, b), -3 * 1000); /* 4096 is out of range */
  assert_true(loom_stride_minus(&g, b, b, &c));
  assert_int_equal(c, 0);
  assert_true(loom_stride_combine(&g, LOOM_EXPR_ADD, a, -5, &c) && loom_stride_minus(&g, c, a, &c));
  assert_int_equal(c, -5); /* a constant is no expression */
  assert_true(loom_stride_combine(&g, LOOM_EXPR_FLOORDIV, -7, 2, &c));
  assert_int_equal(c, -4);
  assert_false(loom_stride_combine(&g, LOOM_EXPR_MUL, INT64_MIN / 4, 3, &c));
  assert_true(loom_stride_eval(&g, b, (const int64_t[]){16}, &c));
  assert_int_equal(c, -48);
  loom_type type = f32(2, n, n);
  int64_t strides[LOOM_MAX_RANK];
  assert_true(loom_contiguous_strides_in(&g, &type, strides));
  assert_true(strides[0] == a && strides[1] == 1);
  loom_graph_fini(&g);
}

static void rounds_halves(void **state) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    double half = loom_half_to_double((uint16_t)bits),
           brain = loom_bfloat_to_double((uint16_t)bits);
    if (!isnan(half)) assert_int_equal(loom_half_from_double(half), bits);
    if (!isnan(brain)) assert_int_equal(loom_bfloat_from_double(brain), bits);
  }
  assert_int_equal(loom_half_from_double(65519.99), 0x7BFF);
  assert_int_equal(loom_half_from_double(65520), 0x7C00);
  assert_int_equal(loom_half_from_double(0x1p-25), 0); /* a tie goes to even */
  assert_int_equal(loom_half_from_double(0x1.000001p-25), 1);
  assert_int_equal(loom_half_from_double(1 + 0x1p-11), 0x3C00);           /* a tie goes to even */
  assert_int_equal(loom_half_from_double(1 + 0x1p-11 + 0x1p-40), 0x3C01); /* rounded once */
  assert_true(isnan(loom_half_to_double(loom_half_from_double(NAN))));
}

static char *printed(const loom_graph *g) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  loom_graph_print(g, out);
  fclose(out);
  return text;
}

/* Packed bytes give the same graph, and no graph at all when some are missing. */
static void check_packed(loom_graph *g) {
  loom_graph again;
  loom_bytes bytes;
  char *before = printed(g);
  assert_true(loom_graph_pack(g, &bytes));
  char *between = printed(g);
  assert_true(loom_graph_unpack(&bytes, &again));
  char *after = printed(&again);
  assert_string_equal(before, between);
  assert_string_equal(before, after);
  free(before);
  free(between);
  free(after);
  loom_graph_fini(&again);
  for (loom_bytes part = {malloc(bytes.size), 0}; part.size < bytes.size; part.size++) {
    part.data = realloc(part.data, part.size + 1); /* no byte more than there is */
    memcpy(part.data, bytes.data, part.size);
    assert_false(loom_graph_unpack(&part, &again));
    assert_int_equal(again.node_count, 0);
    if (part.size + 1 == bytes.size) free(part.data);
  }
  for (size_t i = 0; i < 3 * bytes.size; i++) { /* with another byte: some graph, or none */
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    bytes.data[i / 3] ^= changes[i % 3];
    if (loom_graph_unpack(&bytes, &again)) loom_graph_fini(&again);
    bytes.data[i / 3] ^= changes[i % 3];
  }
  free(bytes.data);
}

static void packs(void **state) {
  loom_graph g, face;
  build_sample(&g, 3, 0x7fc00000);
  check_packed(&g);
  loom_graph_fini(&g);
  loops_sample(&g, true);
  check_packed(&g);
  assert_true(loom_graph_interface(&g, &face));
  assert_int_equal(face.node_count, 0);
  assert_int_equal(face.value_count, g.input_count + g.output_count);
  for (uint32_t i = 0; i < g.input_count; i++)
    assert_true(loom_type_equal(loom_graph_type(&g, g.inputs[i].value),
                                loom_graph_type(&face, face.inputs[i].value)));
  assert_true(loom_type_equal(loom_graph_type(&g, g.outputs[0].value),
                              loom_graph_type(&face, face.outputs[0].value)));
  assert_int_equal(face.symbol_count, 1);
  loom_graph_fini(&face);
  loom_graph_fini(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_bad_nodes),
      cmocka_unit_test(grows),
      cmocka_unit_test(computes_sizes),
      cmocka_unit_test(prunes),
      cmocka_unit_test(serialises),
      cmocka_unit_test(packs),
      cmocka_unit_test(prints),
      cmocka_unit_test(interprets),
      cmocka_unit_test(rounds_halves),
      cmocka_unit_test(loops),
      cmocka_unit_test(refuses_bad_regions),
      cmocka_unit_test(interprets_symbolic_numbers),
      cmocka_unit_test(knows_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
