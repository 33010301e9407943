/* Environment variables (env.def). A value that cannot be read gives the default, and a notice. */
#include "runtime/runtime.h"

#include <stdlib.h>
#include <strings.h>

typedef enum env_kind { ENV_SWITCH, ENV_BYTES, ENV_COUNT, ENV_TEXT } env_kind;

static const struct {
  env_kind kind;
  const char *name, *missing;
} env_table[] = {
#define LOOM_ENV(KIND, ENUM, NAME, DEFAULT, TEXT) [LOOM_ENV_##ENUM] = {ENV_##KIND, NAME, DEFAULT},
#include "runtime/env.def"
#undef LOOM_ENV
};

const char *loom_env(loom_env_variable variable) {
  const char *text = getenv(env_table[variable].name);
  return text && *text ? text : NULL;
}

static bool env_refuse(loom_env_variable variable, const char *text) {
  static const char *const wanted[] = {[ENV_SWITCH] = "neither 1 nor 0",
                                       [ENV_BYTES] = "not a number of bytes, like 512M",
                                       [ENV_COUNT] = "not a positive number"};
  loom_notice(LOOM_NOTICE_ENV + variable, "%s='%.80s' is %s: the default is used, %s",
              env_table[variable].name, text, wanted[env_table[variable].kind],
              env_table[variable].missing);
  return false;
}

int loom_env_word(const char *text) {
  static const char *const words[2][4] = {{"0", "off", "no", "false"}, {"1", "on", "yes", "true"}};
  for (int on = 0; on < 2; on++)
    for (int i = 0; i < 4; i++)
      if (!strcasecmp(text, words[on][i])) return on;
  return -1;
}

bool loom_env_switch(loom_env_variable variable) {
  const char *text = loom_env(variable);
  int on = text ? loom_env_word(text) : -1;
  if (text && on < 0) env_refuse(variable, text);
  return on < 0 ? env_table[variable].missing[0] == '1' : on;
}

static bool env_parse_bytes(const char *text, uint64_t *out) {
  if (*text < '0' || *text > '9') return false;
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

bool loom_env_bytes(loom_env_variable variable, uint64_t *out) {
  const char *text = loom_env(variable);
  return text && (env_parse_bytes(text, out) || env_refuse(variable, text));
}

long loom_env_count(loom_env_variable variable) {
  const char *text = loom_env(variable);
  char *end;
  long number = text ? strtol(text, &end, 10) : 0;
  while (text && *end == ' ')
    end++;
  if (text && (end == text || number < 1 || (*end && *end != ','))) {
    env_refuse(variable, text);
    return 0;
  }
  return number;
}

void loom_env_check(void) {
  uint64_t bytes;
  for (int i = 0; i < LOOM_ENV_COUNT; i++) {
    if (env_table[i].kind == ENV_SWITCH) loom_env_switch((loom_env_variable)i);
    if (env_table[i].kind == ENV_BYTES) loom_env_bytes((loom_env_variable)i, &bytes);
    if (env_table[i].kind == ENV_COUNT) loom_env_count((loom_env_variable)i);
  }
}
