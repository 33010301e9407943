/* Python exceptions that only answer a question: whoever asked drops them. */
#ifndef LOOM_FRONTEND_ERROR_H
#define LOOM_FRONTEND_ERROR_H

#include "frontend/python.h"

/* Can only a signal handler (or another thread) have raised the pending exception, wherever it came
 * through code that runs none of the user's? Such one is not an answer. */
bool error_is_foreign(void);
/* Drops the pending exception; a foreign one is raised again, as if the signal had come later. */
void error_drop_pending(void);

/* How many have been put off: what was found out meanwhile may rest on an answer that was none. */
extern uint32_t loom_errors_put_off;
/* Drops what code of the user's has raised: all but what is no Exception. */
void error_drop_users(void);

/* In place of PyErr_Clear(), which would lose an interrupt. */
static inline void error_drop(void) {
  if (PyErr_Occurred()) error_drop_pending();
}

#endif
