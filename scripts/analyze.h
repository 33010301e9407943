/* What scripts/analyze.py includes before each file: the analyzers look at one file at a time, and
 * do not see that functions which report always return false or NULL. */
#if __has_include(<Python.h>)
#include "frontend/core/tracer.h"
#include "frontend/values/objects.h"
#define trace_raise(...) (trace_raise(__VA_ARGS__), (void *)0)
#define trace_raise_live(...) (trace_raise_live(__VA_ARGS__), (void *)0)
#define trace_break(...) (trace_break(__VA_ARGS__), (void *)0)
#elif __has_include(<mlir-c/IR.h>)
#include "dialects/ir.h"
#include "passes/interpret.h"
#define loom_emit_error(...) (loom_emit_error(__VA_ARGS__), false)
#define interpret_refuse(...) (interpret_refuse(__VA_ARGS__), false)
#endif
#include "graph/graph.h"
#define loom_fail(...) (loom_fail(__VA_ARGS__), false)
