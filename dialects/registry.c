/* The dialects that the passes read and make: what a tool that reads text knows. All of upstream's
 * would make the compiler library much larger. */
#include <mlir-c/Dialect/Arith.h>
#include <mlir-c/Dialect/ControlFlow.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/Dialect/NVVM.h>
#include <mlir-c/Dialect/ROCDL.h>
#include <mlir-c/Dialect/SCF.h>
#include <mlir-c/Dialect/UB.h>
#include <mlir-c/Dialect/Vector.h>

#include "dialects/dialect.h"

void loom_register_dialects(MlirDialectRegistry registry) {
  const MlirDialectHandle handles[] = {
      mlirGetDialectHandle__loom__(),  mlirGetDialectHandle__arith__(),
      mlirGetDialectHandle__cf__(),    mlirGetDialectHandle__func__(),
      mlirGetDialectHandle__llvm__(),  mlirGetDialectHandle__nvvm__(),
      mlirGetDialectHandle__rocdl__(), mlirGetDialectHandle__scf__(),
      mlirGetDialectHandle__ub__(),    mlirGetDialectHandle__vector__()};
  for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
    mlirDialectHandleInsertDialect(handles[i], registry);
  loom_register_conversions(registry);
  loom_register_inliners(registry);
}
