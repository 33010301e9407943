/* Verifiers: the shape rules of graph/infer.c for every op of the table, and the structure ops' own
 * checks. */
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"

/* Ends the message of the error under way, as MLIR writes op errors. */
static MlirLogicalResult verify_fail(MlirOperation op, const char *text) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  loom_emit_error(mlirOperationGetLocation(op), "'%.*s' op %s", (int)name.length, name.data, text);
  return mlirLogicalResultFailure();
}

/* The rule's message starts with the op's name in quotes, which the location's own prefix repeats.
 */
static const char *verify_strip(const char *message) {
  const char *colon = message[0] == '\'' ? strstr(message, "': ") : NULL;
  if (colon) return colon + 3;
  const char *quote = message[0] == '\'' ? strstr(message + 1, "' ") : NULL;
  return quote ? quote + 2 : message;
}

static bool verify_types(loom_graph *graph, const loom_exported *e, loom_error *err) {
  uint32_t count = e->result_count;
  loom_type *types = loom_arena_alloc(&graph->arena, sizeof *types * (count + 1));
  if (!types) return loom_fail(err, "out of memory");
  memcpy(types, e->results, sizeof *types * count);
  if (!loom_infer(graph, &e->view, types, &count, err)) return false;
  if (count != e->result_count) return loom_fail(err, "has the wrong number of results");
  for (uint32_t i = 0; i < count; i++)
    if (!loom_type_equal(&types[i], &e->results[i]))
      return loom_fail(err, "result %u differs from the inferred type", i);
  return true;
}

static MlirLogicalResult verify_computation(MlirOperation op) {
  loom_graph graph;
  loom_exported exported;
  loom_error err = {0};
  loom_graph_init(&graph);
  bool good = loom_export_op(op, &graph, &exported, &err) && verify_types(&graph, &exported, &err);
  loom_graph_fini(&graph);
  return good ? mlirLogicalResultSuccess() : verify_fail(op, verify_strip(err.message));
}

/* The trait of type inference has called the rule already (loom_infer_types) and compared the
 * types. */
static bool verify_is_inferred(loom_opcode op) {
  return !loom_op_declares_type(op) && strcmp(loom_op_table[op].shape, "same") != 0 &&
         strcmp(loom_op_table[op].shape, "scan") != 0 && loom_op_table[op].results == 1;
}

MlirLogicalResult loom_verify_op(MlirOperation op) {
  loom_opcode opcode;
  if (loom_opcode_of(op, &opcode) && !loom_op_table[opcode].regions)
    return verify_is_inferred(opcode) ? mlirLogicalResultSuccess() : verify_computation(op);
  return loom_verify_structure(op) ? mlirLogicalResultSuccess() : mlirLogicalResultFailure();
}

MlirLogicalResult loom_infer_types(MlirContext ctx, MlirLocation loc, MlirStringRef name,
                                   intptr_t count, const MlirValue *operands, MlirAttribute attrs,
                                   MlirType *out) {
  loom_graph graph;
  loom_exported exported;
  loom_error err = {0};
  loom_type type;
  uint32_t results = 0;
  loom_graph_init(&graph);
  bool good = loom_export_operands(name, count, operands, attrs, &graph, &exported, &err) &&
              loom_infer(&graph, &exported.view, &type, &results, &err);
  if (good)
    *out = loom_type_to_mlir_in(ctx, &graph, &type);
  else if (loc.ptr)
    loom_emit_error(loc, "'%.*s' op %s", (int)name.length, name.data, verify_strip(err.message));
  loom_graph_fini(&graph);
  return good ? mlirLogicalResultSuccess() : mlirLogicalResultFailure();
}
