// Marks functions that are compiled for the host and, by nvcc, for the device.
#pragma once

#ifndef DDL_HOST_DEVICE
#ifdef __CUDACC__
#define DDL_HOST_DEVICE __host__ __device__
#else
#define DDL_HOST_DEVICE
#endif
#endif
