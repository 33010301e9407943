/* np.may_share_memory and np.shares_memory: decided at capture. Two views are laid out over memory
 * that is never touched, and NumPy itself is asked; blocks that the function made share nothing
 * with others; arrays that existed before are guarded to stay apart. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"

/* An array of these sizes and strides at this place: a new reference. */
static PyObject *sharing_stand_in(const np_array *a, char *base) {
  npy_intp dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  for (int i = 0; i < a->type.rank; i++) {
    dims[i] = a->type.dims[i];
    strides[i] = a->strides[i];
  }
  return PyArray_NewFromDescr(&PyArray_Type, np_descr(a->type.dtype), a->type.rank, dims, strides,
                              base + a->offset, 0, NULL);
}

/* What NumPy says of views of one block, or of two blocks that lie apart; it looks at addresses
 * only, and decides which limits of the work it takes. */
static value *sharing_asked(tracer *t, const np_call *c, np_array *a, np_array *b, value *limit) {
  uintptr_t far = (uintptr_t)1 << 45; /* from 0: offsets may be negative */
  char *base = (char *)far, *other_base = a->storage == b->storage ? base : base + far;
  PyObject *one = sharing_stand_in(a, base);
  PyObject *other = one ? sharing_stand_in(b, other_base) : NULL;
  PyObject *args = other ? PyTuple_Pack(2, one, other) : NULL, *result = NULL;
  PyObject *kwargs = PyDict_New(), *work = np_is_none(t, limit) ? NULL : np_known(t, limit);
  bool good = args && kwargs && (!work || PyDict_SetItemString(kwargs, "max_work", work) == 0);
  if (good) result = PyObject_Call(c->callee, args, kwargs);
  Py_XDECREF(one);
  Py_XDECREF(other);
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  return np_made(t, result);
}

value *np_sharing(tracer *t, const np_call *c) {
  value *p[3];
  if (!np_parse(t, c, "a b / | max_work", p)) return NULL;
  np_array *a = np_array_of(p[0]), *b = np_array_of(p[1]);
  if (!a || !b || a->scalar || b->scalar || (!np_is_none(t, p[2]) && !np_known(t, p[2])))
    return np_unsupported(t, c, "of what are not arrays");
  np_storage *s = a->storage, *o = b->storage;
  const value *lent = s->root->lent ? s->root : o->root;
  if (lent->lent && loom_loops->lent(t, lent)) return NULL;
  value *answer = sharing_asked(t, c, a, b, p[2]);
  if (!answer || s == o || !s->source || !o->source) return answer;
  if (!numpy_array_disjoint(s->live, o->live))
    return trace_break(t, BREAK_ALIASING, "whether arrays that lie close together share memory");
  trace_guard(t, (guard){.kind = GUARD_DISJOINT,
                         .source = s->source,
                         .source2 = o->source,
                         .adapter = &loom_numpy_adapter,
                         .location = trace_location(t)});
  return answer;
}
