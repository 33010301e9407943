/* What the files of run/ share: how one version runs. */
#ifndef LOOM_FRONTEND_RUN_INTERNAL_H
#define LOOM_FRONTEND_RUN_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/run/run.h"
#include "graph/emit.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

/* The bytes of an argument that a loop may write, which are kept until a run is known to be good:
 * none when begin is end. */
typedef struct direct_span {
  size_t begin, end;
} direct_span;

/* ---- witness.c: which operations raised a flag ---- */

/* Would the library show a warning for a run that raised these flags? `call`: the run, with its
 * inputs unchanged; NULL: the inputs have changed. 1, 0, or -1 on error. */
int witness_flags_matter(entry *e, uint32_t flags, const loom_call *call);
void witness_free(struct witness *w);
/* The plan to run now: the version's own, or one with the same results that raises fewer flags,
 * when nobody would see warnings of the missing ones. To be called with the GIL. */
loom_plan *witness_plan(const entry *e, const int64_t *symbols);
void witness_ran(const entry *e, const loom_plan *plan, uint32_t status); /* the plan has run */

/* ---- lifetime.c: weak references of a version ---- */

/* Replaces references of the version by weak ones where that is possible. False: the version must
 * not be used. */
bool entry_let_go(entry *e);
void entry_life_init(entry_life *life, PyObject *code);
void entry_life_fini(entry_life *life); /* from here on it does not notice the death of objects */

/* ---- entry.c: one version: how it is made and dropped ---- */

/* Is the size of this output known only when the plan has run so far? */
bool entry_is_late(const capture *c, uint32_t number);

/* ---- made.c: how a version was made ---- */

void entry_made_init(entry_made *made, const entry_order *order, const capture *captured);
void entry_made_fini(entry_made *made);

/* ---- run.c: a run, and the short way of one ---- */

/* What a plan's calls of the host get. */
typedef struct entry_context {
  const entry *e;
  PyObject *kept;   /* list of what owns the memory of results of host calls, or NULL */
  int64_t *symbols; /* the symbols of the run; NULL: no host call reports any */
  struct run_state *state;
} entry_context;

void entry_simple_init(entry_simple *simple, const capture *c, backend kind);
void entry_gil_init(entry_gil *gil, const capture *c);
/* Is it worth while to give up the GIL for this call? */
bool entry_releases(const entry *e, const int64_t *symbols);
int entry_host(void *context, const loom_host_call *call); /* `context`: an entry_context */
/* Runs the plan; its status. */
uint32_t entry_launch(const entry *e, const loom_call *call, bool release);
/* Are the results good? Else the plain function has to run (*fallback): at once, or to meet the
 * pending exception, which a signal handler has raised; or an exception of ours is set. */
bool entry_accept(entry *e, uint32_t status, const loom_call *call, const loom_violation *violation,
                  bool *fallback);
/* For a failure before anything has been changed: the plain function is to raise its own exception,
 * if there is one. False: the pending exception is no error (an interrupt), and has to leave the
 * call. */
bool entry_gave_up(void);

/* ---- run_general.c: the general way of a run ---- */

/* As entry_run_part(). */
PyObject *entry_run_general(entry *e, PyObject *const *args, const int64_t *symbols, bool *fallback,
                            bool *changed);

/* ---- backend.c: backends written by the user ---- */

void entry_user_init(entry_user *user, PyObject *backend); /* NULL: none */
void entry_user_fini(entry_user *user);
int entry_user_traverse(const entry_user *user, visitproc visit, void *arg);

/* Runs the graph on these inputs into these buffers; false with an exception. A backend whose
 * attribute `on_device` is true gets a list of inputs, a list of results and a tuple of the
 * symbols. It gives a list, with None where the result is on the device, and its buffer is left as
 * it is. What it cannot have is refused: writes to arguments and other objects, generators. */
bool backend_run(entry *e, const loom_buffer *inputs, PyObject *const *live,
                 const loom_buffer *outputs, const int64_t *symbols);

/* Where the plain function would have to run, which a device cannot: raises. Gives NULL. */
PyObject *backend_cannot_fall_back(const entry *e, bool *fallback);

/* ---- direct.c: runs that write straight into arguments ---- */

/* What was in an argument before a run wrote into it. */
typedef struct direct_kept {
  struct direct_kept *next;
  void *data; /* of the argument, behind the span's begin */
  size_t size;
  _Alignas(16) char bytes[];
} direct_kept;

/* Of a version that has its outputs and its plan; false with MemoryError. */
bool entry_direct_init(entry *e);
void entry_direct_fini(entry_direct *direct);
/* May this run write into its targets? Not when a floating-point exception would be reported: then
 * the plain function runs, and has to find all arguments unchanged. */
bool direct_allowed(const entry *e);
/* Reports the flags of a run that has written into its targets; -1 with an exception set. */
int direct_report(const entry *e, uint32_t flags);
/* Puts the target of output `i`, and its data, into `run`. False: the output needs a temporary
 * block (or an exception is set). */
bool direct_open(const entry *e, loom_run *run, uint32_t i);
/* direct_open() for an output of a loop: saves the bytes that the loop may overwrite. */
bool direct_open_loop(const entry *e, loom_run *run, uint32_t i, direct_kept **kept);
/* Frees the saved bytes; with `put_back`, writes them back first. */
void direct_close(direct_kept *kept, bool put_back);

/* ---- domain.c: operands with which an operation raises a flag ---- */

/* Does domain_raises() support this operation on integers? */
bool domain_has_integers(loom_opcode op);
/* Sets `*where` to a bool for each element of the result: may this operation on floats (or
 * integers, if domain_has_integers), with operands of the result's shape, raise `flag` (one of
 * LOOM_FP_DIVIDE, OVERFLOW, INVALID) there? It is true wherever the operation does, and
 * LOOM_NO_VALUE when it never does. False: the operands alone do not tell. */
bool domain_raises(loom_emitter *b, loom_opcode op, const loom_value *operands, uint32_t flag,
                   loom_value *where);

/* ---- witness_graph.c: the graph that tells which operations raised a flag ---- */

#define WITNESS_ROWS 256

/* Which flags the graph's answer covers: for each warning of a capture, and for its fp_untold. */
typedef struct witness_cover {
  uint32_t rows[WITNESS_ROWS], untold;
} witness_cover;

/* Makes a graph with one output, a bool: may an operation have raised one of `flags`, as far as
 * they are `shown` for each warning of the capture? *cover: the flags that the answer covers.
 * False: none. The caller frees `out` in either case. */
bool witness_graph(const capture *c, uint32_t flags, const uint32_t *shown, witness_cover *cover,
                   loom_graph *out);
/* For graphs that are built anew from their own nodes: adds a node; finishes the graph, which drops
 * nodes that no output needs and renumbers values. */
bool witness_append(loom_graph *graph, const loom_node *node);
bool witness_finish(loom_graph *graph);

/* ---- hush.c: a graph that raises fewer flags ---- */

/* Makes a graph with the same outputs, bit by bit, in which the operations of each warning of the
 * capture raise none of the flags in `rows`, where that is possible. False: for no operation. The
 * caller frees `out` in either case. */
bool hush_capture(const capture *c, const uint32_t *rows, loom_graph *out);

#endif
