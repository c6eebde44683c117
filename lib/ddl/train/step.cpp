#include "ddl/train/step.h"

#include "ddl/base/checksum.h"
#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/train/task_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace ddl {
namespace {

constexpr std::size_t kBlockElements = 16 * 4096;  // of one thread's share of an update
constexpr std::size_t kLossOutput = 0, kFirstGradient = 2;

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

}  // namespace

// What the lanes of one step add up, besides tensors.
struct StepRunner::Totals {
  std::mutex mutex;
  FixedSum loss, weight;
  std::int64_t samples = 0, tasks = 0;
  double input_seconds = 0;
};

StepRunner::StepRunner(Communicator& communicator, StepParts parts, Weights& weights,
                       const TrainingRecipe& recipe)
    : communicator_(communicator),
      parts_(std::move(parts)),
      weights_(weights),
      steps_per_epoch_(
          ddl::steps_per_epoch(parts_.order.samples(), parts_.plan.numerics.global_batch)),
      executors_(parts_.build, parts_.reader.inputs(), parts_.executor, parts_.lanes),
      pool_(parts_.lanes) {
  const StepTasks first = tasks_of(0);
  const TrainingGraph& training = executors_.compiled(first.first[1] - first.first[0]).training;
  parameters_ = training.parameters;
  statistics_ = training.statistics;
  std::vector<std::size_t> sizes;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const std::size_t elements = weights_.values(parameters_[p]).size();
    parameter_names_.push_back(training.graph.tensor(parameters_[p]).name);
    sizes.push_back(elements);
    for (std::size_t at = 0; at < elements; at += kBlockElements)
      blocks_.push_back({p, at, std::min(kBlockElements, elements - at)});
  }
  optimizer_ = std::make_unique<Optimizer>(recipe, sizes);
  for (const auto& statistic : statistics_) {
    statistic_names_.push_back(training.graph.tensor(statistic.buffer).name);
    sizes.push_back(weights_.values(statistic.buffer).size());
  }
  const std::string& reduction = parts_.plan.numerics.reduction;
  if (reduction == "exact") {
    exact_ = std::make_unique<ExactAccumulator>(sizes, parts_.plan.numerics.tasks_per_step());
  } else if (reduction == "fast") {
    fast_ = std::make_unique<FastAccumulator>(sizes);
  } else {
    throw bad_input("unknown reduction '" + reduction + "'", "use exact or fast")
        .with_pointer("/numerics/reduction");
  }
  stream_ = std::make_unique<BatchStream>(parts_.reader, 2 * parts_.lanes);
}

StepRunner::~StepRunner() = default;

StepTasks StepRunner::tasks_of(std::int64_t step) const {
  const Numerics& numerics = parts_.plan.numerics;
  return step_tasks(parts_.order.samples(), numerics.global_batch, numerics.task_samples,
                    step % steps_per_epoch_);
}

TaskSpec StepRunner::task(std::int64_t step, const StepTasks& cut, std::int64_t number) const {
  const std::vector<std::uint32_t>& epoch = parts_.order.epoch(step / steps_per_epoch_);
  const auto at = [&](std::int64_t t) {
    return epoch.begin() + cut.first[static_cast<std::size_t>(t)];
  };
  return {number, {at(number), at(number + 1)}};
}

std::vector<TaskSpec> StepRunner::my_tasks(std::int64_t step) const {
  const StepTasks cut = tasks_of(step);
  const TaskRange range =
      scaled_range(parts_.plan.workers.at(static_cast<std::size_t>(communicator_.rank())).tasks,
                   parts_.plan.numerics.tasks_per_step(), cut.tasks());
  std::vector<TaskSpec> out;
  for (std::int64_t t = range.first; t < range.first + range.count; ++t)
    if (!(t == 0 && step == parts_.faults.skip_task_of_step)) out.push_back(task(step, cut, t));
  return out;
}

void StepRunner::announce(std::int64_t step) {
  if (step <= announced_ || step >= parts_.schedule.total_steps()) return;
  stream_->announce(step, my_tasks(step));
  announced_ = step;
}

std::string StepRunner::first_look(bool set_exponents) {
  const StepTasks cut = tasks_of(0);
  const TaskSpec first = task(0, cut, 0);
  Batch batch;
  parts_.reader.read(first.sample_ids, batch);
  executors_.prepared(static_cast<std::int64_t>(first.sample_ids.size()), weights_);
  std::map<std::size_t, std::string> hashes;  // outputs may come in any order
  const TaskKey key{parts_.plan.numerics.seed, 0, first.sample_ids};
  executors_.run(batch, 0, key, [&](std::size_t output, std::span<const float> values) {
    hashes[output] = xxh3_128_hex(std::as_bytes(values));
    if (output < kFirstGradient || !set_exponents || !exact_ || !all_finite(values)) return;
    const auto tensor = static_cast<int>(output - kFirstGradient);
    if (output - kFirstGradient < parameters_.size()) {
      exact_->observe_exponents(tensor, values);
      return;
    }
    std::vector<float> scaled(values.begin(), values.end());
    for (float& value : scaled) value *= static_cast<float>(first.sample_ids.size());
    exact_->observe_exponents(tensor, scaled);
  });
  Xxh128 all;
  for (const auto& [output, hash] : hashes) all.update(hash);
  return all.hex();
}

void StepRunner::fold(int tensor, std::span<const float> values) {
  if (exact_) {
    exact_->add(tensor, values);
  } else {
    fast_->add(tensor, values);
  }
}

void StepRunner::add_statistic(std::size_t statistic, std::int64_t samples,
                               std::span<const float> values) {
  const auto& kept = statistics_[statistic];
  double factor = static_cast<double>(samples);
  if (kept.is_variance) {
    const auto count = static_cast<double>(samples * kept.values_per_sample);
    if (count < 2) return;
    factor *= count / (count - 1);
  }
  std::vector<float> scaled(values.size());
  const auto scale = static_cast<float>(factor);
  std::transform(values.begin(), values.end(), scaled.begin(),
                 [scale](float value) { return value * scale; });
  fold(static_cast<int>(parameters_.size() + statistic), scaled);
}

void StepRunner::run_task(const LoadedTask& loaded, std::int64_t step, int lane, Totals& totals) {
  const Batch& batch = loaded.batch;
  const auto samples = static_cast<std::int64_t>(batch.sample_ids.size());
  FixedSum loss;
  const TaskKey key{parts_.plan.numerics.seed, static_cast<std::uint64_t>(step), batch.sample_ids};
  const TrainFaults& faults = parts_.faults;
  const bool poisoned = loaded.spec.number == 0 && faults.poison_step >= 0 &&
                        step >= faults.poison_step &&
                        step < faults.poison_step + faults.poison_count;
  executors_.run(batch, lane, key, [&](std::size_t output, std::span<const float> values) {
    if (output == kLossOutput) {
      for (const float value : values) loss.add(static_cast<double>(value));
    } else if (output >= kFirstGradient) {
      const std::size_t tensor = output - kFirstGradient;
      if (tensor >= parameters_.size()) {
        add_statistic(tensor - parameters_.size(), samples, values);
      } else if (poisoned && tensor == 0) {
        std::vector<float> damaged(values.begin(), values.end());
        damaged[0] = std::numeric_limits<float>::quiet_NaN();
        fold(0, damaged);
      } else {
        fold(static_cast<int>(tensor), values);
      }
    }
  });
  const std::lock_guard lock(totals.mutex);
  totals.loss.add(loss);
  totals.weight.add(batch.total_weight);
  totals.samples += samples;
  ++totals.tasks;
}

StepResult StepRunner::run(std::int64_t step, bool stop_wanted) {
  StepResult result;
  result.learning_rate = parts_.schedule.learning_rate(step);
  Stopwatch watch;
  announce(step);
  announce(step + 1);
  std::set<std::int64_t> sizes;
  const StepTasks cut = tasks_of(step);
  const TaskRange range =
      scaled_range(parts_.plan.workers.at(static_cast<std::size_t>(communicator_.rank())).tasks,
                   parts_.plan.numerics.tasks_per_step(), cut.tasks());
  for (std::int64_t t = range.first; t < range.first + range.count; ++t)
    sizes.insert(cut.first[static_cast<std::size_t>(t) + 1] -
                 cut.first[static_cast<std::size_t>(t)]);
  for (const std::int64_t size : sizes) executors_.prepared(size, weights_);

  if (exact_) exact_->begin_step();
  if (fast_) fast_->begin_step();
  Totals totals;
  pool_.parallel_for(static_cast<std::size_t>(parts_.lanes), [&](std::size_t lane) {
    double input_seconds = 0;
    while (std::unique_ptr<LoadedTask> loaded = stream_->take(step, input_seconds)) {
      run_task(*loaded, step, static_cast<int>(lane), totals);
      stream_->recycle(std::move(loaded));
    }
    const std::lock_guard lock(totals.mutex);
    totals.input_seconds += input_seconds;
  });
  result.compute_seconds = watch.seconds();
  result.input_seconds = totals.input_seconds / parts_.lanes;
  result.my_tasks = totals.tasks;
  result.my_samples = totals.samples;

  watch.restart();
  const ExactStep reduced = exact_ ? exact_->reduce(communicator_) : fast_->reduce(communicator_);
  std::int64_t words[] = {totals.loss.word(),   totals.loss.bad() ? 1 : 0,
                          totals.weight.word(), totals.weight.bad() ? 1 : 0,
                          totals.samples,       stop_wanted ? 1 : 0};
  communicator_.all_reduce(std::span<std::int64_t>(words), ReduceOp::sum);
  result.communication_seconds = watch.seconds();

  watch.restart();
  const FixedSum loss = FixedSum::from_word(words[0], words[1] != 0);
  const FixedSum weight = FixedSum::from_word(words[2], words[3] != 0);
  result.samples = words[4];
  result.stop = words[5] != 0;
  result.bad_tensor = reduced.bad ? reduced.bad_tensor : -1;
  result.skipped = reduced.bad || loss.bad() || weight.bad() || weight.value() <= 0;
  result.weight = weight.bad() ? 0 : weight.value();
  result.loss = loss.bad() || weight.value() <= 0 ? std::numeric_limits<double>::quiet_NaN()
                                                  : loss.value() / weight.value();
  if (!result.skipped) update(step, weight.value(), result.learning_rate);
  result.update_seconds = watch.seconds();
  return result;
}

void StepRunner::update(std::int64_t step, double total_weight, float learning_rate) {
  const double scale = 1.0 / total_weight;
  optimizer_->begin_update();
  pool_.parallel_for(blocks_.size(), [&](std::size_t b) {
    const Block& block = blocks_[b];
    std::vector<float> gradient(block.count);
    const auto tensor = static_cast<int>(block.parameter);
    if (exact_) {
      exact_->read_range(tensor, block.first, scale, gradient);
    } else {
      fast_->read_range(tensor, block.first, scale, gradient);
    }
    optimizer_->update(
        block.parameter, block.first, learning_rate, gradient,
        weights_.values(parameters_[block.parameter]).subspan(block.first, block.count));
  });
  update_statistics(step);
  weights_.changed();
}

void StepRunner::update_statistics(std::int64_t step) {
  const StepTasks cut = tasks_of(step);
  for (std::size_t s = 0; s < statistics_.size(); ++s) {
    const auto& kept = statistics_[s];
    std::int64_t samples = 0;
    for (std::int64_t t = 0; t < cut.tasks(); ++t) {
      const std::int64_t size =
          cut.first[static_cast<std::size_t>(t) + 1] - cut.first[static_cast<std::size_t>(t)];
      if (!kept.is_variance || size * kept.values_per_sample > 1) samples += size;
    }
    if (samples == 0) continue;
    const std::span<float> running = weights_.values(kept.buffer);
    std::vector<float> mean(running.size());
    const auto tensor = static_cast<int>(parameters_.size() + s);
    const double scale = 1.0 / static_cast<double>(samples);
    if (exact_) {
      exact_->read_range(tensor, 0, scale, mean);
    } else {
      fast_->read_range(tensor, 0, scale, mean);
    }
    for (std::size_t i = 0; i < running.size(); ++i)
      running[i] = static_cast<float>((1.0 - kept.momentum) * static_cast<double>(running[i]) +
                                      kept.momentum * static_cast<double>(mean[i]));
  }
}

std::string StepRunner::diagnose(std::int64_t step) {
  std::set<std::int64_t> bad_samples;
  Batch batch;
  for (const TaskSpec& spec : my_tasks(step)) {
    parts_.reader.read(spec.sample_ids, batch);
    executors_.prepared(static_cast<std::int64_t>(spec.sample_ids.size()), weights_);
    const auto rows = static_cast<std::size_t>(parts_.reader.rows_per_sample());
    bool bad_gradient = false;
    std::set<std::int64_t> bad_rows;
    const TaskKey key{parts_.plan.numerics.seed, static_cast<std::uint64_t>(step), spec.sample_ids};
    executors_.run(batch, 0, key, [&](std::size_t output, std::span<const float> values) {
      if (output == kLossOutput) {
        for (std::size_t row = 0; row < values.size(); ++row)
          if (!std::isfinite(values[row])) bad_rows.insert(spec.sample_ids[row / rows]);
      } else if (output >= kFirstGradient && !all_finite(values)) {
        bad_gradient = true;
      }
    });
    // A loss that is not finite names its sample; otherwise the whole task is under suspicion.
    if (bad_gradient && bad_rows.empty())
      bad_rows.insert(spec.sample_ids.begin(), spec.sample_ids.end());
    bad_samples.merge(bad_rows);
  }
  std::string mine;
  for (const std::int64_t sample : bad_samples) mine += std::to_string(sample) + " ";
  std::vector<std::string> named;
  for (const std::string& text : communicator_.all_gather_text(mine)) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find(' ', begin);
      named.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (named.empty()) return "no single sample gives a value that is not finite";
  std::string out = named.size() == 1 ? "sample " : "samples ";
  constexpr std::size_t kMostNamed = 8;
  for (std::size_t i = 0; i < std::min(named.size(), kMostNamed); ++i)
    out += (i == 0 ? "" : ", ") + named[i];
  if (named.size() > kMostNamed)
    out += " and " + std::to_string(named.size() - kMostNamed) + " more";
  return out + " of split train";
}

std::string StepRunner::tensor_name(int tensor) const {
  const auto index = static_cast<std::size_t>(tensor);
  if (tensor < 0) return "the loss";
  if (index < parameter_names_.size()) return "the gradient of '" + parameter_names_[index] + "'";
  return "the statistic '" + statistic_names_.at(index - parameter_names_.size()) + "'";
}

ExactExponents StepRunner::exponents() const {
  return exact_ ? exact_->exponents() : ExactExponents{};
}

void StepRunner::set_exponents(const ExactExponents& exponents) {
  if (exact_) exact_->set_exponents(exponents);
}

std::size_t StepRunner::accumulator_bytes() const {
  if (exact_) return exact_->bytes();
  std::size_t elements = 0;
  for (const Block& block : blocks_) elements += block.count;
  return elements * sizeof(float);
}

std::size_t StepRunner::lane_bytes() {
  const StepTasks cut = tasks_of(0);
  return executors_.compiled(cut.first[1] - cut.first[0]).executor->statistics().lane_bytes;
}

}  // namespace ddl
