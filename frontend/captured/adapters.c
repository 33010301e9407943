/* The libraries whose arrays are captured: each a table of functions (loom_adapter). */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"

static const loom_adapter *adapters[LOOM_MAX_ADAPTERS + 1]; /* NULL-terminated */

const loom_adapter *const *loom_adapters(void) { return adapters; }

bool loom_adapter_register(const loom_adapter *adapter) {
  int i = 0;
  while (adapters[i] && adapters[i] != adapter)
    i++;
  assert(i < LOOM_MAX_ADAPTERS);
  adapters[i] = adapter;
  return !adapter->init || adapter->init();
}
