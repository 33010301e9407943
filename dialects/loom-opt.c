/* loom-opt: mlir-opt with the loom dialect and its passes. */
#include <mlir-c/Conversion.h>
#include <mlir-c/Transforms.h>

#include "dialects/dialect.h"
#include "passes/passes.h"
#include "targets/native.h"

LOOM_TOOL_MAIN loom_tool_opt(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  mlirRegisterTransformsPasses();
  mlirRegisterConversionConvertToLLVMPass();
  mlirRegisterConversionReconcileUnrealizedCastsPass();
  mlirRegisterConversionSCFToControlFlowPass();
  loom_register_passes();
  loom_native_init();
  return loom_opt_main(argc, argv, registry);
}
