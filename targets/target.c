/* The table of targets. */
#include "targets/target.h"

#include <string.h>

static const loom_target *const target_table[] = {
#define LOOM_TARGET(NAME) &loom_target_##NAME,
#include "targets/targets.def"
#undef LOOM_TARGET
};

const loom_target *loom_target_find(const char *name) {
  for (size_t i = 0; i < sizeof target_table / sizeof *target_table; i++)
    if (strcmp(target_table[i]->name, name) == 0) return target_table[i];
  return NULL;
}

const loom_target *loom_target_here(const loom_target_options *options) {
  return options && options->machine ? options->machine : &loom_target_x86;
}

bool loom_target_resolve(const loom_target *target, const loom_target_options *options,
                         loom_target_cpu *out, loom_error *err) {
  memset(out, 0, sizeof *out);
  return target->resolve(options, out, err);
}

const loom_target *loom_target_for(const char *architecture, const char **cpu) {
  if ((*cpu = loom_nvptx_for(architecture))) return &loom_target_nvptx;
  return (*cpu = loom_amdgpu_for(architecture)) ? &loom_target_amdgpu : NULL;
}
