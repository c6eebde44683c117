#include "ddl/train/training_run.h"

#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/base/threads.h"
#include "ddl/base/units.h"
#include "ddl/train/agreement.h"
#include "ddl/train/processors.h"

#include <algorithm>
#include <set>

namespace ddl {

TrainingRun::TrainingRun(Communicator& communicator, const TrainOptions& options)
    : communicator_(communicator), options_(options) {
  std::string how;
  agree(communicator_, [&] {
    setup_ = prepare_training(options_, communicator_.size());
    Numerics& numerics = setup_.plan.numerics;
    numerics.libraries = compute_library_versions();
    checkpoint_every_ = duration_steps(options_.checkpoint_every, setup_.steps_per_epoch);
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    lanes_ = choose_lanes(setup_.plan.workers[rank].lanes, communicator_.local_size(), &how);
  });
  for (const std::string& remark : setup_.remarks) say(remark);

  agree(communicator_, [&] {
    weights_ = std::make_unique<Weights>(*setup_.model);
    if (setup_.initial)
      for (const std::string& remark : weights_->take_from(*setup_.initial))
        say("--init: " + remark);
    const Numerics& numerics = setup_.plan.numerics;
    reader_ = std::make_unique<BatchReader>(*setup_.dataset, "train");
    reader_->set_class_weights(setup_.recipe.class_weights);
    match_inputs(*setup_.model, reader_->inputs());
    order_ =
        std::make_unique<SampleOrder>(setup_.dataset->hash(), numerics.seed,
                                      setup_.dataset->manifest().samples("train"), numerics.order);
    ExecutorOptions executor;
    executor.threads = numerics.threads_per_task;
    executor.dtype = numerics.dtype == "bfloat16" ? DType::bf16 : DType::f32;
    executor.isa = numerics.isa;
    const Graph& model = *setup_.model;
    const LossKind loss = setup_.loss;
    runner_ = std::make_unique<StepRunner>(
        communicator_,
        StepParts{setup_.plan, *setup_.schedule, *order_, *reader_,
                  [model, loss](std::int64_t samples) {
                    return make_training_graph(model.with_batch(samples), loss);
                  },
                  executor, lanes_, options_.faults},
        *weights_, setup_.recipe);
    std::vector<TaskRange> shares;
    for (const PlannedWorker& worker : setup_.plan.workers) shares.push_back(worker.tasks);
    evaluator_ = std::make_unique<Evaluator>(communicator_, *setup_.dataset, model, loss, executor,
                                             lanes_, shares, numerics.tasks_per_step());
  });
  std::map<std::string, std::string> settings = shared_settings(setup_, options_);
  settings["initial weights"] = weights_->hash();
  for (const auto& [library, version] : setup_.plan.numerics.libraries)
    settings[library + " version"] = version;
  require_same_settings(communicator_, settings);

  const std::vector<std::string> lane_counts =
      communicator_.all_gather_text(std::to_string(lanes_) + " (" + how + ")");
  std::string lanes_text;
  for (const std::string& text : lane_counts) lanes_text += (lanes_text.empty() ? "" : ", ") + text;
  say("tasks side by side, per worker: " + lanes_text);
  warn_about_shared_cores();

  record_.ddl_version = ddl_version();
  record_.command = options_.command;
  record_.numerics = setup_.plan.numerics;
  record_.recipe = setup_.recipe;
  record_.plan = setup_.plan;
  record_.numeric_class = cpu_numeric_class(setup_.plan.numerics.isa);
  record_.deviations = setup_.deviations;
}

void TrainingRun::say(const std::string& text) const {
  if (communicator_.rank() == 0) log_info(text);
}

void TrainingRun::warn_about_shared_cores() {
  const std::vector<int> mine = allowed_processors();
  std::string text = communicator_.host() + ":" + std::to_string(lanes_) + ":";
  for (const int processor : mine) text += std::to_string(processor) + ",";
  for (const std::string& warning : shared_processor_warnings(communicator_.all_gather_text(text)))
    if (communicator_.rank() == 0) log_warning(warning);
}

std::uint64_t TrainingRun::checkpoint_bytes() const {
  std::uint64_t parameters = 0;
  for (const Weight& weight : weights_->all())
    if (weight.is_parameter) parameters += weight.value->bytes.size() / sizeof(float);
  return weights_->bytes() + parameters * Optimizer::state_bytes_per_element(setup_.recipe) + 4096;
}

void TrainingRun::open_folder() {
  // The newest checkpoints, one more while it is written, the best one, and the model.
  const auto copies = static_cast<std::uint64_t>(std::max(1, options_.keep_checkpoints)) + 2;
  const std::uint64_t needed = copies * checkpoint_bytes() + 2 * weights_->bytes();
  agree(communicator_, [&] {
    if (communicator_.rank() == 0)
      folder_ =
          std::make_unique<RunFolder>(options_.output, options_.resume, options_.force, needed);
  });
}

void TrainingRun::check_numeric_class(bool set_exponents) {
  std::string mine;
  agree(communicator_, [&] { mine = runner_->first_look(set_exponents); });
  const std::vector<std::string> all = communicator_.all_gather_text(mine);
  agree(communicator_, [&] {
    std::map<std::string, std::string> ranks_by_hash;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      std::string& ranks = ranks_by_hash[all[rank]];
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (ranks_by_hash.size() == 1) return;
    std::string groups;
    for (const auto& [hash, ranks] : ranks_by_hash) groups += (groups.empty() ? "" : " | ") + ranks;
    throw bad_input("the workers do not compute task 0 to the same bits: workers " + groups,
                    "use workers of one kind, or plan with --isa avx2 to widen the class");
  });
  record_.task0_hash = mine;
  say("numeric class " + record_.numeric_class + ": all " + std::to_string(communicator_.size()) +
      " workers compute task 0 to the same bits (" + mine + ")");
}

std::string TrainingRun::preview() {
  const Plan& plan = setup_.plan;
  const Numerics& numerics = plan.numerics;
  const DatasetManifest& manifest = setup_.dataset->manifest();
  std::string out;
  out += "model       " + plan.model + ", " +
         format_count(static_cast<double>(setup_.model->parameter_count())) + " parameters\n";
  out += "data        " + std::to_string(manifest.samples("train")) + " train, " +
         std::to_string(manifest.samples("val")) + " val, " +
         std::to_string(manifest.samples("test")) + " test samples\n";
  out += "step        " + std::to_string(numerics.global_batch) + " samples in " +
         std::to_string(numerics.tasks_per_step()) + " tasks of " +
         std::to_string(numerics.task_samples) + "\n";
  out += "steps       " + std::to_string(setup_.steps_per_epoch) + " an epoch, " +
         std::to_string(setup_.schedule->total_steps()) + " in all\n";
  out += "schedule    " + setup_.schedule->text() + "\n";
  const std::vector<std::string> lanes = communicator_.all_gather_text(std::to_string(lanes_));
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    const PlannedWorker& worker = plan.workers[i];
    out += "worker " + std::to_string(i) + "    " + std::to_string(worker.tasks.count) +
           " tasks a step, " + lanes[i] + " side by side\n";
  }
  const std::uint64_t accumulator = runner_->accumulator_bytes();
  const std::uint64_t activations = runner_->lane_bytes() * static_cast<std::uint64_t>(lanes_);
  const std::uint64_t optimizer = runner_->optimizer().bytes();
  out += "memory      " +
         format_bytes(2 * weights_->bytes() + accumulator + activations + optimizer) +
         " a worker: weights " + format_bytes(2 * weights_->bytes()) + ", optimizer " +
         format_bytes(optimizer) + ", accumulator " + format_bytes(accumulator) + ", activations " +
         format_bytes(activations) + "\n";
  if (plan.predicted.step_seconds > 0)
    out += "predicted   " + format_seconds(plan.predicted.step_seconds) + " a step, " +
           format_seconds(plan.predicted.step_seconds *
                          static_cast<double>(setup_.schedule->total_steps())) +
           " in all\n";
  out += "checkpoint  " + format_bytes(checkpoint_bytes()) + ", every " +
         options_.checkpoint_every + "\n";
  return out;
}

}  // namespace ddl
