/* What the files of compile/ share. */
#ifndef LOOM_FRONTEND_COMPILE_INTERNAL_H
#define LOOM_FRONTEND_COMPILE_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "graph/graph.h"
#include "runtime/runtime.h"
#include "targets/compiler.h"

/* ---- compile.c: from a captured graph to a loaded plan ---- */

/* Compiles by the compiler library, on this thread. An empty key: the plan is not put into the
 * cache. */
bool loom_compile_here(const loom_graph *graph, const loom_compile_options *options,
                       const loom_bytes *key, loom_plan **out, loom_compile_report *report,
                       loom_error *err);

/* ---- compile_apart.c: compiling on a thread of its own ---- */

/* loom_compile_here() on a thread of its own, while this thread lets signal handlers run. */
bool loom_compile_apart(const loom_graph *graph, const loom_compile_options *options,
                        const loom_bytes *key, const char *title, loom_plan **out,
                        loom_compile_report *report, loom_error *err);

#endif
