/* What an object consists of: what a guard looks at in place of an object that it does not keep
 * alive (lifetime.c). */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/internal.h"

#include <structmember.h>

/* What a guard can look at in place of the object: how many pointers, or -1. */
int object_parts(PyObject *o, PyObject **out) {
  typedef struct holder { /* of what properties, static and class methods begin with */
    PyObject_HEAD PyObject *held[3];
  } holder;
  if (PyTuple_CheckExact(o)) {
    Py_ssize_t count = PyTuple_GET_SIZE(o);
    if (count > GUARD_PARTS) return -1;
    memcpy(out, ((PyTupleObject *)o)->ob_item, (size_t)count * sizeof *out);
    return (int)count;
  }
  if (Py_IS_TYPE(o, &PyMemberDescr_Type)) {
    out[0] = (PyObject *)((PyDescrObject *)o)->d_type;
    out[1] = (PyObject *)((PyMemberDescrObject *)o)->d_member; /* in the class */
    return 2;
  }
  int count = Py_IS_TYPE(o, &PyProperty_Type)                                             ? 3
              : Py_IS_TYPE(o, &PyStaticMethod_Type) || Py_IS_TYPE(o, &PyClassMethod_Type) ? 1
                                                                                          : -1;
  for (int i = 0; i < count; i++)
    out[i] = ((holder *)o)->held[i];
  return count;
}

bool guard_parts_hold(const guard_parts *p, PyObject *object) {
  PyObject *parts[GUARD_PARTS];
  if (Py_TYPE(object) != p->type) return false;
  int count = object_parts(object, parts);
  return count == p->count && !memcmp(parts, p->parts, (size_t)count * sizeof *parts);
}
