/* The program of a tool: the tool itself is in the compiler library, which the extension opens,
 * too.
 *
 * The library is looked for where the program's RUNPATH says: beside the Python files. It is opened
 * by name instead of linked, so that a library that is not there is a message. LOOM_TOOL is the
 * name of the tool's function. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*tool_main)(int argc, char **argv);

int main(int argc, char **argv) {
  void *library = dlopen("libloom_compiler.so", RTLD_NOW | RTLD_LOCAL);
  tool_main run = library ? (tool_main)dlsym(library, LOOM_TOOL) : NULL;
  if (run) return run(argc, argv);
  fprintf(stderr, "%s: error: %s\n", argc > 0 ? argv[0] : LOOM_TOOL, dlerror());
  return 1;
}
