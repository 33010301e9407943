#include "dialects/dialect.h"

MlirLogicalResult loom_verify_op(MlirOperation op) { return mlirLogicalResultSuccess(); }
