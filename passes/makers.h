/* One maker for each row of passes.def: MlirPass loom_make_<stem>_pass(void). Only the list of
 * pipelines includes it, so that a new pass builds few files anew. */
#ifndef LOOM_MAKERS_H
#define LOOM_MAKERS_H

#include <mlir-c/Pass.h>

#define LOOM_PASS(STEM, FLAG, SUMMARY) MlirPass loom_make_##STEM##_pass(void);
#include "passes/passes.def"
#undef LOOM_PASS

#endif
