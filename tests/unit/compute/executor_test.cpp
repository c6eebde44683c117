// The executor's contract beside arithmetic: what it asks for, what it says when it is not given,
// and when it hands out results.
#include "ddl/compute/executor.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include "unit/compute/training_problem.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl::test {
namespace {

using testing::HasSubstr;

template <class Body>
Error error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return failure("nothing was thrown");
}

const OutputSink kIgnore = [](std::size_t, std::span<const float>) {};

TEST(Executor, HandsOutOutputsAsSoonAsTheyAreComputed) {
  Problem problem;
  const TensorId x = problem.input({2, 3});
  const TensorId first = problem.graph.add("Relu", {x});
  const TensorId second = problem.graph.add("Neg", {first});
  const TensorId last = problem.graph.add("Exp", {second});
  problem.graph.outputs = {last, first, x, first};
  const auto executor = problem.executor();
  const auto lane = executor->make_lane();
  std::vector<std::size_t> order;
  executor->run(*lane, problem.input_bindings(), {},
                [&](std::size_t output, std::span<const float> values) {
                  EXPECT_EQ(values.size(), 6U);
                  order.push_back(output);
                });
  EXPECT_EQ(order, (std::vector<std::size_t>{2, 1, 3, 0}));
}

TEST(Executor, OutputsKeepTheirValuesWhenMemoryIsReused) {
  // Each output is read again after it was handed out, and each step could run in place.
  Problem problem;
  TensorId x = problem.input({5, 7});
  for (int i = 0; i < 6; ++i) {
    x = problem.graph.add("Relu", {problem.graph.add("Neg", {x})});
    problem.graph.outputs.push_back(x);
    x = problem.graph.add("Add", {x, problem.graph.add("Exp", {x})});
    problem.graph.outputs.push_back(x);
  }
  const auto got = problem.execute();
  const auto want = reference_run(problem.graph, problem.reference_feeds());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_LT(relative_error(got[i], want[i]), 1e-5);
}

TEST(Executor, ParametersAndConstantsMayBeOutputs) {
  Problem problem;
  problem.input({1, 1});
  const TensorId w = problem.parameter({2, 3});
  problem.graph.outputs = {problem.graph.add("Reshape", {w}, {{"shape", Shape{6}}}), w};
  const auto got = problem.execute();
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[1][5], problem.values.at(w)->as<float>()[5]);
}

TEST(Executor, PrepareTakesNewValues) {
  const TrainingProblem made = make_training_problem(model_cases()[3], 1);
  const TrainingProblem other = make_training_problem(model_cases()[3], 2);
  const auto executor = made.problem.executor();
  const auto lane = executor->make_lane();
  const auto before = made.problem.execute(*executor, *lane);
  executor->prepare(other.problem.weight_bindings());
  const auto changed = made.problem.execute(*executor, *lane);
  EXPECT_NE(before, changed);
  const auto fresh = make_cpu_executor(made.problem.graph, {});
  fresh->prepare(other.problem.weight_bindings());
  EXPECT_EQ(changed, made.problem.execute(*fresh, *fresh->make_lane()));
  executor->prepare(made.problem.weight_bindings());
  EXPECT_EQ(before, made.problem.execute(*executor, *lane));
}

TEST(Executor, CastsStayInRange) {
  Problem problem;
  const TensorId x = problem.input({6});
  const TensorId bytes = problem.graph.add("Cast", {x}, {{"to", std::string("uint8")}});
  const TensorId words = problem.graph.add("Cast", {x}, {{"to", std::string("int64")}});
  for (const TensorId id : {bytes, words}) {
    problem.graph.outputs.push_back(
        problem.graph.add("Cast", {id}, {{"to", std::string("float32")}}));
  }
  const float given[] = {-3, 300, 2.9F, std::nanf(""), 1e30F, -1e30F};
  std::copy(std::begin(given), std::end(given), problem.values.at(x)->as<float>());
  const auto got = problem.execute();
  EXPECT_EQ(got[0], (std::vector<float>{0, 255, 2, 0, 255, 0}));
  EXPECT_EQ(got[1], (std::vector<float>{-3, 300, 2, 0, 0x1p63F, -0x1p63F}));
}

TEST(Executor, PrepareCopies) {
  Problem problem;
  const TensorId x = problem.input({3, 4}), w = problem.parameter({4, 2});
  problem.graph.outputs = {problem.graph.add("MatMul", {x, w}), problem.graph.add("Neg", {w})};
  const auto executor = problem.executor();
  const auto lane = executor->make_lane();
  const auto before = problem.execute(*executor, *lane);
  problem.values.at(w)->as<float>()[0] += 1;
  EXPECT_EQ(before, problem.execute(*executor, *lane));
}

TEST(Executor, DenormalsCountAsZeroDuringARunOnly) {
  Problem problem;
  const TensorId x = problem.input({64});
  problem.graph.outputs = {problem.graph.add("Mul", {x, x}),
                           problem.graph.add("Add", {x, problem.graph.add("Neg", {x})})};
  const TensorId tiny = problem.graph.add("Mul", {x, problem.graph.add("Exp", {x})});
  problem.graph.outputs.push_back(tiny);
  for (std::size_t i = 0; i < 64; ++i) problem.values.at(x)->as<float>()[i] = 1e-40F;
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr();
#endif
  const auto got = problem.execute();
  for (const float value : got[2]) EXPECT_EQ(value, 0.0F);
#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & (_MM_FLUSH_ZERO_MASK | _MM_DENORMALS_ZERO_MASK),
            before & (_MM_FLUSH_ZERO_MASK | _MM_DENORMALS_ZERO_MASK));
#endif
  volatile float small = 1e-38F;
  small = small / 16;
  EXPECT_GT(small, 0.0F);
}

TEST(Executor, ASinkThatThrowsLeavesTheThreadAsItWas) {
  Problem problem;
  problem.graph.outputs = {problem.graph.add("Neg", {problem.input({4})})};
  const auto executor = problem.executor();
  const auto lane = executor->make_lane();
  const Error error = error_of([&] {
    executor->run(*lane, problem.input_bindings(), {},
                  [](std::size_t, std::span<const float>) { throw failure("full"); });
  });
  EXPECT_STREQ(error.what(), "full");
  volatile float small = 1e-38F;
  small = small / 16;
  EXPECT_GT(small, 0.0F);
  EXPECT_EQ(problem.execute(*executor, *lane)[0].size(), 4U);
}

TEST(ExecutorErrors, NameWhatIsMissing) {
  Problem problem;
  const TensorId x = problem.input({3, 4}), w = problem.parameter({4, 2});
  problem.graph.outputs = {problem.graph.add("MatMul", {x, w})};
  const auto executor = make_cpu_executor(problem.graph, {});
  const auto lane = executor->make_lane();
  EXPECT_THAT(error_of([&] { executor->run(*lane, problem.input_bindings(), {}, kIgnore); }).what(),
              HasSubstr("prepare"));
  EXPECT_THAT(error_of([&] { executor->prepare({}); }).what(),
              HasSubstr(problem.graph.tensor(w).name));
  const TensorBinding strange{99, nullptr};
  EXPECT_THAT(error_of([&] { executor->prepare({&strange, 1}); }).what(), HasSubstr("99"));
  const TensorBinding input{x, problem.values.at(x)->bytes.data()};
  EXPECT_THAT(error_of([&] {
                executor->prepare({&input, 1});
              }).what(),
              HasSubstr("neither a parameter nor a buffer"));
  executor->prepare(problem.weight_bindings());
  EXPECT_THAT(error_of([&] { executor->run(*lane, {}, {}, kIgnore); }).what(),
              HasSubstr(problem.graph.tensor(x).name));
  const auto other = problem.executor();
  EXPECT_THAT(error_of([&] { other->run(*lane, problem.input_bindings(), {}, kIgnore); }).what(),
              HasSubstr("another executor"));
}

TEST(ExecutorErrors, NameNodeAndOp) {
  Problem problem;
  const TensorId codes = problem.indices({4}, 3);
  problem.graph.outputs = {problem.graph.add("Relu", {problem.input({2})}, {}, "act")};
  Graph unknown = problem.graph;
  unknown.nodes()[0].op = "Convolve";
  const Error error = error_of([&] { make_cpu_executor(unknown, {}); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("act"));
  EXPECT_THAT(error.what(), HasSubstr("Convolve"));

  const TensorId sum = problem.graph.add("Add", {codes, codes}, {}, "sum of codes");
  problem.graph.outputs = {problem.graph.add("Cast", {sum})};
  EXPECT_THAT(error_of([&] { make_cpu_executor(problem.graph, {}); }).what(),
              testing::AllOf(HasSubstr("sum of codes"), HasSubstr("int64")));
  problem.graph.outputs = {codes};
  EXPECT_THAT(error_of([&] { make_cpu_executor(problem.graph, {}); }).what(), HasSubstr("int64"));
}

TEST(ExecutorErrors, RefuseOptions) {
  Problem problem;
  problem.graph.outputs = {problem.graph.add("Relu", {problem.input({2})})};
  const auto with = [&](auto change) {
    ExecutorOptions options;
    change(options);
    return error_of([&] { make_cpu_executor(problem.graph, options); });
  };
  EXPECT_THAT(with([](auto& o) { o.dtype = DType::f16; }).what(), HasSubstr("float16"));
  EXPECT_THAT(with([](auto& o) { o.threads = 0; }).what(), HasSubstr("0 threads"));
  EXPECT_THAT(with([](auto& o) { o.isa = "mmx"; }).what(), HasSubstr("mmx"));
}

TEST(ExecutorErrors, CheckIndicesAndLabels) {
  Problem problem;
  const TensorId table = problem.parameter({5, 2}), indices = problem.indices({2, 3}, 5);
  problem.graph.outputs = {problem.graph.add("Gather", {table, indices}, {}, "embedding")};
  const auto executor = problem.executor();
  const auto lane = executor->make_lane();
  for (const std::int64_t bad : {5, -6}) {
    problem.values.at(indices)->as<std::int64_t>()[4] = bad;
    EXPECT_THAT(error_of([&] { problem.execute(*executor, *lane); }).what(),
                testing::AllOf(HasSubstr("embedding"), HasSubstr(std::to_string(bad)),
                               HasSubstr("5 rows")));
  }

  Problem loss;
  const TensorId logits = loss.input({3, 4}), label = loss.indices({3}, 4),
                 weight = loss.input({3}, 1, 2);
  loss.graph.outputs = {loss.graph.add("SoftmaxCrossEntropy", {logits, label, weight}, {}, "loss"),
                        loss.graph.add("SoftmaxCrossEntropyGrad", {logits, label, weight})};
  loss.values.at(label)->as<std::int64_t>()[1] = 4;
  EXPECT_THAT(error_of([&] { loss.execute(); }).what(),
              testing::AllOf(HasSubstr("label 4"), HasSubstr("row 1"), HasSubstr("loss")));
  // A row that does not count may have any label.
  loss.values.at(weight)->as<float>()[1] = 0;
  const auto got = loss.execute();
  EXPECT_EQ(got[0][1], 0.0F);
  for (std::size_t k = 4; k < 8; ++k) EXPECT_EQ(got[1][k], 0.0F);
}

TEST(ExecutorStatistics, DescribeTheProgram) {
  const TrainingProblem made = make_training_problem(model_cases()[4], 1);
  const auto statistics = made.problem.executor()->statistics();
  EXPECT_GT(statistics.prepared_bytes,
            static_cast<std::size_t>(made.problem.graph.parameter_count()) * sizeof(float));
  EXPECT_GT(statistics.reorders, 0);
  bool convolution = false;
  for (const std::string& line : statistics.implementations) {
    convolution = convolution || line.find(": Conv, jit") != std::string::npos;
    EXPECT_EQ(line.find("ref:"), std::string::npos) << line;
  }
#if defined(__x86_64__)
  EXPECT_TRUE(convolution);
#endif
}

TEST(Bfloat16, ProductsAreNearSinglePrecisionOrRefused) {
  ExecutorOptions options;
  options.dtype = DType::bf16;
  const std::string instructions = cpu_numeric_class("native");
  for (const ModelCase& model : model_cases()) {
    const TrainingProblem made = make_training_problem(model, 1);
    if (instructions.find("avx512") == std::string::npos) {
      EXPECT_THAT(error_of([&] { made.problem.execute(options); }).what(), HasSubstr("AVX-512"));
      continue;
    }
    const auto single = made.problem.execute(), half = made.problem.execute(options);
    EXPECT_NE(single, half) << model.name;
    const std::vector<double> logits(single[1].begin(), single[1].end());
    EXPECT_LT(relative_error(half[1], logits), 0.06) << model.name;
    const auto executor = made.problem.executor(options);
    EXPECT_EQ(half, made.problem.execute(*executor, *executor->make_lane())) << model.name;
  }
}

TEST(Probe, MeasuresAProduct) {
  EXPECT_GT(measure_matmul_flops_per_second(64, DType::f32, 1), 1e6);
  EXPECT_THROW(measure_matmul_flops_per_second(0, DType::f32, 1), Error);
  EXPECT_THROW(measure_matmul_flops_per_second(64, DType::i32, 1), Error);
}

TEST(NumericClass, NamesTheInstructionSetAndTheLibrary) {
  EXPECT_THAT(cpu_numeric_class("native"), testing::StartsWith("cpu "));
  EXPECT_THAT(compute_library_versions().at("oneDNN"),
              testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THROW(cpu_numeric_class("sse9"), Error);
}

#if defined(__x86_64__)
// oneDNN fixes its instruction set once per process: each case has a process of its own.
TEST(NumericClassDeathTest, TheCapHolds) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no AVX2 to cap to";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const bool capped = cpu_numeric_class("avx2") == "cpu avx2";
        // A higher cap asks for nothing more.
        const bool kept = cpu_numeric_class("avx512") == "cpu avx2";
        std::exit(capped && kept ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(NumericClassDeathTest, TheCapMustComeFirst) {
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "nothing above AVX2 to cap";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Problem problem;
        problem.graph.outputs = {problem.graph.add("Relu", {problem.input({2})})};
        ExecutorOptions options;
        // Where the environment caps the process already, there is nothing left to refuse.
        if (cpu_numeric_class("native").find("avx512") == std::string::npos) std::exit(0);
        options.isa = "avx2";
        const Error error = error_of([&] { make_cpu_executor(problem.graph, options); });
        std::exit(error.kind() == ErrorKind::bad_input &&
                          std::string(error.what()).find("avx2") != std::string::npos
                      ? 0
                      : 1);
      },
      testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace ddl::test
