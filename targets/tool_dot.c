/* A module as a graph of Graphviz. An op is a node, and a box around the nodes of its regions if it
 * has any; a value is the node of its op or of its block's argument. Edges go from a value to who
 * reads it, to a buffer from who writes it (bold), from a branch to its block (dotted) and from who
 * names a symbol to what has it (dashed).
 *
 * Two walks in one order: the first gives each op, argument and block its number and draws it, the
 * second draws edges. */
#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "targets/tools.h"

enum { DOT_LABEL = 100 }; /* a longer type or name is cut off */

typedef struct dot_writer {
  FILE *out;
  MlirModule module;
  loom_map nodes; /* ops, block arguments and blocks */
  int64_t count;
  bool good;
} dot_writer;

/* ---- labels ---- */

static void dot_text(dot_writer *w, const char *text, size_t length) {
  for (size_t i = 0; i < length && i < DOT_LABEL; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\') fputc('\\', w->out);
    if (c < ' ')
      fputs("\\n", w->out);
    else
      fputc(c, w->out);
  }
  if (length > DOT_LABEL) fputs("...", w->out);
}

static void dot_append(MlirStringRef text, void *file) { fwrite(text.data, 1, text.length, file); }

static void dot_type(dot_writer *w, MlirType type) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file) return;
  mlirTypePrint(type, dot_append, file);
  if (fclose(file) == 0) dot_text(w, text, size);
  free(text);
}

/* The user's name or line, where the location has one. */
static void dot_place(dot_writer *w, MlirLocation loc) {
  size_t length = 0;
  const char *name = loom_location_name(loc, &length);
  MlirLocation line = loom_location_line(loc);
  if (name) {
    fputs("\\n", w->out);
    dot_text(w, name, length);
  }
  if (line.ptr)
    fprintf(w->out, "\\nline %d:%d", mlirLocationFileLineColRangeGetStartLine(line),
            mlirLocationFileLineColRangeGetStartColumn(line));
}

static void dot_op_label(dot_writer *w, MlirOperation op) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  MlirStringRef symbol = loom_get_str(op, "sym_name");
  MlirAttribute kernel = loom_get_attr(op, "kernel");
  dot_text(w, name.data, name.length);
  if (kernel.ptr && mlirAttributeIsAFlatSymbolRef(kernel))
    symbol = mlirFlatSymbolRefAttrGetValue(kernel);
  if (symbol.length) {
    fputs(" @", w->out);
    dot_text(w, symbol.data, symbol.length);
  }
  if (loom_get_attr(op, "stage").ptr)
    fprintf(w->out, " stage %" PRId64, loom_get_i64(op, "stage", 0));
}

/* ---- nodes ---- */

static int64_t dot_number(dot_writer *w, const void *key) {
  w->good &= loom_map_put(&w->nodes, key, w->count);
  return w->count++;
}

static void dot_argument(dot_writer *w, MlirBlock block, intptr_t index) {
  MlirValue value = mlirBlockGetArgument(block, index);
  fprintf(w->out, "n%" PRId64 " [shape=ellipse, label=\"argument %d\\n", dot_number(w, value.ptr),
          (int)index);
  dot_type(w, mlirValueGetType(value));
  dot_place(w, mlirValueGetLocation(value));
  fputs("\"];\n", w->out);
}

static void dot_op(dot_writer *w, MlirOperation op);

/* A block of several gets a node of its own, which branches go to. */
static void dot_block(dot_writer *w, MlirBlock block, int number, bool several) {
  if (several) {
    int64_t node = dot_number(w, block.ptr);
    fprintf(w->out,
            "subgraph cluster_%" PRId64 " {\nlabel=\"block %d\";\nn%" PRId64 " [shape=point];\n",
            node, number, node);
  }
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    dot_argument(w, block, i);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    dot_op(w, op);
  if (several) fputs("}\n", w->out);
}

static void dot_regions(dot_writer *w, MlirOperation op) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    bool several = block.ptr && mlirBlockGetNextInRegion(block).ptr;
    for (int number = 0; block.ptr; block = mlirBlockGetNextInRegion(block))
      dot_block(w, block, number++, several);
  }
}

static void dot_op(dot_writer *w, MlirOperation op) {
  int64_t number = dot_number(w, op.ptr);
  bool box = mlirOperationGetNumRegions(op) > 0;
  if (box) {
    fprintf(w->out, "subgraph cluster_%" PRId64 " {\nlabel=\"", number);
    dot_op_label(w, op);
    fputs("\";\n", w->out);
  }
  fprintf(w->out, "n%" PRId64 " [label=\"", number);
  dot_op_label(w, op);
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    fputs("\\n", w->out);
    dot_type(w, mlirValueGetType(loom_result(op, i)));
  }
  dot_place(w, mlirOperationGetLocation(op));
  fputs("\"];\n", w->out);
  dot_regions(w, op);
  if (box) fputs("}\n", w->out);
}

/* ---- edges ---- */

static int64_t dot_of_value(const dot_writer *w, MlirValue value) {
  MlirOperation def = loom_def(value);
  return loom_map_get(&w->nodes, def.ptr ? def.ptr : value.ptr, -1);
}

static MlirOperation dot_find(const dot_writer *w, MlirStringRef name) {
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(w->module));
  while (op.ptr && !mlirStringRefEqual(loom_get_str(op, "sym_name"), name))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

/* Operands from this one on are written: of a launch, buffers behind those that its kernel reads.
 */
static intptr_t dot_first_written(const dot_writer *w, MlirOperation op) {
  intptr_t count = mlirOperationGetNumOperands(op);
  if (loom_is(op, LOOM_OP_COPY_BUFFER)) return 1;
  if (loom_info(op)->control) return loom_get_i64(op, "reads", count);
  MlirOperation kernel = loom_find_kernel(op);
  if (!kernel.ptr) return count;
  MlirBlock body = loom_body(kernel);
  intptr_t scalars = loom_get_i64s(kernel, "scalars", NULL, 0);
  return mlirBlockGetNumArguments(body) - (scalars > 0 ? scalars : 0);
}

/* In a launch, scalars come after all buffers, and are only read. */
static intptr_t dot_last_written(MlirOperation op) {
  MlirAttribute segments = loom_get_attr(op, "operandSegmentSizes");
  return segments.ptr ? mlirDenseI32ArrayGetElement(segments, 0) : mlirOperationGetNumOperands(op);
}

static void dot_symbol(dot_writer *w, int64_t from, MlirAttribute attr) {
  if (mlirAttributeIsAFlatSymbolRef(attr)) {
    MlirOperation found = dot_find(w, mlirFlatSymbolRefAttrGetValue(attr));
    int64_t to = found.ptr ? loom_map_get(&w->nodes, found.ptr, -1) : -1;
    if (to >= 0) fprintf(w->out, "n%" PRId64 " -> n%" PRId64 " [style=dashed];\n", from, to);
  } else if (mlirAttributeIsAArray(attr)) {
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(attr); i++)
      dot_symbol(w, from, mlirArrayAttrGetElement(attr, i));
  }
}

static MlirWalkResult dot_edges(MlirOperation op, void *user) {
  dot_writer *w = user;
  int64_t number = loom_map_get(&w->nodes, op.ptr, -1);
  if (number < 0) return MlirWalkResultAdvance; /* the module */
  intptr_t first = dot_first_written(w, op), last = dot_last_written(op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    int64_t value = dot_of_value(w, loom_operand(op, i));
    if (i >= first && i < last)
      fprintf(w->out, "n%" PRId64 " -> n%" PRId64 " [style=bold];\n", number, value);
    else
      fprintf(w->out, "n%" PRId64 " -> n%" PRId64 ";\n", value, number);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumSuccessors(op); i++)
    fprintf(w->out, "n%" PRId64 " -> n%" PRId64 " [style=dotted];\n", number,
            loom_map_get(&w->nodes, mlirOperationGetSuccessor(op, i).ptr, -1));
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++)
    dot_symbol(w, number, mlirOperationGetAttribute(op, i).attribute);
  return MlirWalkResultAdvance;
}

bool loom_tool_dot(MlirModule module, loom_bytes *out) {
  char *text = NULL;
  size_t size = 0;
  dot_writer w = {.out = open_memstream(&text, &size), .module = module, .good = true};
  if (!w.out) return false;
  fputs("digraph {\nnode [shape=box, fontname=monospace];\n", w.out);
  dot_regions(&w, mlirModuleGetOperation(module));
  mlirOperationWalk(mlirModuleGetOperation(module), dot_edges, &w, MlirWalkPreOrder);
  fputs("}\n", w.out);
  w.good &= fclose(w.out) == 0;
  loom_map_fini(&w.nodes);
  *out = (loom_bytes){(uint8_t *)text, size};
  return w.good;
}
