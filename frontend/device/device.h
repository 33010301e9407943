/* Devices as Python sees them. */
#ifndef LOOM_FRONTEND_DEVICE_DEVICE_H
#define LOOM_FRONTEND_DEVICE_DEVICE_H

#include "frontend/base/base.h"

/* ---- device_object.c ---- */

PyObject *loom_py_open_device(PyObject *module, PyObject *name);
bool loom_device_init(PyObject *module);

/* ---- array.c ---- */

PyObject *loom_py_device_array(PyObject *module, PyObject *args);
PyObject *loom_py_set_device_array(PyObject *module, PyObject *made);

/* ---- standin.c ---- */

PyObject *loom_py_stand_in(PyObject *module, PyObject *args);
PyObject *loom_py_place_of(PyObject *module, PyObject *array);

/* ---- work.c ---- */

PyObject *loom_py_graph_work(PyObject *module, PyObject *args);

/* ---- dlpack.c ---- */

PyObject *loom_py_read_dlpack(PyObject *module, PyObject *capsule);

#endif
