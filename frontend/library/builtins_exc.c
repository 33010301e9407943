/* Functions of sys and traceback that return the exception which is being handled, or parts of it.
 */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/library/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* sys.exc_info(). */
value *builtin_exc_info(tracer *t, const builtin_args *a) {
  value *items[3] = {t->constants.none, t->constants.none, t->constants.none};
  if (a->count || a->kwnames) return t->constants.not_implemented;
  if (!t->handled && !handled_is_nothing(t)) return NULL;
  if (t->handled && value_is_made_exception(t->handled)) {
    items[0] = value_const(t, exception_class(t->handled));
    items[1] = t->handled;
    items[2] = exception_traceback(t, t->handled);
    if (!items[0]) return NULL;
  } else if (t->handled) {
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an exception that capture does not know");
  }
  return value_tuple(t, items, 3);
}

/* sys.exception(). */
value *builtin_exception(tracer *t, const builtin_args *a) {
  if (a->count || a->kwnames) return t->constants.not_implemented;
  if (t->handled && !value_is_made_exception(t->handled))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an exception that capture does not know");
  if (!t->handled && !handled_is_nothing(t)) return NULL;
  return t->handled ? t->handled : t->constants.none;
}

/* traceback.clear_frames(): the calls of a capture have no frames that would keep anything. */
value *builtin_clear_frames(tracer *t, const builtin_args *a) {
  bool known = a->count == 1 && !a->kwnames && value_is_traceback(a->args[0]);
  return known ? t->constants.none : t->constants.not_implemented;
}
