/* What the files of device/ share. */
#ifndef LOOM_FRONTEND_DEVICE_INTERNAL_H
#define LOOM_FRONTEND_DEVICE_INTERNAL_H

#include "frontend/base/base.h"
#include "runtime/device.h"

/* ---- dlpack.c: DLPack's capsules ---- */

/* A capsule of memory that `owner` keeps alive: (owner, address, shape, strides in elements, code
 * of the dtype's kind, its bits). */
PyObject *dlpack_new(int device, PyObject *args);

#endif
