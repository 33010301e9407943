/* Shows what targets/x86/fence.c, halves.c or quiet.c makes of a module:
 * flags-test fence|halves|quiet-256|quiet-512 FILE.ll */
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <string.h>

#include "targets/target.h"

static bool flags_change(LLVMModuleRef module, const char *how) {
  loom_target_cpu cpu = {.vector_bits = strcmp(how, "quiet-512") == 0 ? 512 : 256};
  if (strcmp(how, "fence") == 0)
    loom_x86_fence(module, &cpu);
  else if (strcmp(how, "halves") == 0)
    loom_x86_halves(module);
  else if (strncmp(how, "quiet-", 6) == 0)
    loom_x86_quiet(module, &cpu);
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef text;
  LLVMModuleRef module;
  char *message = NULL;
  if (argc != 3 || LLVMCreateMemoryBufferWithContentsOfFile(argv[2], &text, &message) ||
      LLVMParseIRInContext(context, text, &module, &message)) {
    fprintf(stderr, "flags-test: %s\n",
            message ? message : "fence|halves|quiet-256|quiet-512 FILE.ll");
    LLVMDisposeMessage(message);
    LLVMContextDispose(context);
    return 1;
  }
  bool known = flags_change(module, argv[1]);
  char *shown = LLVMPrintModuleToString(module);
  if (known) fputs(shown, stdout);
  LLVMDisposeMessage(shown);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return known ? 0 : 1;
}
