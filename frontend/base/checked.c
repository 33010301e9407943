/* Checked kernels (the setting `check`): what they refused is raised. */
#include "frontend/base/base.h"

bool checked_wanted(void) { return *loom_config.check != 0; }

void checked_raise(const char *text) { error_raise_own("BoundsError", "%s", text); }
