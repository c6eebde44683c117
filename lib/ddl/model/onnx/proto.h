// The generated classes of ONNX's protobuf, as Debian's libonnx was built: in namespace onnx, the
// flavour with the ML types.
#pragma once

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif

#include <onnx/onnx_pb.h>
