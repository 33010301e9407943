/* Plans on devices, for those who run them. */
#ifndef LOOM_FRONTEND_COMPILE_PLACED_H
#define LOOM_FRONTEND_COMPILE_PLACED_H

#include "frontend/base/base.h"
#include "runtime/device.h"

/* ---- placed.c ---- */

/* Raises IndexError where a kernel of an earlier call has reported one (loom_device_reported()). */
bool placed_raise_reported(loom_device *device);
/* What a run of a plan orders, and what became of its graphs: a new dict. `defers`: errors are not
 * waited for. */
PyObject *placed_facts(loom_device_plan *plan, bool defers);

#endif
