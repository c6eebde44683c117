// Ops: one entry in one place gives shape rule, gradient rule, FLOPs and bytes of each op.
//
// Forward ops have ONNX's names and meaning (opset 17) with shape operands folded to attributes.
// Gradient ops and losses are ddl's own. N is the batch. The table is the contract between the
// model (which emits nodes) and compute (which executes them). Optional operands in [ ].
//
// clang-format off
//   op                     inputs -> outputs                              attributes
//   Conv                   x[N,C,H,W] w[M,C/g,kh,kw] [b[M]] -> y          strides pads(4: t l b r) dilations group
//   ConvGradInput          dy w -> dx                                     as Conv, x_shape (with N)
//   ConvGradWeight         x dy -> dw [db]                                as Conv, w_shape
//   MaxPool                x -> y [indices u8, opaque, y's shape]         kernel_shape strides pads ceil_mode
//   MaxPoolGrad            dy x y indices -> dx                           as MaxPool
//   AveragePool            x -> y                                         as MaxPool, count_include_pad
//   AveragePoolGrad        dy -> dx                                       as AveragePool, x_shape
//   GlobalAveragePool      x[N,C,H,W] -> y[N,C,1,1]
//   GlobalAveragePoolGrad  dy -> dx                                       x_shape
//   BatchNormalization     x scale bias mean var -> y                     epsilon           (inference)
//   BatchNormTraining      x scale bias -> y batch_mean batch_var         epsilon; var is the population variance of the task
//   BatchNormGrad          x dy scale batch_mean batch_var -> dx dscale dbias  epsilon
//   LayerNormalization     x scale [bias] -> y [mean inv_std]             axis epsilon
//   LayerNormGrad          x dy scale mean inv_std -> dx dscale dbias     axis epsilon
//   Gemm                   a b [c] -> y = alpha*op(a)*op(b) + beta*c      transA transB alpha beta
//   MatMul                 a b -> y (numpy broadcasting of leading axes)  trans_a trans_b (ddl's: swap the last two axes)
//   Relu Tanh Sigmoid Gelu Erf Exp Log Sqrt Neg Reciprocal   x -> y       Gelu: approximate none|tanh
//   ReluGrad TanhGrad SigmoidGrad   dy y -> dx
//   GeluGrad               dy x -> dx                                     approximate
//   Add Sub Mul Div        a b -> y (numpy broadcasting)
//   Softmax                x -> y                                         axis
//   SoftmaxGrad            dy y -> dx                                     axis
//   ReduceSumTo            x -> y: sums over broadcast axes to `shape`    shape
//   ReduceMean             x -> y                                         axes keepdims
//   BroadcastTo            x -> y                                         shape
//   Reshape                x -> y (0 keeps, -1 infers)                    shape
//   Flatten                x -> y                                         axis
//   Transpose              x -> y                                         perm
//   Concat                 x… -> y                                        axis
//   Slice                  x -> y                                         starts ends axes steps (steps > 0)
//   SliceGrad              dy -> dx (zero elsewhere)                      as Slice, x_shape
//   Gather                 table indices -> y                             axis (0)
//   GatherGrad             indices dy -> dtable                           table_shape
//   Identity Cast          x -> y                                         Cast: to
//   Dropout                x -> y [mask u8]                               ratio (training only: keyed by seed, step, sample, op)
//   DropoutGrad            dy mask -> dx                                  ratio
//   Sum                    x… (same shape) -> y: gradients of several uses, added in operand order
// Losses: rows R = all axes but the last of logits; `weight` f32[R] is a row's weight (0: ignored).
//   SoftmaxCrossEntropy      logits[R…,K] label i64|i32[R…] weight[R…] -> loss f32[R…] = w*(logsumexp - logit)
//   SoftmaxCrossEntropyGrad  logits label weight -> dlogits = w*(softmax - onehot)
//   SigmoidCrossEntropy      logits[R,K] target f32[R,K] weight[R] -> loss[R]
//   SigmoidCrossEntropyGrad  logits target weight -> dlogits
//   SquaredError             prediction[R,K] target[R,K] weight[R] -> loss[R] = w*sum_k (p-t)^2
//   SquaredErrorGrad         prediction target weight -> dprediction
// clang-format on
//
// Defaults: strides and dilations 1, pads 0, group 1, ceil_mode 0, epsilon 1e-5, alpha and beta 1,
// Softmax, LayerNormalization axis -1, Flatten axis 1, keepdims 1, Slice axes 0.. and steps 1,
// Gelu approximate none, Cast to "float32" (names of dtype.h), all transposition flags 0.
// Arithmetic is f32. Reshape, Flatten, Slice, Concat, Transpose, Identity, Cast and Gather's
// indices also carry integers (category columns are sliced from i32 codes).
// Pooling with ceil_mode: the last window must start inside the input or its leading padding, as in
// PyTorch. AveragePool without count_include_pad divides by the elements inside the input.
// A model may hold Dropout: it is live in a training graph alone (training.h).
//
// A gradient is always a sum over the task's samples, never a mean: the trainer divides once by the
// global weight.
#pragma once

#include "ddl/model/graph.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// Collects gradients while the graph is walked backwards (autodiff.h).
class GradientBuilder;

struct OpDefinition {
  std::string name;
  int minimum_inputs = 1, maximum_inputs = 1;  // maximum -1: any number
  int maximum_outputs = 1;
  int gradient_outputs = 1;  // outputs that the gradient rule reads: kept for backward
  // Sets dtype and shape of each output from the inputs; throws bad_input saying what does not fit.
  std::function<void(const Graph&, const Node&, std::vector<Tensor>& outputs)> infer;
  // Emits gradient nodes for the inputs that need one; empty: no gradient flows through.
  std::function<void(GradientBuilder&, const Node&)> gradient;
  // Floating-point operations (a multiply-add counts two); empty: one per output element.
  std::function<double(const Graph&, const Node&)> flops;
};

// Throws bad_input naming the nearest supported op.
const OpDefinition& op_definition(std::string_view name);
bool op_is_known(std::string_view name);
std::vector<std::string_view> op_names();

double node_flops(const Graph& graph, const Node& node);
// Bytes read and written if every operand passes through memory once.
double node_bytes(const Graph& graph, const Node& node);

}  // namespace ddl
