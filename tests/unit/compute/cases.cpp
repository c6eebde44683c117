// The cases of op_cases(): shapes that do not fit vectors and blocks, and every attribute once.
#include "unit/compute/problem.h"

namespace ddl::test {
namespace {

using Attributes = std::map<std::string, Attribute>;
constexpr std::int64_t kOne = 1;

OpCase conv(const std::string& name, Shape x, Shape w, Attributes attributes, bool bias) {
  return {"Conv/" + name, [=](Problem& p) {
            std::vector<TensorId> inputs{p.input(x), p.parameter(w)};
            if (bias) inputs.push_back(p.parameter({w[0]}));
            return p.graph.add("Conv", inputs, attributes);
          }};
}

OpCase unary(const std::string& name, const std::string& op, Shape x, Attributes attributes = {},
             double low = -4, double high = 4) {
  return {name, [=](Problem& p) { return p.graph.add(op, {p.input(x, low, high)}, attributes); }};
}

// A forward op with outputs of which the first is looked at.
OpCase first_of(const std::string& name, const std::string& op, std::vector<Shape> inputs,
                Attributes attributes, int outputs) {
  return {name, [=](Problem& p) {
            std::vector<TensorId> ids;
            for (const Shape& shape : inputs) ids.push_back(p.input(shape));
            return p.graph.add_node(op, ids, attributes, outputs)[0];
          }};
}

OpCase all(const std::string& name, const std::string& op, std::vector<Shape> inputs,
           Attributes attributes = {}) {
  return first_of(name, op, std::move(inputs), std::move(attributes), 1);
}

// Convolutions before and after, so that what is between meets a blocked layout.
OpCase between_convolutions(const std::string& name,
                            std::function<TensorId(Problem&, TensorId)> middle) {
  return {"Blocked/" + name,
          [=](Problem& p) {
            const Attributes same{{"pads", Shape{1, 1, 1, 1}}};
            const TensorId x =
                p.graph.add("Conv", {p.input({2, 3, 7, 6}), p.parameter({19, 3, 3, 3})}, same);
            return p.graph.add("Conv", {middle(p, x), p.parameter({5, 19, 3, 3})}, same);
          },
          true, 5e-5};
}

void add_spatial(std::vector<OpCase>& cases) {
  cases.push_back(conv("plain", {2, 3, 8, 9}, {5, 3, 3, 3}, {}, true));
  cases.push_back(conv("batch of one", {1, 17, 5, 5}, {9, 17, 3, 3}, {}, false));
  cases.push_back(
      conv("blocks", {2, 16, 6, 6}, {32, 16, 3, 3}, {{"pads", Shape{1, 1, 1, 1}}}, true));
  cases.push_back(conv("strides and uneven pads", {2, 4, 9, 7}, {6, 4, 3, 2},
                       {{"strides", Shape{2, 3}}, {"pads", Shape{0, 1, 2, 0}}}, true));
  cases.push_back(conv("dilations", {2, 3, 9, 9}, {4, 3, 3, 3},
                       {{"dilations", Shape{2, 3}}, {"pads", Shape{2, 3, 2, 3}}}, true));
  cases.push_back(conv("groups", {2, 6, 5, 5}, {9, 2, 3, 3},
                       {{"group", std::int64_t{3}}, {"pads", Shape{1, 1, 1, 1}}}, true));
  cases.push_back(conv("depthwise", {2, 18, 5, 5}, {18, 1, 3, 3},
                       {{"group", std::int64_t{18}}, {"pads", Shape{1, 1, 1, 1}}}, false));
  cases.push_back(
      conv("1x1 with stride", {2, 20, 5, 6}, {33, 20, 1, 1}, {{"strides", Shape{2, 2}}}, false));
  cases.push_back(conv("whole image", {3, 4, 5, 5}, {7, 4, 5, 5}, {}, true));

  const Attributes window{
      {"kernel_shape", Shape{3, 2}}, {"strides", Shape{2, 2}}, {"pads", Shape{1, 0, 1, 1}}};
  auto with = [](Attributes attributes, const std::string& key, std::int64_t value) {
    attributes[key] = value;
    return attributes;
  };
  const Shape image{2, 5, 7, 8};
  cases.push_back(first_of("MaxPool/pads", "MaxPool", {image}, window, 2));
  cases.push_back(first_of("MaxPool/no indices", "MaxPool", {image}, window, 1));
  cases.push_back(
      first_of("MaxPool/ceil", "MaxPool", {{1, 3, 8, 6}},
               {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}, {"ceil_mode", kOne}}, 2));
  cases.push_back(all("AveragePool/pads", "AveragePool", {image}, window));
  cases.push_back(
      all("AveragePool/count pads", "AveragePool", {image}, with(window, "count_include_pad", 1)));
  cases.push_back(
      all("AveragePool/ceil", "AveragePool", {{1, 3, 8, 6}},
          {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}, {"ceil_mode", kOne}}));
  cases.push_back(all("AveragePool/ceil, count pads", "AveragePool", {{2, 3, 8, 6}},
                      {{"kernel_shape", Shape{3, 3}},
                       {"strides", Shape{2, 2}},
                       {"pads", Shape{1, 1, 0, 0}},
                       {"ceil_mode", kOne},
                       {"count_include_pad", kOne}}));
  cases.push_back(all("GlobalAveragePool", "GlobalAveragePool", {{3, 19, 5, 4}}));
}

void add_norms(std::vector<OpCase>& cases) {
  cases.push_back({"BatchNormalization", [](Problem& p) {
                     return p.graph.add("BatchNormalization",
                                        {p.input({3, 5, 4, 3}), p.parameter({5}), p.parameter({5}),
                                         p.buffer({5}, -1, 1), p.buffer({5}, 0.5, 2)});
                   }});
  for (const Shape& shape : {Shape{3, 5, 4, 3}, Shape{2, 16, 5, 5}, Shape{9, 7}, Shape{4, 3, 5}}) {
    cases.push_back({"BatchNormTraining/" + shape_text(shape),
                     [shape](Problem& p) {
                       return p.graph.add_node(
                           "BatchNormTraining",
                           {p.input(shape), p.parameter({shape[1]}), p.parameter({shape[1]})},
                           {{"epsilon", 1e-3}}, 3)[0];
                     },
                     true, 1e-4});
  }
  cases.push_back({"LayerNormalization/last axis",
                   [](Problem& p) {
                     return p.graph.add_node(
                         "LayerNormalization",
                         {p.input({3, 4, 37}), p.parameter({37}), p.parameter({37})}, {}, 3)[0];
                   },
                   true, 5e-5});
  cases.push_back({"LayerNormalization/two axes, no bias",
                   [](Problem& p) {
                     return p.graph.add_node("LayerNormalization",
                                             {p.input({5, 3, 7}), p.parameter({3, 7})},
                                             {{"axis", std::int64_t{1}}, {"epsilon", 1e-3}}, 1)[0];
                   },
                   true, 5e-5});
}

void add_products(std::vector<OpCase>& cases) {
  for (const std::int64_t ta : {0, 1}) {
    for (const std::int64_t tb : {0, 1}) {
      const std::string flags = std::to_string(ta) + std::to_string(tb);
      cases.push_back({"Gemm/" + flags, [=](Problem& p) {
                         const TensorId a = p.input(ta != 0 ? Shape{11, 5} : Shape{5, 11});
                         const TensorId b = p.parameter(tb != 0 ? Shape{19, 11} : Shape{11, 19});
                         return p.graph.add("Gemm", {a, b, p.parameter({19})},
                                            {{"transA", ta}, {"transB", tb}});
                       }});
      cases.push_back(
          {"MatMul/" + flags, [=](Problem& p) {
             const TensorId a = p.input(ta != 0 ? Shape{2, 3, 9, 4} : Shape{2, 3, 4, 9});
             const TensorId b = p.input(tb != 0 ? Shape{2, 3, 5, 9} : Shape{2, 3, 9, 5});
             return p.graph.add("MatMul", {a, b}, {{"trans_a", ta}, {"trans_b", tb}});
           }});
    }
  }
  const Attributes scaled{{"alpha", 0.5}, {"beta", -2.0}};
  cases.push_back(all("Gemm/scaled, full c", "Gemm", {{4, 6}, {6, 3}, {4, 3}}, scaled));
  cases.push_back(all("Gemm/scaled, column c", "Gemm", {{4, 6}, {6, 3}, {4, 1}}, scaled));
  cases.push_back(all("Gemm/one value c", "Gemm", {{4, 6}, {6, 3}, {1}}));
  cases.push_back(all("Gemm/no c", "Gemm", {{1, 6}, {6, 1}}));
  cases.push_back({"MatMul/one weight for all rows", [](Problem& p) {
                     return p.graph.add("MatMul", {p.input({2, 3, 7}), p.parameter({7, 5})});
                   }});
  cases.push_back({"MatMul/one weight, transposed", [](Problem& p) {
                     return p.graph.add("MatMul", {p.input({2, 3, 7}), p.parameter({5, 7})},
                                        {{"trans_b", kOne}});
                   }});
  cases.push_back(all("MatMul/broadcast both", "MatMul", {{2, 1, 3, 4}, {5, 4, 2}}));
  cases.push_back(all("MatMul/broadcast left", "MatMul", {{3, 4}, {5, 4, 2}}));
}

void add_arithmetic(std::vector<OpCase>& cases) {
  const Shape odd{3, 7, 11};
  for (const char* op : {"Relu", "Tanh", "Sigmoid", "Gelu", "Erf", "Exp", "Neg"}) {
    cases.push_back(unary(op, op, odd));
  }
  cases.push_back(unary("Gelu/tanh", "Gelu", odd, {{"approximate", std::string("tanh")}}));
  for (const char* op : {"Log", "Sqrt", "Reciprocal"}) {
    cases.push_back(unary(op, op, odd, {}, 0.3, 4));
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    const auto pair = [op](const std::string& name, Shape a, Shape b) {
      return OpCase{std::string(op) + "/" + name, [=](Problem& p) {
                      const TensorId left = p.input(a), right = p.input(b, 0.5, 2);
                      return p.graph.add(op, {left, right});
                    }};
    };
    cases.push_back(pair("same", odd, odd));
    cases.push_back(pair("row", odd, {11}));
    cases.push_back(pair("channel", odd, {7, 1}));
    cases.push_back(pair("both", {3, 1, 5}, {4, 1}));
    cases.push_back(pair("scalar", odd, {}));
    cases.push_back(pair("left is smaller", {1}, odd));
  }
  cases.push_back({"Add/itself", [](Problem& p) {
                     const TensorId x = p.input({3, 5});
                     return p.graph.add("Add", {x, x});
                   }});
  cases.push_back(all("Sum/three", "Sum", {{3, 5}, {3, 5}, {3, 5}}));
  cases.push_back(all("Sum/one", "Sum", {{3, 5}}));
  cases.push_back(unary("Softmax/last", "Softmax", {4, 3, 37}));
  cases.push_back(unary("Softmax/middle", "Softmax", {4, 3, 5}, {{"axis", kOne}}));
  cases.push_back(all("ReduceSumTo/rows", "ReduceSumTo", {{9, 37}}, {{"shape", Shape{37}}}));
  cases.push_back(all("ReduceSumTo/columns", "ReduceSumTo", {{9, 37}}, {{"shape", Shape{9, 1}}}));
  cases.push_back(
      all("ReduceSumTo/both ends", "ReduceSumTo", {{3, 4, 5}}, {{"shape", Shape{1, 4, 1}}}));
  cases.push_back(all("ReduceSumTo/all", "ReduceSumTo", {{3, 4, 5}}, {{"shape", Shape{}}}));
  cases.push_back(all("ReduceMean/axes", "ReduceMean", {{3, 4, 5}},
                      {{"axes", Shape{0, -1}}, {"keepdims", std::int64_t{0}}}));
  cases.push_back(all("ReduceMean/all", "ReduceMean", {{3, 4, 5}}));
  cases.push_back(all("BroadcastTo", "BroadcastTo", {{4, 1}}, {{"shape", Shape{3, 4, 5}}}));
}

void add_movement(std::vector<OpCase>& cases) {
  cases.push_back(all("Reshape", "Reshape", {{3, 4, 5}}, {{"shape", Shape{0, -1}}}));
  cases.push_back(all("Flatten", "Flatten", {{3, 4, 5}}));
  cases.push_back(all("Identity", "Identity", {{3, 4}}));
  cases.push_back(all("Cast/same", "Cast", {{3, 4}}, {{"to", std::string("float32")}}));
  cases.push_back(all("Transpose/default", "Transpose", {{3, 4, 5}}));
  cases.push_back(
      all("Transpose/heads", "Transpose", {{2, 5, 3, 4}}, {{"perm", Shape{0, 2, 1, 3}}}));
  cases.push_back(all("Transpose/last", "Transpose", {{2, 19, 17}}, {{"perm", Shape{0, 2, 1}}}));
  cases.push_back(all("Concat", "Concat", {{2, 3, 4}, {2, 1, 4}, {2, 5, 4}}, {{"axis", kOne}}));
  cases.push_back(all("Concat/last", "Concat", {{2, 3}, {2, 5}}, {{"axis", std::int64_t{-1}}}));
  cases.push_back(all("Slice", "Slice", {{5, 6, 7}},
                      {{"starts", Shape{1, -6}},
                       {"ends", Shape{5, -1}},
                       {"axes", Shape{0, 2}},
                       {"steps", Shape{2, 3}}}));
  cases.push_back(
      all("Slice/one row", "Slice", {{5, 6}}, {{"starts", Shape{2}}, {"ends", Shape{3}}}));
  for (const DType dtype : {DType::i32, DType::i64}) {
    cases.push_back({"Gather/" + std::string(dtype_name(dtype)), [dtype](Problem& p) {
                       const TensorId table = p.parameter({7, 5});
                       return p.graph.add("Gather", {table, p.indices({3, 9}, 7, dtype)});
                     }});
  }
  cases.push_back(
      {"Integers", [](Problem& p) {
         // Category columns: sliced, reshaped, turned and looked up.
         const TensorId codes = p.indices({4, 3, 2}, 6, DType::i32);
         const TensorId part = p.graph.add(
             "Slice", {codes}, {{"starts", Shape{1}}, {"ends", Shape{3}}, {"axes", Shape{1}}});
         const TensorId turned = p.graph.add("Transpose", {part}, {{"perm", Shape{2, 0, 1}}});
         const TensorId flat = p.graph.add("Reshape", {turned}, {{"shape", Shape{-1}}});
         const TensorId joined = p.graph.add("Concat", {flat, flat}, {{"axis", std::int64_t{0}}});
         return p.graph.add("Gather", {p.parameter({6, 3}), joined});
       }});
  cases.push_back({"Cast/integers",
                   [](Problem& p) {
                     const TensorId whole =
                         p.graph.add("Cast", {p.input({3, 5})}, {{"to", std::string("int64")}});
                     return p.graph.add("Cast", {whole}, {{"to", std::string("float32")}});
                   },
                   false});
}

void add_blocked(std::vector<OpCase>& cases) {
  const auto one = [&cases](const char* op) {
    cases.push_back(
        between_convolutions(op, [op](Problem& p, TensorId x) { return p.graph.add(op, {x}); }));
  };
  for (const char* op : {"Relu", "Tanh", "Sigmoid", "Gelu", "Softmax"}) one(op);
  cases.push_back(between_convolutions("MaxPool", [](Problem& p, TensorId x) {
    return p.graph.add_node("MaxPool", {x},
                            {{"kernel_shape", Shape{3, 3}}, {"strides", Shape{2, 2}}}, 2)[0];
  }));
  cases.push_back(between_convolutions("AveragePool", [](Problem& p, TensorId x) {
    return p.graph.add("AveragePool", {x},
                       {{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}});
  }));
  cases.push_back(between_convolutions("BatchNormTraining", [](Problem& p, TensorId x) {
    return p.graph.add_node("BatchNormTraining", {x, p.parameter({19}), p.parameter({19})}, {},
                            3)[0];
  }));
  cases.push_back(between_convolutions("Add of both layouts", [](Problem& p, TensorId x) {
    return p.graph.add("Add", {p.input({2, 19, 7, 6}), x});
  }));
  cases.push_back(between_convolutions("Mul by channel", [](Problem& p, TensorId x) {
    return p.graph.add("Mul", {x, p.parameter({19, 1, 1})});
  }));
  cases.push_back(between_convolutions("residual", [](Problem& p, TensorId x) {
    const TensorId inner = p.graph.add("Relu", {x});
    const TensorId shift =
        p.graph.add("Conv", {inner, p.parameter({19, 19, 1, 1}), p.parameter({19})});
    return p.graph.add("Relu", {p.graph.add("Add", {shift, x})});
  }));
  cases.push_back({"Blocked/GlobalAveragePool and Gemm",
                   [](Problem& p) {
                     const TensorId x =
                         p.graph.add("Conv", {p.input({2, 3, 6, 6}), p.parameter({19, 3, 3, 3})});
                     const TensorId flat =
                         p.graph.add("Flatten", {p.graph.add("GlobalAveragePool", {x})});
                     return p.graph.add("Gemm", {flat, p.parameter({4, 19}), p.parameter({4})},
                                        {{"transB", kOne}});
                   },
                   true, 5e-5});
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> list;
    add_spatial(list);
    add_norms(list);
    add_products(list);
    add_arithmetic(list);
    add_movement(list);
    add_blocked(list);
    return list;
  }();
  return cases;
}

}  // namespace ddl::test
