/* Environment variables (env.def). */
#include "runtime/runtime.h"

#include <stdlib.h>

static const char *const env_names[] = {
#define LOOM_ENV(ENUM, NAME, DEFAULT, TEXT) [LOOM_ENV_##ENUM] = NAME,
#include "runtime/env.def"
#undef LOOM_ENV
};

const char *loom_env(loom_env_variable variable) {
  const char *text = getenv(env_names[variable]);
  return text && *text ? text : NULL;
}

bool loom_env_bytes(loom_env_variable variable, uint64_t *out) {
  const char *text = loom_env(variable);
  if (!text || *text < '0' || *text > '9') return false;
  char *end;
  uint64_t number = strtoull(text, &end, 10);
  unsigned shift = 0;
  switch (*end) {
  case 'k':
  case 'K': shift = 10; break;
  case 'm':
  case 'M': shift = 20; break;
  case 'g':
  case 'G': shift = 30; break;
  case 0: break;
  default: return false;
  }
  if (shift && end[1]) return false;
  *out = number > (UINT64_MAX >> shift) ? UINT64_MAX : number << shift;
  return true;
}
