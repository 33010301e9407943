/* Lowered kernels as machine code in this process, for loom-interpret and loom-run. (native.c) */
#ifndef LOOM_NATIVE_H
#define LOOM_NATIVE_H

#include "passes/interpret.h"
#include "runtime/runtime.h"
#include "targets/target.h"

/* From now on loom-interpret runs lowered kernels in this process. */
void loom_native_init(void);
/* Machine code of the plan that is called, whose kernels are lowered; NULL with `err`. */
loom_plan *loom_native_load(const interpret_call *c, const loom_target_options *options,
                            loom_error *err);
/* Runs it on addresses of first elements. */
bool loom_native_call(const interpret_call *c, loom_plan *plan, void *const *inputs,
                      void *const *outputs, loom_error *err);

#endif
