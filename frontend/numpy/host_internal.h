/* What host.c and host_sample.c share: a library function asked on made-up arrays. */
#ifndef LOOM_FRONTEND_NUMPY_HOST_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_HOST_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"

/* What a sample holds. Functions refuse some contents: values out of range, singular matrices. */
typedef enum host_content {
  HOST_ASCENDING,
  HOST_ZEROS,
  HOST_CONTENTS,
  HOST_SHAPES, /* any content will do */
  HOST_NOTHING /* no sample is wanted */
} host_content;

#define HOST_SETS 3 /* of sizes with which the library is asked */

/* ---- host_sample.c: samples for host calls ---- */

typedef struct host_arguments_list {
  PyObject *args, *kwargs, *sample_args, *sample_kwargs;
} host_arguments_list;

void np_host_arguments_fini(host_arguments_list *l);
PyObject *np_host_spec(const loom_type *type); /* (type number, sizes) */
/* The library's answer on samples, of the first content that it accepts: a new reference. `set`: of
 * the sets of sizes, where these are symbolic; 0 are this call's, when they are small. */
PyObject *np_host_try(tracer *t, const np_call *c, np_host_call *h, host_arguments_list *l,
                      PyObject *callable, int set, int first);

/* ---- host_sizes.c: symbolic sizes of a host call's results ---- */

/* The size of a result that was seen[s] when the library was asked with sample sizes asked[s]. */
bool np_host_size(tracer *t, const np_host_call *asked, const int64_t *seen, loom_dim *out);

#endif
