/* The two entry points by which libhdf5 finds the filter in HDF5_PLUGIN_PATH. */
#include "ddl/data/plugin/h5zstd.h"

#include <H5PLextern.h>

H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_FILTER;
}
const void* H5PLget_plugin_info(void) {
  return ddl_h5zstd_class();
}
