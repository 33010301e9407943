/* What may have raised floating-point flags in a run, as a graph of its inputs. */
#ifndef LOOM_FRONTEND_WITNESS_H
#define LOOM_FRONTEND_WITNESS_H

#include "frontend/frontend.h"

#define WITNESS_ROWS 256

/* Flags by what may raise them: of each of a capture's warnings, and of its fp_untold. */
typedef struct witness_cover {
  uint32_t rows[WITNESS_ROWS], untold;
} witness_cover;

/* Makes the graph, with one output: may any operation have raised one of `flags`, of those that are
 * `shown` for each warning of the capture? *cover gets what it tells of. False: of nothing. `out`
 * has to be given up either way. */
bool witness_graph(const capture *c, uint32_t flags, const uint32_t *shown, witness_cover *cover,
                   loom_graph *out);

/* For graphs that are made anew out of their own nodes: a node more; the end, at which what no
 * output needs is dropped and the values get their numbers. */
bool witness_append(loom_graph *graph, const loom_node *node);
bool witness_finish(loom_graph *graph);

/* ---- hush.c ---- */

/* Makes the graph, whose outputs are those of the capture, bit by bit: for each warning of the
 * capture its operations raise none of the flags in `rows`, where they can do without. False: none
 * can. `out` has to be given up either way. */
bool hush_capture(const capture *c, const uint32_t *rows, loom_graph *out);

#endif
