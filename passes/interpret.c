/* loom-interpret: runs every function or plan of a module, whatever its stage, and prints the
 * results on standard output.
 *
 * Before and after: the module is left as it is. An argument's elements are its attribute
 * `loom.values` (a dense constant of the argument's type, static) or, when there is none, 0, 1, 2,
 * ... for the first argument, starting one higher for each that follows. A symbolic size without
 * values is 3. A result prints as one line: function, number, type, elements in C order.
 *
 * Tensor ops, alone or in loom.fusion or loom.kernel, go to the reference interpreter; plans are
 * followed instruction by instruction on memory of their own; lowered kernels run as machine code
 * (interpret.h says where).
 *
 * It ends: a call that takes longer than "seconds" fails.
 *
 *   requires: functions of one block, or plans.  keeps: everything.  breaks: nothing.
 */
#include "passes/interpret.h"
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "passes/passes.h"

static bool interpret_one(MlirOperation op) {
  interpret_call c;
  bool good = interpret_open(&c, op) && interpret_allocate(&c);
  for (uint32_t i = 0; good && i < c.input_count; i++)
    good = interpret_fill(&c, i);
  good = good && interpret_unify(&c) && interpret_run(&c);
  if (good)
    interpret_print(&c);
  else
    loom_emit_error(mlirOperationGetLocation(op), "cannot interpret: %s", c.err.message);
  interpret_close(&c);
  return good;
}

typedef struct interpret_state {
  bool good;
  int roots;
} interpret_state;

static bool interpret_visit(MlirOperation op, void *user) {
  interpret_state *s = user;
  if (!interpret_is_root(op)) return true;
  s->roots++;
  return s->good = interpret_one(op);
}

enum { INTERPRET_SECONDS };

static bool interpret_module(MlirOperation module) {
  interpret_state s = {.good = true};
  loom_interpret_seconds = (int)loom_pass_value(INTERPRET_SECONDS, 60);
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  loom_walk_block(body, interpret_visit, &s);
  loom_interpret_seconds = 0;
  bool empty = !mlirBlockGetFirstOperation(body).ptr;
  return s.good && (s.roots || empty ||
                    loom_emit_error(mlirOperationGetLocation(module),
                                    "cannot interpret: the module has neither a "
                                    "function of tensors nor a loom.plan"));
}

MlirPass loom_make_interpret_pass(void) {
  const loom_pass_spec spec = {
      .name = "LoomInterpret",
      .flag = "loom-interpret",
      .summary = "Run every function or plan, and print the results",
      .root = "builtin.module",
      .run = interpret_module,
      .options = {[INTERPRET_SECONDS] = {"seconds", "in which a call has to end", 60, 1, 3600}}};
  return loom_pass_of(&spec);
}
