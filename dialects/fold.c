#include "dialects/dialect.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

loom_folded loom_fold_op(MlirOperation op, intptr_t count, const MlirAttribute *constants) {
  loom_folded none = {{0}, {0}};
  return none;
}
bool loom_can_materialize(MlirAttribute value, MlirType type) {
  return mlirTypeIsAShaped(type) &&
         (mlirAttributeIsAInteger(value) || mlirAttributeIsAFloat(value));
}
