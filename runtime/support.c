/* The table of functions that compiled code may call. */
#include "runtime/runtime.h"
#include "runtime/simulator.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *symbol;
  void *address;
} support_table[] = {
#define LOOM_SUPPORT(ENUM, SYMBOL, FUNCTION) [LOOM_SUPPORT_##ENUM] = {SYMBOL, (void *)FUNCTION},
#include "runtime/support.def"
#undef LOOM_SUPPORT
};

int loom_support_find(const char *symbol) {
  for (int i = 0; i < LOOM_SUPPORT_COUNT; i++)
    if (strcmp(support_table[i].symbol, symbol) == 0) return i;
  return -1;
}

void *loom_support_address(loom_support_function function) {
  return support_table[function].address;
}
