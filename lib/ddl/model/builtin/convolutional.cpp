// lenet and resnet18.
#include "ddl/model/builtin/builder.h"

namespace ddl::builtin {
namespace {

Shape square(std::int64_t side) {
  return {side, side};
}

TensorId max_pool(ModelBuilder& builder, const std::string& name, TensorId x) {
  return builder.graph.add("MaxPool", {x}, {{"kernel_shape", square(2)}, {"strides", square(2)}},
                           name);
}

// Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape changes.
TensorId residual_block(ModelBuilder& builder, const std::string& name, TensorId x,
                        std::int64_t channels, std::int64_t stride) {
  Graph& graph = builder.graph;
  TensorId main = builder.convolution(name + ".conv1", x, channels, 3, stride, 1, false);
  main = builder.activation(name + ".relu1", builder.batch_norm(name + ".bn1", main), "relu");
  main = builder.convolution(name + ".conv2", main, channels, 3, 1, 1, false);
  main = builder.batch_norm(name + ".bn2", main);
  TensorId shortcut = x;
  if (stride != 1 || graph.tensor(x).shape[1] != channels) {
    shortcut = builder.convolution(name + ".downsample.0", x, channels, 1, stride, 0, false);
    shortcut = builder.batch_norm(name + ".downsample.1", shortcut);
  }
  return builder.activation(name + ".relu2", graph.add("Add", {main, shortcut}, {}, name + ".add"),
                            "relu");
}

}  // namespace

// LeNet-5 (LeCun et al., "Gradient-based learning applied to document recognition", 1998) with max
// pooling. 5x5 kernels; images under 32 pixels are padded by 2 (28x28 becomes the paper's 32x32),
// and under 12 the second convolution is padded too, so that something is left of them.
Graph build_lenet(const Options& options, const ModelInterface& interface, ModelBuilder builder) {
  const Shape image = image_shape(interface, "lenet", 4);
  const std::int64_t side = std::min(image[1], image[2]);
  const std::string kind = options.choice("activation", kActivations);
  TensorId x = builder.input(interface.inputs.front());
  x = builder.convolution("conv1", x, 6, 5, 1, side < 32 ? 2 : 0, true);
  x = max_pool(builder, "pool1", builder.activation("conv1." + kind, x, kind));
  x = builder.convolution("conv2", x, 16, 5, 1, side < 12 ? 2 : 0, true);
  x = max_pool(builder, "pool2", builder.activation("conv2." + kind, x, kind));
  x = builder.flatten("flat", x);
  return builder.finish(builder.perceptron(x, {120, 84}, interface.outputs, kind, 0));
}

// ResNet-18 (He et al., "Deep residual learning for image recognition", CVPR 2016) as it is used
// for small images: a 3x3 stem of stride 1 and no first pool. Names are torchvision's.
Graph build_resnet18(const Options& options, const ModelInterface& interface,
                     ModelBuilder builder) {
  image_shape(interface, "resnet18", 8);
  const std::int64_t width = options.integer("width", 1, 4096);
  TensorId x = builder.input(interface.inputs.front());
  x = builder.convolution("conv1", x, width, 3, 1, 1, false);
  x = builder.activation("relu", builder.batch_norm("bn1", x), "relu");
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t block = 0; block < 2; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      x = residual_block(builder, name, x, width << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  x = builder.graph.add("GlobalAveragePool", {x}, {}, "avgpool");
  x = builder.flatten("flat", x);
  return builder.finish(builder.linear("fc", x, interface.outputs));
}

}  // namespace ddl::builtin
