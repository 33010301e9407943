/* Passes that test-opt has beside those of loom-opt, each in a file of its own. */
#ifndef TEST_PASSES_LABORATORY_H
#define TEST_PASSES_LABORATORY_H

#include <mlir-c/Pass.h>

MlirPass lab_make_cancel_pass(void); /* lab_cancel.c */

#endif
