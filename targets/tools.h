/* What the tools that read a module have in common: files, diagnostics, a thread with room for deep
 * modules, arrays in files, counters of the processor. Sections by file. */
#ifndef LOOM_TOOLS_H
#define LOOM_TOOLS_H

#include <mlir-c/IR.h>

#include "graph/graph.h"
#include "targets/target.h"
#include "targets/trace.h"

/* ---- tool_input.c ---- */

typedef struct loom_tool {
  const char *name, *input; /* of the tool; a path, "-": standard input */
  loom_bytes text;          /* of the module */
  bool objects;             /* it takes objects of machine code, too */
} loom_tool;

/* Reports "NAME: error: SUBJECT: TEXT" on stderr. Returns false. */
bool loom_tool_error(const loom_tool *tool, const char *subject, const char *text);
/* Reads the input, which is text or bytecode, into `text`. False after a report. */
bool loom_tool_read(loom_tool *tool);
bool loom_tool_is_object(const loom_tool *tool);
bool loom_tool_write(const loom_tool *tool, const char *path, const loom_bytes *bytes);
/* A context with all dialects whose diagnostics show the line of the text. */
MlirContext loom_tool_context(const loom_tool *tool);
/* A module of the text, also where that has a single op. Null after a diagnostic. */
MlirModule loom_tool_parse(const loom_tool *tool, MlirContext ctx);
/* Runs the passes from a graph to the LLVM dialect for this target. `check`: kernels compare their
 * accesses with the bounds of buffers. False after a report. */
bool loom_tool_lower(const loom_tool *tool, MlirModule module, const loom_target *machine,
                     const loom_target_options *options, bool check, loom_trace *trace);
/* Reads the input and calls `work` in a context for it. The exit status: 1 where either fails. */
int loom_tool_work(loom_tool *tool, bool (*work)(void *user, MlirContext ctx), void *user);
/* Runs `main` on a thread with a stack for nested types and regions; its status. */
int loom_tool_thread(int (*main)(void *user), void *user);

/* ---- tool_program.c: the C function of a plan ---- */

typedef struct loom_tool_program {
  const char *asked; /* the C name that is asked for, or NULL */
  const loom_target *machine;
  bool checked, headed; /* kernels compare accesses with bounds; a header is asked for */
  char name[128];       /* out: the C name */
  loom_bytes header;    /* out: malloc'ed, of x86 */
  MlirModule plans;     /* out: of a GPU, whose header is made when there is code (launcher.h) */
} loom_tool_program;

/* Puts the C function of a lowered module into it, in place of its plans; kernels get its name in
 * front. For a GPU there is no such function. A module without a plan stays what it is. False after
 * a report. */
bool loom_tool_program_make(const loom_tool *tool, MlirModule module, loom_tool_program *program);

/* ---- tool_dot.c: drawings ---- */

/* A module of any stage as a graph of Graphviz: ops are nodes, values edges, regions boxes.
 * malloc'ed text; false: out of memory. */
bool loom_tool_dot(MlirModule module, loom_bytes *out);

/* ---- npy.c: arrays as NumPy saves them ---- */

/* An array in C order, whose data is malloc'ed. Any layout and byte order of a file is read. */
bool loom_npy_read(const char *path, loom_buffer *out, loom_error *err);
/* Writes an array in C order. bfloat16 is written as void of two bytes. */
bool loom_npy_write(const char *path, const loom_buffer *array, loom_error *err);

/* ---- counters.c: the processor's counters of this process and the threads it starts ---- */

typedef struct loom_counters loom_counters;
/* NULL with `err` where the system does not allow it. Threads count from when they start. */
loom_counters *loom_counters_open(loom_error *err);
/* Begins anew; writes "cycles 12.5, instructions 40.0, ..." for each of `runs` runs. */
void loom_counters_start(loom_counters *counters);
void loom_counters_print(loom_counters *counters, int64_t runs);
void loom_counters_close(loom_counters *counters);

#endif
