/* The C header of a program for a GPU: its kernels, what they take, and functions that load and
 * launch them by the vendor's driver.
 *
 * A call needs one piece of device memory, the workspace: a word for the status, and the arena.
 * Kernels get their lists by value (for each launch its buffers, then its scalars and sizes), as in
 * runtime/device_run.c.
 */
#include "targets/launcher.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "runtime/runtime.h"
#include "targets/program_text.h"

#define LAUNCHER_ARENA 256 /* where the arena begins, behind the status; aligns both */

typedef struct launcher {
  FILE *out;
  MlirOperation plan;
  launcher_words text;
  const loom_gpu_table *stages;
  char upper[128];
  int launches, words; /* words of all lists */
  int64_t bytes;       /* of the workspace */
  bool sized;
  uint8_t *needed; /* expressions of sizes */
} launcher;

static void launcher_write(const launcher *l, const char *text) {
  launcher_print(l->out, &l->text, text);
}

/* ---- numbers ---- */

static void launcher_need_none(const launcher *l) {
  memset(l->needed, 0, loom_sizes() ? loom_sizes()->expr_count + 1u : 1);
}

static void launcher_number(const launcher *l, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number))
    fprintf(l->out, "e%u", LOOM_STRIDE_EXPR(number));
  else
    fprintf(l->out, "%" PRId64, number);
}

static void launcher_expr(const launcher *l, const loom_expr *expr) {
  uint32_t a = expr->lhs, b = expr->rhs;
  switch (expr->kind) {
  case LOOM_EXPR_CONST: fprintf(l->out, "%" PRId64, expr->value); break;
  case LOOM_EXPR_SYMBOL: fprintf(l->out, "sizes[%" PRId64 "]", expr->value); break;
  case LOOM_EXPR_ADD: fprintf(l->out, "e%u + e%u", a, b); break;
  case LOOM_EXPR_MUL: fprintf(l->out, "e%u * e%u", a, b); break;
  case LOOM_EXPR_MIN: fprintf(l->out, "e%u < e%u ? e%u : e%u", a, b, a, b); break;
  case LOOM_EXPR_MAX: fprintf(l->out, "e%u > e%u ? e%u : e%u", a, b, a, b); break;
  case LOOM_EXPR_MOD: fprintf(l->out, "%s_mod(e%u, e%u)", l->text.name, a, b); break;
  default: fprintf(l->out, "%s_div(e%u, e%u)", l->text.name, a, b);
  }
}

/* The expressions that are needed, operands first, as constants of C. */
static void launcher_exprs(const launcher *l) {
  for (uint32_t i = 0; loom_sizes() && i < loom_sizes()->expr_count; i++) {
    if (!l->needed[i]) continue;
    fprintf(l->out, "  const int64_t e%u = ", i);
    launcher_expr(l, &loom_sizes()->exprs[i]);
    fputs(";\n", l->out);
  }
}

/* ---- the plan ---- */

static MlirOperation launcher_first(const launcher *l) {
  return program_next_launch(l->plan, (MlirOperation){NULL});
}

static int32_t launcher_buffers(MlirOperation launch) {
  return mlirDenseI32ArrayGetElement(loom_get_attr(launch, "operandSegmentSizes"), 0);
}

static int launcher_params(MlirOperation launch) {
  return (int)(mlirOperationGetNumOperands(launch) - launcher_buffers(launch) +
               loom_get_i64(launch, "symbols", 0));
}

static bool launcher_refuse(MlirOperation op, const char *why) {
  return loom_emit_error(mlirOperationGetLocation(op), "no header for a GPU has %s", why);
}

static bool launcher_can(const launcher *l) {
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(l->plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    switch (loom_op_of(op)) {
    case LOOM_OP_BUFFER:
    case LOOM_OP_TRIM_ARENA: break;
    case LOOM_OP_LAUNCH:
      if (loom_get_i64(op, "scratch", 0)) return launcher_refuse(op, "kernels with scratch memory");
      break;
    case LOOM_OP_COPY_BUFFER:
      if (program_bytes(l->plan, loom_operand(op, 0)) == -1)
        return launcher_refuse(op, "copies of no memory");
      break;
    case LOOM_OP_RUN: return launcher_refuse(op, "loops or branches yet");
    default: return launcher_refuse(op, "calls into a library");
    }
  }
  return true;
}

static const loom_gpu_row *launcher_row(const launcher *l, MlirOperation launch) {
  char entry[640];
  MlirStringRef kernel = mlirFlatSymbolRefAttrGetValue(loom_get_attr(launch, "kernel"));
  snprintf(entry, sizeof entry, "%s_%.*s_s%" PRId64, l->text.name, (int)kernel.length, kernel.data,
           loom_get_i64(launch, "stage", 0));
  for (uint32_t i = 0; i < l->stages->count; i++)
    if (strcmp(l->stages->rows[i].name, entry) == 0) return &l->stages->rows[i];
  return NULL;
}

/* Before the table of needed expressions is made: sums may be new expressions. */
static bool launcher_measure(launcher *l) {
  for (MlirOperation op = launcher_first(l); op.ptr; op = program_next_launch(l->plan, op)) {
    if (!launcher_row(l, op)) return launcher_refuse(op, "kernels without code");
    l->launches++;
    l->words += launcher_buffers(op) + launcher_params(op);
  }
  l->bytes = loom_num_add(LAUNCHER_ARENA, loom_get_i64(l->plan, "arena", 0));
  return true;
}

/* ---- arguments ---- */

/* The C type of a number, or of its bits where C has no such type; NULL. */
static const char *launcher_type(MlirValue value) {
  static const char *const types[LOOM_DTYPE_COUNT] = {
      [LOOM_BOOL] = "uint8_t", [LOOM_I8] = "int8_t",     [LOOM_I16] = "int16_t",
      [LOOM_I32] = "int32_t",  [LOOM_I64] = "int64_t",   [LOOM_U8] = "uint8_t",
      [LOOM_U16] = "uint16_t", [LOOM_U32] = "uint32_t",  [LOOM_U64] = "uint64_t",
      [LOOM_F16] = "uint16_t", [LOOM_BF16] = "uint16_t", [LOOM_F32] = "float",
      [LOOM_F64] = "double",   [LOOM_C64] = "uint64_t"};
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return NULL;
  return types[type.dtype];
}

/* "input0" or "output0". */
static void launcher_argument(const launcher *l, MlirValue value) {
  int64_t inputs = loom_get_i64(l->plan, "inputs", 0);
  int64_t number = mlirBlockArgumentGetArgNumber(value);
  if (number < inputs)
    fprintf(l->out, "input%" PRId64, number);
  else
    fprintf(l->out, "output%" PRId64, number - inputs);
}

/* What the user calls an argument, as far as a comment may hold it. */
static void launcher_user_name(const launcher *l, MlirValue value) {
  MlirLocation location = mlirValueGetLocation(value);
  if (!mlirLocationIsAName(location)) return;
  MlirStringRef name = mlirIdentifierStr(mlirLocationNameGetName(location));
  for (size_t i = 0; i < name.length && i < 60; i++) {
    char c = name.data[i];
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    fputc(plain || strchr("_.[]", c) ? c : '?', l->out);
  }
  fputs(": ", l->out);
}

static bool launcher_arguments(const launcher *l) {
  MlirBlock block = program_block(l->plan);
  launcher_write(l, "/* What a call takes: addresses of device memory, of element [0, ..., 0], and "
                    "numbers. Outputs overlap\n * nothing. */\n"
                    "typedef struct $n_arguments {\n");
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    MlirValue value = mlirBlockGetArgument(block, i);
    const char *type =
        mlirTypeIsAMemRef(mlirValueGetType(value)) ? l->text.driver->address : launcher_type(value);
    if (!type) return launcher_refuse(l->plan, "numbers of this type");
    fprintf(l->out, "  %s ", type);
    launcher_argument(l, value);
    fputs("; /* ", l->out);
    launcher_user_name(l, value);
    program_describe_type(l->out, l->plan, value);
    fputs(" */\n", l->out);
  }
  if (l->sized)
    fprintf(l->out, "  int64_t sizes[%u]; /* s0, s1, ... of the function's types */\n",
            loom_sizes()->symbol_count);
  fprintf(l->out,
          "  %s workspace; /* at a multiple of %d bytes; each call that runs needs its own */\n",
          l->text.driver->address, LAUNCHER_ARENA);
  launcher_write(l, "} $n_arguments;\n\n");
  return true;
}

/* ---- kernels ---- */

static void launcher_describe(const launcher *l, MlirOperation launch) {
  const loom_gpu_row *row = launcher_row(l, launch);
  int32_t buffers = launcher_buffers(launch);
  intptr_t operands = mlirOperationGetNumOperands(launch);
  bool blocks = row->flags & LOOM_PLAN_KERNEL_BLOCKS;
  fprintf(l->out,
          "/* %s: blocks of %u threads with %u bytes of shared memory; a chunk is a %s's. Words of "
          "`buffers`: %u, of\n * `params`: %u.\n",
          row->name, row->threads, row->shared, blocks ? "block" : "thread", row->buffers,
          row->params);
  for (int32_t i = 0; i < operands; i++) {
    MlirValue value = loom_operand(launch, i);
    bool buffer = i < buffers, argument = mlirValueIsABlockArgument(value);
    fprintf(l->out, " *   %s[%d]: ", buffer ? "buffers" : "params", buffer ? i : i - buffers);
    if (argument) launcher_argument(l, value);
    if (argument) fputs(", ", l->out);
    program_describe_type(l->out, l->plan, value);
    fprintf(l->out, "%s\n", argument ? "" : " of the workspace");
  }
  for (int64_t i = 0; i < loom_get_i64(launch, "symbols", 0); i++)
    fprintf(l->out, " *   params[%" PRId64 "]: sizes[%" PRId64 "]\n", operands - buffers + i, i);
  fputs(" */\n", l->out);
}

/* Bytes of shared memory beyond what a kernel may have of its own. */
static uint32_t launcher_asked(const loom_gpu_row *row) {
  return row->shared > LOOM_PLAN_STATIC ? row->shared : 0;
}

static bool launcher_asks(const launcher *l) {
  for (uint32_t i = 0; i < l->stages->count; i++)
    if (launcher_asked(&l->stages->rows[i])) return true;
  return false;
}

static bool launcher_has_maps(const launcher *l) {
  for (uint32_t i = 0; i < l->stages->count; i++)
    if (l->stages->rows[i].map_count) return true;
  return false;
}

static void launcher_kernels(const launcher *l) {
  if (l->stages->count)
    launcher_write(
        l, "/* The kernels. Each has the parameters\n *\n"
           " *   buffers, params, int64_t begin, int64_t end, uint32_t *status[, maps]\n *\n"
           " * and runs the chunks [begin, end). `buffers` and `params` are arrays by value, of "
           "addresses and of numbers in 64 bits\n"
           " * each, of at least one word; below is what they hold where the kernel is launched "
           "first. What goes wrong is or'ed\n * into *status. A kernel that copies boxes of "
           "matrices has "
           "their tensor maps by value. */\n\n");
  for (MlirOperation op = launcher_first(l); op.ptr; op = program_next_launch(l->plan, op))
    if (!program_seen(l->plan, op)) launcher_describe(l, op);
  launcher_write(l, "\ntypedef struct $n_kernel {\n"
                    "  const char *name;\n"
                    "  unsigned threads; /* of a block */\n"
                    "  unsigned shared;  /* bytes that each block has */\n"
                    "  unsigned asked;   /* by a launch, of these */\n"
                    "  int blocks;       /* 1: a chunk is a block's work; 0: a thread's */\n"
                    "} $n_kernel;\n\n");
  fprintf(l->out, "#define %s_KERNELS %u\n", l->upper, l->stages->count);
  launcher_write(l, "static const $n_kernel $n_kernels[$N_KERNELS + 1] = {\n");
  for (uint32_t i = 0; i < l->stages->count; i++) {
    const loom_gpu_row *row = &l->stages->rows[i];
    fprintf(l->out, "    {\"%s\", %u, %u, %u, %d},\n", row->name, row->threads, row->shared,
            launcher_asked(row), row->flags & LOOM_PLAN_KERNEL_BLOCKS ? 1 : 0);
  }
  fputs("    {0, 0, 0, 0, 0}};\n\n", l->out);
}

/* ---- functions ---- */

static void launcher_workspace(const launcher *l) {
  launcher_need_none(l);
  program_need(l->needed, l->bytes);
  fputs("/* Bytes of a call's workspace. */\n", l->out);
  if (!l->sized) {
    fprintf(l->out, "#define %s_WORKSPACE %" PRId64 "\n\n", l->upper, l->bytes);
    return;
  }
  launcher_write(l, "static inline int64_t $n_workspace(const int64_t *sizes) {\n");
  launcher_exprs(l);
  fputs("  (void)sizes;\n  return ", l->out);
  launcher_number(l, l->bytes);
  fputs(";\n}\n\n", l->out);
}

static void launcher_chunks(const launcher *l) {
  int i = 0;
  launcher_need_none(l);
  fprintf(l->out,
          "/* The chunks of each launch, in the order of the launches. */\n"
          "#define %s_LAUNCHES %d\n",
          l->upper, l->launches);
  launcher_write(l, "static inline void $n_chunks(");
  launcher_write(l, l->sized ? "const int64_t *sizes, int64_t *chunks) {\n  (void)sizes;\n"
                             : "int64_t *chunks) {\n");
  fputs("  (void)chunks;\n", l->out);
  for (MlirOperation op = launcher_first(l); op.ptr; op = program_next_launch(l->plan, op))
    program_need(l->needed, loom_get_i64(op, "chunks", 0));
  launcher_exprs(l);
  for (MlirOperation op = launcher_first(l); op.ptr; op = program_next_launch(l->plan, op)) {
    fprintf(l->out, "  chunks[%d] = ", i++);
    launcher_number(l, loom_get_i64(op, "chunks", 0));
    fprintf(l->out, "; /* of %s */\n", launcher_row(l, op)->name);
  }
  fputs("}\n\n", l->out);
}

static const char launcher_division[] = "/* Towards negative infinity; divisors are positive. */\n"
                                        "static inline int64_t $n_mod(int64_t a, int64_t b) {\n"
                                        "  if (b < 1) b = 1;\n"
                                        "  return a % b < 0 ? a % b + b : a % b;\n"
                                        "}\n\n"
                                        "static inline int64_t $n_div(int64_t a, int64_t b) {\n"
                                        "  if (b < 1) b = 1;\n"
                                        "  return (a - $n_mod(a, b)) / b;\n"
                                        "}\n\n";

static const char launcher_blocks[] =
    "/* The blocks of a launch. Its grid and its blocks have one dimension. */\n"
    "static inline int64_t $n_blocks(const $n_kernel *kernel, int64_t chunks) {\n"
    "  if (chunks < 1) return 0;\n"
    "  return kernel->blocks ? chunks : (chunks - 1) / (int64_t)kernel->threads + 1;\n"
    "}\n\n";

static const char launcher_status[] =
    "/* Waits for a call that was ordered on this stream, and reads its status: 0, or a union of 1 "
    "(an integer was\n"
    " * divided by zero), 2 (an integer division overflowed) and 256 (an index was out of bounds: "
    "outputs are not\n"
    " * valid). */\n"
    "static inline $r $n_status(const $n_arguments *arguments, $t stream, uint32_t *status) {\n"
    "  $r error = $pMemcpyDtoHAsync(status, arguments->workspace, sizeof *status, stream);\n"
    "  return error == $s ? $pStreamSynchronize(stream) : error;\n"
    "}\n";

/* ---- a call ---- */

/* A value of the plan as 64 bits. */
static void launcher_word(const launcher *l, MlirValue value) {
  if (!mlirValueIsABlockArgument(value)) {
    fputs("arena + (uint64_t)", l->out);
    launcher_number(l, loom_get_i64(loom_def(value), "offset", 0));
    return;
  }
  launcher_write(l, "$warguments->");
  launcher_argument(l, value);
}

/* Fills in the lists of all launches: addresses, then the bits of numbers, then sizes. */
static void launcher_lists(const launcher *l) {
  int word = 0;
  for (MlirOperation op = launcher_first(l); op.ptr; op = program_next_launch(l->plan, op)) {
    int32_t buffers = launcher_buffers(op);
    fprintf(l->out, "  /* %s */\n", launcher_row(l, op)->name);
    for (int32_t i = 0; i < mlirOperationGetNumOperands(op); i++, word++) {
      if (i < buffers) {
        fprintf(l->out, "  words[%d] = ", word);
        launcher_word(l, loom_operand(op, i));
        fputs(";\n", l->out);
        continue;
      }
      fprintf(l->out, "  memcpy(&words[%d], &arguments->", word);
      launcher_argument(l, loom_operand(op, i));
      fputs(", sizeof arguments->", l->out);
      launcher_argument(l, loom_operand(op, i));
      fputs(");\n", l->out);
    }
    for (int64_t i = 0; i < loom_get_i64(op, "symbols", 0); i++, word++)
      fprintf(l->out, "  words[%d] = (uint64_t)sizes[%" PRId64 "];\n", word, i);
  }
}

static void launcher_copy(const launcher *l, MlirOperation op) {
  int64_t bytes = program_bytes(l->plan, loom_operand(op, 0));
  launcher_write(l, "  if (error == $s && ");
  launcher_number(l, bytes);
  fputs(" != 0 && (", l->out);
  launcher_word(l, loom_operand(op, 1));
  fputs(") != (", l->out);
  launcher_word(l, loom_operand(op, 0));
  launcher_write(l, "))\n    error = $pMemcpyDtoDAsync($b(");
  launcher_word(l, loom_operand(op, 1));
  launcher_write(l, "), $b(");
  launcher_word(l, loom_operand(op, 0));
  fputs("), (size_t)", l->out);
  launcher_number(l, bytes);
  fputs(", stream);\n", l->out);
}

/* A number of a map, of the words from `params` on. */
static void launcher_map_number(const launcher *l, const loom_tensor_map *map, int i, int params) {
  fprintf(l->out, "    sizes[%d] = %" PRIu64, i, i < 3 ? map->extents[i] : map->strides[i - 3]);
  for (int k = 0; k < 2; k++)
    if (map->parameters[i][k]) fprintf(l->out, " * words[%d]", params + map->parameters[i][k] - 1);
  if (map->plus[i]) fprintf(l->out, " + %u", map->plus[i]);
  fputs(";\n", l->out);
}

static void launcher_maps(const launcher *l, const loom_gpu_row *row, int word, int params) {
  static const char *const types[LOOM_MAP_KINDS] = {"UINT16", "TFLOAT32", "UINT8"};
  for (uint32_t i = 0; i < row->map_count; i++) {
    const loom_tensor_map *map = &row->maps[i];
    launcher_write(l, "  if (error == $s) {\n    uint64_t sizes[5];\n");
    for (int k = 0; k < 5; k++)
      launcher_map_number(l, map, k, params);
    launcher_write(l, "    error = $n_map(&");
    fprintf(l->out,
            "maps[%u], words[%d] + (uint64_t)%" PRId64 ", CU_TENSOR_MAP_DATA_TYPE_%s, %u, %u, "
            "sizes);\n  }\n",
            i, word + (int)map->buffer, map->offset, types[map->kind], map->box[0], map->box[1]);
  }
}

/* `word`: where the lists of this launch begin; `launch`: its number. */
static void launcher_step(const launcher *l, MlirOperation op, int *word, int *launch) {
  int params = *word + launcher_buffers(op);
  const loom_gpu_row *row = launcher_row(l, op);
  launcher_maps(l, row, *word, params);
  launcher_write(l, "  if (error == $s)\n    error = $n_start(module, ");
  fprintf(l->out,
          "%d, words + %d, words + %d, workspace, %s, %" PRId64 ", chunks[%d], stream); /* %s */\n",
          (int)(row - l->stages->rows), *word, params, row->map_count ? "maps" : "0",
          loom_get_i64(op, loom_mark_first, 0), (*launch)++, row->name);
  *word = params + launcher_params(op);
}

static bool launcher_need_op(MlirOperation op, void *user) {
  const launcher *l = user;
  program_need(l->needed, loom_get_i64(op, "offset", 0));
  if (loom_op_of(op) == LOOM_OP_COPY_BUFFER)
    program_need(l->needed, program_bytes(l->plan, loom_operand(op, 0)));
  return true;
}

static void launcher_call(launcher *l) {
  int word = 0, launch = 0;
  launcher_write(
      l,
      "/* Orders all work of a call on a stream. Kernels of one call may report what goes wrong: "
      "$n_status() reads it. */\n"
      "static inline $r $n_launch(const $n_module *module, const $n_arguments *arguments, $t "
      "stream) {\n");
  if (l->sized) fputs("  const int64_t *sizes = arguments->sizes;\n", l->out);
  launcher_need_none(l);
  loom_walk_block(program_block(l->plan), launcher_need_op, l);
  launcher_exprs(l);
  fprintf(l->out, "  uint64_t words[%d];\n  int64_t chunks[%s_LAUNCHES + 1];\n", l->words + 1,
          l->upper);
  if (launcher_has_maps(l)) fprintf(l->out, "  CUtensorMap maps[%u];\n", LOOM_MAP_MOST);
  launcher_write(l, "  const uint64_t workspace = $warguments->workspace;\n");
  fprintf(l->out, "  const uint64_t arena = workspace + %d;\n", LAUNCHER_ARENA);
  launcher_write(l, "  $r error;\n"
                    "  (void)module, (void)arena;\n"
                    "  memset(words, 0, sizeof words);\n");
  launcher_lists(l);
  launcher_write(l, l->sized ? "  $n_chunks(sizes, chunks);\n" : "  $n_chunks(chunks);\n");
  launcher_write(l, "  error = $pMemsetD32Async(arguments->workspace, 0, 1, stream);\n");
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(l->plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_opcode code = loom_op_of(op);
    if (code == LOOM_OP_COPY_BUFFER) launcher_copy(l, op);
    if (code == LOOM_OP_LAUNCH) launcher_step(l, op, &word, &launch);
  }
  fputs("  return error;\n}\n\n", l->out);
}

/* ---- all of it ---- */

static bool launcher_header(launcher *l) {
  launcher_write(l, "/* Made by loom-compile. A program that includes this is linked with $k.\n"
                    " *\n"
                    " *   $n_load(&module, image);\n"
                    " *   $n_launch(&module, &arguments, stream);\n"
                    " *   $n_status(&arguments, stream, &status);\n"
                    " */\n"
                    "#ifndef $N_H\n#define $N_H\n\n"
                    "$h#include <stdint.h>\n#include <string.h>\n\n"
                    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  if (!launcher_arguments(l)) return false;
  launcher_kernels(l);
  if (l->sized) launcher_write(l, launcher_division);
  launcher_workspace(l);
  launcher_chunks(l);
  launcher_write(l, launcher_blocks);
  launcher_write(l, launcher_loading);
  if (launcher_asks(l)) launcher_write(l, launcher_asking);
  launcher_write(l, launcher_unloading);
  if (launcher_has_maps(l)) launcher_write(l, launcher_map);
  launcher_write(l, launcher_start);
  launcher_call(l);
  launcher_write(l, launcher_status);
  fputs("\n#ifdef __cplusplus\n}\n#endif\n#endif\n", l->out);
  return true;
}

static bool launcher_make(launcher *l, loom_bytes *out) {
  char *text = NULL;
  size_t size = 0;
  l->needed = calloc(1, loom_sizes() ? loom_sizes()->expr_count + 1u : 1);
  l->out = l->needed ? open_memstream(&text, &size) : NULL;
  bool good = l->out && launcher_header(l);
  bool memory = l->out && fclose(l->out) == 0;
  free(l->needed);
  *out = (loom_bytes){(uint8_t *)text, size};
  if (good && memory) return true;
  free(text);
  *out = (loom_bytes){NULL, 0};
  return memory ? false : loom_emit_error(mlirOperationGetLocation(l->plan), "out of memory");
}

/* The table of sizes is open. */
static bool launcher_begin(MlirModule plans, const loom_target *machine,
                           const loom_gpu_table *stages, const char *name, loom_bytes *out) {
  MlirOperation none = {NULL};
  launcher l = {.plan = loom_next_plan(mlirModuleGetBody(plans), none), .stages = stages};
  program_upper(name, l.upper, sizeof l.upper);
  l.text = (launcher_words){launcher_driver_of(machine), name, l.upper};
  l.sized = program_is_sized(l.plan);
  return launcher_can(&l) && launcher_measure(&l) && launcher_make(&l, out);
}

bool loom_launcher_header(MlirModule plans, const loom_target *machine,
                          const loom_gpu_table *stages, const char *name, loom_bytes *out) {
  MlirOperation top = mlirModuleGetOperation(plans);
  *out = (loom_bytes){NULL, 0};
  bool good = loom_sizes_enter(top) && launcher_begin(plans, machine, stages, name, out);
  loom_sizes_leave(top);
  return good;
}
