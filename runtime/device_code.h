/* Kernels of a GPU as code for this machine, for the driver of the tests. Where a device says that
 * it is simulated, the compiler writes this behind the PTX or the code object, as hexadecimal
 * digits behind DEVICE_CODE_MARK: a header, rows, and an image (runtime.h). No other driver ever
 * gets it. */
#ifndef LOOM_DEVICE_CODE_H
#define LOOM_DEVICE_CODE_H

#include <stdint.h>

#define DEVICE_CODE_MARK "// loom-sim "

typedef struct device_code_header {
  uint32_t count, image_size;
} device_code_header;

typedef struct device_code_row {
  char name[128];
  uint32_t entry; /* of a loom_kernel_fn, in the image's code */
  uint32_t threads, flags;
  uint16_t buffers, params; /* words of its lists */
  uint32_t maps, shared;    /* tensor maps; bytes that a launch gives it */
} device_code_row;

#endif
