// One step against a reference in double precision.
#include "ddl/train/step.h"

#include <cmath>
#include <cstring>

#include "fixture.h"

namespace ddl {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kFeatures = 4, kClasses = 3;

Graph linear_model() {
  Random random(11, "weights");
  std::vector<float> w(kFeatures * kClasses), b(kClasses);
  for (float& value : w) value = static_cast<float>(random.normal());
  for (float& value : b) value = static_cast<float>(random.normal());
  Graph graph;
  graph.name = "linear";
  const TensorId x = graph.add_input("x", DType::f32, {1, kFeatures});
  const TensorId weight = graph.add_parameter("w", make_f32({kClasses, kFeatures}, w));
  const TensorId bias = graph.add_parameter("b", make_f32({kClasses}, b));
  graph.inputs = {x};
  graph.outputs = {graph.add("Gemm", {x, weight, bias}, {{"transB", std::int64_t{1}}})};
  return graph;
}

// Two channels of 2x2 through batch normalization, then a linear layer.
Graph normalised_model() {
  Graph graph;
  const TensorId x = graph.add_input("x", DType::f32, {1, 2, 2, 2});
  const TensorId scale = graph.add_parameter("scale", make_f32({2}, {1, 1.5F}));
  const TensorId bias = graph.add_parameter("bias", make_f32({2}, {0, 0.5F}));
  const TensorId mean = graph.add_buffer("mean", make_f32({2}, {0.25F, 0}));
  const TensorId var = graph.add_buffer("var", make_f32({2}, {1, 2}));
  const TensorId w =
      graph.add_parameter("w", make_f32({kClasses, 8}, std::vector<float>(24, 0.1F)));
  const TensorId y = graph.add("BatchNormalization", {x, scale, bias, mean, var});
  const TensorId flat = graph.add("Flatten", {y});
  graph.inputs = {x};
  graph.outputs = {graph.add("Gemm", {flat, w}, {{"transB", std::int64_t{1}}})};
  return graph;
}

class Step : public TrainFixture {
 protected:
  // One step on ranks with these shares; the values after it.
  std::map<std::string, std::vector<float>> after_a_step(const Graph& model,
                                                         const std::vector<int>& shares,
                                                         std::int64_t task_samples,
                                                         std::vector<double> class_weights,
                                                         std::int64_t batch = 6) {
    const Plan plan = read_plan(make_plan("mlp", shares, task_samples, 1, {}, batch));
    TrainingRecipe recipe;
    recipe.learning_rate = 1;
    recipe.momentum = 0;
    recipe.length = "1st";
    const Schedule schedule(recipe, 1);
    std::map<std::string, std::vector<float>> out;
    std::mutex mutex;
    run_ranks(static_cast<int>(shares.size()), [&](Communicator& communicator) {
      const Dataset dataset(folder_ / "data");
      BatchReader reader(dataset, "train");
      reader.set_class_weights(class_weights);
      const SampleOrder order(dataset.hash(), 1, dataset.manifest().samples("train"), "full");
      Weights weights(model);
      StepRunner runner(communicator,
                        {plan,
                         schedule,
                         order,
                         reader,
                         [&](std::int64_t samples) {
                           return make_training_graph(model.with_batch(samples),
                                                      LossKind::softmax_cross_entropy);
                         },
                         {},
                         1,
                         {}},
                        weights, recipe);
      runner.first_look(true);
      const StepResult result = runner.run(0, false);
      EXPECT_FALSE(result.skipped);
      EXPECT_EQ(result.samples, 6);
      const std::lock_guard lock(mutex);
      loss_ = result.loss;
      if (communicator.rank() != 0) return;
      for (const Weight& weight : weights.all()) {
        const float* values = weight.value->as<float>();
        out[weight.name].assign(values, values + weight.value->bytes.size() / sizeof(float));
      }
    });
    return out;
  }

  // The six samples as the model sees them.
  Batch all_samples() {
    const Dataset dataset(folder_ / "data");
    Batch batch;
    BatchReader(dataset, "train").read(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}, batch);
    return batch;
  }

  double loss_ = 0;
};

// N01: five samples on one worker and one on another: not a mean of means.
TEST_F(Step, UnequalSharesGiveTheGradientOfTheWhole) {
  make_data(6, kFeatures, kClasses, {}, 0, 0);
  const std::vector<double> class_weights = {1, 2, 0.5};
  const Graph model = linear_model();
  const Batch batch = all_samples();
  const auto* x = reinterpret_cast<const float*>(batch.values[0].data());
  const auto* labels = reinterpret_cast<const std::int64_t*>(batch.labels.data());
  const float* w = model.tensor(model.find("w")).value->as<float>();
  const float* b = model.tensor(model.find("b")).value->as<float>();
  std::vector<double> new_w(w, w + kFeatures * kClasses), new_b(b, b + kClasses);
  double total = 0, loss = 0;
  std::vector<double> dw(new_w.size()), db(new_b.size());
  for (std::int64_t i = 0; i < 6; ++i) {
    double z[kClasses], sum = 0;
    for (std::int64_t k = 0; k < kClasses; ++k) {
      z[k] = b[k];
      for (std::int64_t f = 0; f < kFeatures; ++f)
        z[k] += static_cast<double>(w[k * kFeatures + f]) * x[i * kFeatures + f];
      sum += std::exp(z[k]);
    }
    const double weight = class_weights[static_cast<std::size_t>(labels[i])];
    total += weight;
    loss += weight * (std::log(sum) - z[labels[i]]);
    for (std::int64_t k = 0; k < kClasses; ++k) {
      const double d = weight * (std::exp(z[k]) / sum - (labels[i] == k ? 1 : 0));
      db[static_cast<std::size_t>(k)] += d;
      for (std::int64_t f = 0; f < kFeatures; ++f)
        dw[static_cast<std::size_t>(k * kFeatures + f)] += d * x[i * kFeatures + f];
    }
  }
  const auto one = after_a_step(model, {6}, 1, class_weights);
  for (std::size_t i = 0; i < new_w.size(); ++i)
    EXPECT_NEAR(one.at("w")[i], new_w[i] - dw[i] / total, 1e-6);
  for (std::size_t i = 0; i < new_b.size(); ++i)
    EXPECT_NEAR(one.at("b")[i], new_b[i] - db[i] / total, 1e-6);
  EXPECT_NEAR(loss_, loss / total, 1e-6);
  EXPECT_EQ(after_a_step(model, {5, 1}, 1, class_weights), one);
  EXPECT_EQ(after_a_step(model, {0, 1, 5}, 1, class_weights), one);
}

// N05: statistics are the workers' together, in proportion to samples.
TEST_F(Step, RunningStatisticsAreOfAllTasks) {
  make_data(6, 8, kClasses, {2, 2, 2}, 0, 0);
  const Graph model = normalised_model();
  const Batch batch = all_samples();
  const auto* x = reinterpret_cast<const float*>(batch.values[0].data());
  const Dataset dataset(folder_ / "data");
  const SampleOrder order(dataset.hash(), 1, 6, "full");
  const auto one = after_a_step(model, {2}, 4, {});
  const StepTasks cut = step_tasks(6, 6, 4, 0);
  ASSERT_EQ(cut.tasks(), 2);
  for (std::size_t channel = 0; channel < 2; ++channel) {
    double mean = 0, variance = 0;
    for (std::size_t t = 0; t < 2; ++t) {
      std::vector<double> values;
      for (std::int64_t p = cut.first[t]; p < cut.first[t + 1]; ++p)
        for (std::size_t i = 0; i < 4; ++i)
          values.push_back(x[order.epoch(0)[static_cast<std::size_t>(p)] * 8 + channel * 4 + i]);
      double task_mean = 0, task_variance = 0;
      for (const double value : values) task_mean += value / static_cast<double>(values.size());
      for (const double value : values)
        task_variance +=
            (value - task_mean) * (value - task_mean) / static_cast<double>(values.size() - 1);
      const double share = static_cast<double>(values.size()) / 24;
      mean += share * task_mean;
      variance += share * task_variance;
    }
    const double old_mean = channel == 0 ? 0.25 : 0, old_variance = channel == 0 ? 1 : 2;
    EXPECT_NEAR(one.at("mean")[channel], 0.9 * old_mean + 0.1 * mean, 1e-6);
    EXPECT_NEAR(one.at("var")[channel], 0.9 * old_variance + 0.1 * variance, 2e-6);
  }
  EXPECT_EQ(after_a_step(model, {1, 1}, 4, {}), one);
}

}  // namespace
}  // namespace ddl
