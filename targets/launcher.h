/* The C header of a program for a GPU, for loom-compile. (launcher.c, but where another file is
 * named) */
#ifndef LOOM_LAUNCHER_H
#define LOOM_LAUNCHER_H

#include <mlir-c/IR.h>
#include <stdbool.h>
#include <stdio.h>

#include "targets/target.h"

/* A header that declares the kernels of a program and defines functions that load and launch them
 * by the driver of the target's vendor. `plans`: a module of the program's plans and its table of
 * sizes; `stages`: of the emitted code; `name`: the C name, which kernels have in front. malloc'ed
 * text. False after a diagnostic. */
bool loom_launcher_header(MlirModule plans, const loom_target *machine,
                          const loom_gpu_table *stages, const char *name, loom_bytes *out);

/* ---- launcher_text.c ---- */

/* How a vendor's driver calls what it has. */
typedef struct launcher_driver {
  const char *header, *library, *images;
  const char *result, *success, *invalid, *address, *stream, *module, *function;
  const char *prefix, *launch;
  const char *word, *back; /* casts of an address to 64 bits, and back */
  const char *threads;     /* what else makes a launch too large, as a condition behind another */
} launcher_driver;

/* What texts refer to. */
typedef struct launcher_words {
  const launcher_driver *driver;
  const char *name, *upper; /* "dense", "DENSE" */
} launcher_words;

const launcher_driver *launcher_driver_of(const loom_target *machine);
/* Writes a text, with a word in place of each of
 *   $n the name, $N in capitals; of the driver $r its type of results, $s success, $i an invalid
 *   argument, $a an address, $t a stream, $m a module, $f a function, $p the prefix of names,
 *   $l the function that launches, $w and $b the casts, $h the header, $k the library, $o images,
 *   $x what else makes a launch too large. */
void launcher_print(FILE *out, const launcher_words *words, const char *text);

/* Functions of a header as such texts: the kernels are loaded, get the shared memory that launches
 * ask for, and are given back; a tensor map; a launch. */
extern const char launcher_loading[], launcher_asking[], launcher_unloading[], launcher_map[],
    launcher_start[];

#endif
