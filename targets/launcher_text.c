/* Texts of C for the drivers of GPUs (launcher.h). */
#include "targets/launcher.h"

#include <string.h>

static const launcher_driver text_cuda = {.header = "#include <cuda.h>\n",
                                          .library = "libcuda (-lcuda)",
                                          .images = "PTX with a NUL at its end (--emit=ptx), or a "
                                                    "cubin (--emit=cubin)",
                                          .result = "CUresult",
                                          .success = "CUDA_SUCCESS",
                                          .invalid = "CUDA_ERROR_INVALID_VALUE",
                                          .address = "CUdeviceptr",
                                          .stream = "CUstream",
                                          .module = "CUmodule",
                                          .function = "CUfunction",
                                          .prefix = "cu",
                                          .launch = "cuLaunchKernel",
                                          .word = "(uint64_t)",
                                          .back = "(CUdeviceptr)",
                                          .threads = ""};

static const launcher_driver text_hip = {
    .header = "#ifndef __HIP_PLATFORM_AMD__\n#define __HIP_PLATFORM_AMD__ 1\n#endif\n"
              "#include <hip/hip_runtime_api.h>\n",
    .library = "libamdhip64 (-lamdhip64)",
    .images = "a code object (--emit=hsaco)",
    .result = "hipError_t",
    .success = "hipSuccess",
    .invalid = "hipErrorInvalidValue",
    .address = "hipDeviceptr_t",
    .stream = "hipStream_t",
    .module = "hipModule_t",
    .function = "hipFunction_t",
    .prefix = "hip",
    .launch = "hipModuleLaunchKernel",
    .word = "(uint64_t)(uintptr_t)",
    .back = "(hipDeviceptr_t)(uintptr_t)",
    .threads = " || blocks * (int64_t)threads > UINT32_MAX"};

const launcher_driver *launcher_driver_of(const loom_target *machine) {
  return machine == &loom_target_amdgpu ? &text_hip : &text_cuda;
}

static const char *text_word(const launcher_words *words, char letter) {
  const launcher_driver *d = words->driver;
  switch (letter) {
  case 'n': return words->name;
  case 'N': return words->upper;
  case 'r': return d->result;
  case 's': return d->success;
  case 'i': return d->invalid;
  case 'a': return d->address;
  case 't': return d->stream;
  case 'm': return d->module;
  case 'f': return d->function;
  case 'p': return d->prefix;
  case 'l': return d->launch;
  case 'w': return d->word;
  case 'b': return d->back;
  case 'h': return d->header;
  case 'k': return d->library;
  case 'o': return d->images;
  case 'x': return d->threads;
  default: return "$";
  }
}

void launcher_print(FILE *out, const launcher_words *words, const char *text) {
  const char *next;
  while ((next = strchr(text, '$'))) {
    fwrite(text, 1, (size_t)(next - text), out);
    fputs(text_word(words, next[1]), out);
    text = next + 2;
  }
  fputs(text, out);
}
