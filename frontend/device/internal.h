/* What the files of device/ share. */
#ifndef LOOM_FRONTEND_DEVICE_INTERNAL_H
#define LOOM_FRONTEND_DEVICE_INTERNAL_H

#include "frontend/base/base.h"
#include "runtime/device.h"

/* ---- dlpack.c: DLPack's capsules ---- */

/* A capsule of memory that `owner` keeps alive: (owner, address, shape, strides in elements, code
 * of the dtype's kind, its bits). */
/* `type`: DLPack's of the device, as dlpack_type() gives it. */
PyObject *dlpack_new(int type, int device, PyObject *args);
int dlpack_type(const loom_device *device);

#endif
