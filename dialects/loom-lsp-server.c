/* loom-lsp-server: MLIR's language server with the loom dialect. */
#include "dialects/dialect.h"

LOOM_TOOL_MAIN loom_tool_lsp_server(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  return loom_lsp_main(argc, argv, registry);
}
