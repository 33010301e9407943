/* Shows what targets/x86/fence.c makes of a module: fence-test FILE.ll */
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>

#include "targets/target.h"

int main(int argc, char **argv) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef text;
  LLVMModuleRef module;
  char *message = NULL;
  if (argc != 2 || LLVMCreateMemoryBufferWithContentsOfFile(argv[1], &text, &message) ||
      LLVMParseIRInContext(context, text, &module, &message)) {
    fprintf(stderr, "fence-test: %s\n", message ? message : "FILE.ll");
    LLVMDisposeMessage(message);
    LLVMContextDispose(context);
    return 1;
  }
  loom_x86_fence(module);
  char *shown = LLVMPrintModuleToString(module);
  fputs(shown, stdout);
  LLVMDisposeMessage(shown);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return 0;
}
