/* The registered HDF5 filter 32015: Zstandard. Client data holds the level alone; each stored chunk
 * is one zstd frame that carries its content size. Used inside ddl (registered at run time) and as
 * the plugin libh5zstd.so for other readers. Plain C without state. */
#ifndef DDL_DATA_PLUGIN_H5ZSTD_H
#define DDL_DATA_PLUGIN_H5ZSTD_H

#include <hdf5.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DDL_H5Z_ZSTD 32015

/* The filter's description, for H5Zregister and H5PLget_plugin_info. */
const H5Z_class2_t* ddl_h5zstd_class(void);

#ifdef __cplusplus
}
#endif

#endif
