/* Registration of the passes and the visible list of pipelines. */
#include "passes/passes.h"

#include "dialects/dialect.h"

void loom_register_passes(void) {
#define LOOM_PASS(STEM, FLAG, SUMMARY) loom_register_pass(loom_make_##STEM##_pass);
#include "passes/passes.def"
#undef LOOM_PASS
}
