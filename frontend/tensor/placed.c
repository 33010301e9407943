/* Views of tensors whose place depends on elements: x[i], where `i` is a tensor of one whole
 * number.
 *
 * Such a view is a copy that is lent in its place, as for arrays (numpy/placed.c). What is written
 * into the copy is written into the tensor behind the call that writes. Where the copy leaves the
 * function, or the tensor has changed when the copy is read, capture starts again and breaks at the
 * index. */
#include "frontend/base/base.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/values.h"

static struct {
  PyObject *lent, *put; /* of _tensor_late.py */
} placed_python;

bool tensor_placed_init(void) {
  static const tensor_name names[] = {{"lent", &placed_python.lent}, {"put", &placed_python.put}};
  return tensor_import("frameloom._tensor_late", names, sizeof names / sizeof *names);
}

bool tensor_is_placed_part(const PyObject *callee) { return callee == placed_python.lent; }

/* lent(copy, x, key), called by the model of an index, whose caller is the user's code. */
value *tensor_placed_part(tracer *t, value *const *args, Py_ssize_t count) {
  tensor_state *state = tensor_state_of(t);
  if (!state) return NULL;
  frame *model = t->frame;
  bool takes = count == 3 && tensor_is(args[0]) && tensor_is(args[1]) && model->back;
  if (!takes) return t->constants.false_value;
  state->placed =
      trace_more(t, state->placed, state->placed_count, &state->placed_room, sizeof *args);
  if (!state->placed) return trace_fail(t);
  t->frame = model->back;
  uint16_t place = loom_loops->lends_here(t);
  t->frame = model;
  if (!np_lend(t, args[0], args[1], args[2], place)) return t->constants.false_value;
  state->placed[state->placed_count++] = args[0];
  return t->constants.true_value;
}

static bool placed_write(tracer *t, value *copy, value *base, value *key) {
  value *args[3] = {base, key, copy}, *put = value_const(t, placed_python.put);
  value *done = put ? trace_call(t, put, args, 3, NULL) : NULL;
  if (done && done->object == Py_NotImplemented)
    return !loom_loops->lent(t, np_layout_of(copy)->storage->root);
  if (done) np_lend_again(copy);
  return done != NULL;
}

bool tensor_write_placed(tracer *t) {
  tensor_state *state = tensor_state_of(t);
  value *base, *key;
  /* A copy may be of a copy that was made before it. */
  for (uint32_t i = state ? state->placed_count : 0; i-- > 0;)
    if (np_lent_is_written(state->placed[i], &base, &key) &&
        !placed_write(t, state->placed[i], base, key))
      return false;
  return state && !trace_pending(t);
}
