/* What the files of program.h share: how the plans of a module are read and written as text of the
 * LLVM dialect. (program.c) */
#ifndef LOOM_PROGRAM_TEXT_H
#define LOOM_PROGRAM_TEXT_H

#include <stdio.h>

#include "targets/program.h"

#define PROGRAM_ALIGN 64

/* One function that is being written: a plan's. Values %p<n> are pointers, %t<n> what has been
 * returned so far. */
typedef struct program_writer {
  FILE *text;
  MlirOperation plan;
  const char *name; /* of the whole program */
  int values;       /* how many numbers are taken */
  int step;         /* the newest %t */
} program_writer;

MlirBlock program_block(MlirOperation plan);
/* The next plan of the module: the main one is the first, those of regions follow. */
MlirOperation program_next(MlirOperation plan);
/* The first launch of a plan (previous: null), and the next one. */
MlirOperation program_next_launch(MlirOperation plan, MlirOperation previous);
/* Is it a loop or a branch (loom.run)? */
bool program_is_run(MlirOperation op);
/* A number of bytes as one that the alignment divides. */
int64_t program_aligned(int64_t bytes);
/* Bytes of the memory that a plan's function needs. */
int64_t program_workspace(MlirOperation plan);
/* Bytes of a buffer: by its type, or as the plan says where that is symbolic; -1: unknown. */
int64_t program_bytes(MlirOperation plan, MlirValue buffer);
/* Does the program take sizes? Symbols that loops count are not among them. */
bool program_is_sized(MlirOperation main);
/* Is the symbol one that a loop counts? */
bool program_is_counted(MlirOperation main, int64_t symbol);
/* Has an earlier launch named the same stage, in the main plan or in one behind it? */
bool program_seen(MlirOperation main, MlirOperation op);

/* Marks the expressions that a number is computed of, by their place in the table. */
void program_need(uint8_t *needed, int64_t number);
/* A number as the value %<name><n>. */
void program_number(FILE *text, const char *name, int n, int64_t number);
/* A value of the plan as the pointer %p<*out>. False where it has no memory. */
bool program_pointer(program_writer *w, MlirValue value, int *out);
/* Moves bytes between two values that are pointers, unless these are equal. */
void program_move(program_writer *w, const char *from, const char *to, int64_t bytes);

/* ---- program_check.c ---- */

/* Do the plan's kernels compare what they access with the bounds in a frame? */
bool program_is_checked(MlirOperation plan);
/* Bytes at the workspace's beginning: the frame and the spare memory. */
int64_t program_check_bytes(MlirOperation plan);
/* Calls `visit` with each number that the bounds of a plan's arguments are. */
void program_check_numbers(MlirOperation plan, void (*visit)(void *user, int64_t number),
                           void *user);
/* What a function begins with: the array of buffers; the entry clears the frame, too. */
void program_check_head(FILE *text, bool entry);
/* The bounds of a launch. False after a diagnostic. */
bool program_check_before(program_writer *w, MlirOperation launch, int32_t buffers);
/* The status, once the launch has returned. */
void program_check_after(program_writer *w);
/* Writes the function that returns the first refused access. `sites`: texts by number. */
void program_check_text(FILE *text, MlirAttribute sites, const char *name);

/* ---- program_header.c ---- */

/* Writes element type, sizes and strides of a buffer or number, for a comment. */
void program_describe_type(FILE *out, MlirOperation plan, MlirValue value);
/* A name in capitals. */
void program_upper(const char *name, char *out, size_t size);

/* ---- program_signature.c ---- */

/* Writes <name>_signature(), which returns the types of arguments and results. */
bool program_signature(FILE *out, MlirOperation plan, const char *name);

/* ---- program_control.c ---- */

/* Bytes that a run needs beyond the arena. */
int64_t program_run_bytes(MlirOperation plan, MlirOperation run);
/* Calls `visit` with each number of bytes that writing the run refers to. */
void program_run_numbers(MlirOperation plan, MlirOperation run,
                         void (*visit)(void *user, int64_t number), void *user);
/* Entries of the lists of pointers that runs of a plan need. */
int program_run_longest(MlirOperation plan);
/* Writes a loop or a branch. False after a diagnostic. */
bool program_run(program_writer *w, MlirOperation run);

#endif
