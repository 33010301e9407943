/* loom-lsp-server: MLIR's language server with the loom dialect. */
#include <mlir-c/RegisterEverything.h>

#include "dialects/dialect.h"
#include "passes/passes.h"

int main(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__loom__(), registry);
  mlirRegisterAllPasses();
  loom_register_passes();
  return loom_lsp_main(argc, argv, registry);
}
