/* Machine code of lowered kernels for loom-interpret. (native.c) */
#ifndef LOOM_NATIVE_H
#define LOOM_NATIVE_H

/* From now on loom-interpret runs lowered kernels in this process. */
void loom_native_init(void);

#endif
