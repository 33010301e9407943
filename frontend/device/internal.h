/* What the files of device/ share. */
#ifndef LOOM_FRONTEND_DEVICE_INTERNAL_H
#define LOOM_FRONTEND_DEVICE_INTERNAL_H

#include "frontend/base/base.h"
#include "runtime/device.h"

/* ---- device_object.c: devices, memory and plans as objects ---- */

typedef struct device_object {
  PyObject_HEAD loom_device *device;
} device_object;

typedef struct memory_object {
  PyObject_HEAD loom_device *device;
  loom_address address;
  size_t size;
  bool shared; /* others may have ordered work on it */
} memory_object;

typedef struct plan_object {
  PyObject_HEAD loom_device_plan *plan;
  loom_device *device;
  uint32_t inputs, scalars, outputs, symbols;
  bool assumes; /* of the graph; or the caller is to know at once what kernels report */
  char title[64];
  PyObject *weak; /* weak references */
} plan_object;

extern PyTypeObject device_plan_type;

/* NULL with DeviceError. */
void *device_raise(const loom_error *err);
/* Memory of so many bytes; NULL with an exception. */
memory_object *device_memory_new(loom_device *device, size_t size);
/* Memory of which only the size is known so far: it is nobody's. */
memory_object *device_memory_later(loom_device *device, size_t size);
/* Runs the plan. `sizes`: outputs get memory of so many bytes first, which is the caller's also
 * where the run fails; NULL: they have some. False with an exception. */
bool device_plan_call(plan_object *plan, const loom_address *inputs, const uint64_t *scalars,
                      loom_address *outputs, const size_t *sizes, const int64_t *symbols);

/* ---- array.c: arrays on a device ---- */

typedef struct array_object {
  PyObject_HEAD PyObject *weak;
  PyObject *native, *memory; /* the device; what keeps the memory */
  loom_address address;      /* of element [0, ..., 0] */
  PyObject *shape, *strides, *dtype;
} array_object;

/* Exactly the class of Python. */
bool device_is_array(PyObject *object);
/* An array with the layout of one of the host; all objects are borrowed. NULL with an exception. */
PyObject *device_array_like(PyObject *native, PyObject *memory, loom_address address,
                            PyObject *host);
bool device_array_init(PyObject *module);

/* ---- standin.c: arrays of the host ---- */

bool host_is_array(PyObject *object); /* exactly one of NumPy */
bool host_is_scalar(PyObject *object);
uintptr_t host_place(PyObject *array); /* where its element [0, ..., 0] is */
bool host_is_empty(PyObject *array);
/* Its rank, sizes and strides, malloc'ed, and a reference to its dtype. NULL: out of memory. */
int64_t *host_layout(PyObject *array, PyObject **dtype);
bool host_has_layout(PyObject *array, PyObject *dtype, const int64_t *layout);

/* ---- call.c: calls of functions on a device ---- */

/* Where an array of the host stands for memory of the device. */
typedef struct call_range {
  uintptr_t first, end; /* bytes of the host */
  PyObject *memory;     /* owned */
  loom_address address; /* for `first` */
} call_range;

#define CALL_FEW 12

typedef struct device_call {
  PyObject *native; /* the device (borrowed) */
  call_range *ranges, few[CALL_FEW];
  uint32_t count, capacity;
  uint32_t runs; /* of graphs so far */
} device_call;

void call_init(device_call *call, PyObject *native);
void call_fini(device_call *call);
bool call_add(device_call *call, uintptr_t first, uintptr_t end, PyObject *memory,
              loom_address address);
const call_range *call_find(const device_call *call, uintptr_t place);
/* The thread's call; NULL: there is none. */
device_call *call_now(void);
PyObject *call_run(device_call *call, PyObject *callable, PyObject *const *args, size_t count,
                   PyObject *kwargs);
bool device_call_init(PyObject *module);

/* ---- caller.c: the short way of a call ---- */

bool device_caller_init(PyObject *module);

/* ---- runner.c: runs of captured graphs ---- */

bool device_runner_init(PyObject *module);

/* ---- dlpack.c: DLPack's capsules ---- */

/* A capsule of memory that `owner` keeps alive: (owner, address, shape, strides in elements, code
 * of the dtype's kind, its bits). */
/* `type`: DLPack's of the device, as dlpack_type() gives it. */
PyObject *dlpack_new(int type, int device, PyObject *args);
int dlpack_type(const loom_device *device);

#endif
