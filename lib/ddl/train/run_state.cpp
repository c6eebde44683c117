// Checkpoints of a run: what goes in, and how it comes back on every worker.
#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/train/agreement.h"
#include "ddl/train/training_run.h"

#include <algorithm>
#include <cstring>

namespace ddl {
namespace {

// Adds "key: found instead of wanted" for a setting that changed.
template <typename T>
void compare(const char* key, const T& saved, const T& now, std::vector<std::string>& changed) {
  if (!(saved == now)) changed.emplace_back(key);
}

std::vector<std::string> changed_settings(const CheckpointRecord& saved, const Numerics& numerics,
                                          const TrainingRecipe& recipe) {
  std::vector<std::string> out;
  const Numerics& n = saved.numerics;
  compare("global batch", n.global_batch, numerics.global_batch, out);
  compare("task size", n.task_samples, numerics.task_samples, out);
  compare("threads per task", n.threads_per_task, numerics.threads_per_task, out);
  compare("dtype", n.dtype, numerics.dtype, out);
  compare("reduction", n.reduction, numerics.reduction, out);
  compare("codec", n.codec, numerics.codec, out);
  compare("order", n.order, numerics.order, out);
  compare("seed", n.seed, numerics.seed, out);
  compare("isa", n.isa, numerics.isa, out);
  compare("library versions", n.libraries, numerics.libraries, out);
  compare("kernels", n.kernels, numerics.kernels, out);
  const TrainingRecipe& r = saved.recipe;
  compare("--optimizer", r.optimizer, recipe.optimizer, out);
  compare("--learning-rate", r.learning_rate, recipe.learning_rate, out);
  compare("--momentum", r.momentum, recipe.momentum, out);
  compare("--beta1", r.beta1, recipe.beta1, out);
  compare("--beta2", r.beta2, recipe.beta2, out);
  compare("--epsilon", r.epsilon, recipe.epsilon, out);
  compare("--weight-decay", r.weight_decay, recipe.weight_decay, out);
  compare("--schedule", r.schedule, recipe.schedule, out);
  compare("--warmup", r.warmup, recipe.warmup, out);
  compare("--length", r.length, recipe.length, out);
  compare("--final-learning-rate", r.final_learning_rate, recipe.final_learning_rate, out);
  compare("--class-weights", r.class_weights, recipe.class_weights, out);
  compare("--init", r.init, recipe.init, out);
  return out;
}

void copy_array(const std::map<std::string, StoredArray>& arrays, const std::string& name,
                std::span<std::byte> out) {
  const auto found = arrays.find(name);
  if (found == arrays.end() || found->second.bytes.size() != out.size())
    throw bad_input(
        "the checkpoint holds no '" + name + "' of " + std::to_string(out.size()) + " bytes",
        "it is of another model or optimizer; resume with the run's own plan");
  if (!out.empty()) std::memcpy(out.data(), found->second.bytes.data(), out.size());
}

}  // namespace

std::vector<NamedArray> TrainingRun::state_arrays() {
  std::vector<NamedArray> arrays;
  for (const Weight& weight : weights_->all())
    arrays.push_back({"model/" + weight.name, weight.value->dtype, weight.value->shape,
                      std::span<const std::byte>(weight.value->bytes)});
  const std::vector<std::string>& names = runner_->parameter_names();
  for (auto& [what, values] : runner_->optimizer().state())
    for (std::size_t p = 0; p < values->size(); ++p)
      arrays.push_back({"optimizer/" + what + "/" + names[p],
                        DType::f32,
                        {static_cast<std::int64_t>((*values)[p].size())},
                        std::as_bytes(std::span((*values)[p]))});
  return arrays;
}

CheckpointRecord TrainingRun::record_now() const {
  CheckpointRecord out;
  out.step = step_;
  out.epoch = step_ / setup_.steps_per_epoch;
  out.step_in_epoch = step_ % setup_.steps_per_epoch;
  out.optimizer_updates = runner_->optimizer().updates();
  out.skipped_steps = skipped_steps_;
  out.skipped_in_a_row = skipped_in_a_row_;
  out.numerics = record_.numerics;
  out.recipe = record_.recipe;
  out.exponents = runner_->exponents().exponents;
  out.best = best_;
  out.dataset_hash = setup_.dataset->hash();
  out.model_hash = setup_.model->structure_hash();
  out.numeric_class = record_.numeric_class;
  out.resumed_at = record_.resumed_at;
  out.epoch_loss = epoch_loss_;
  out.epoch_weight = epoch_weight_;
  return out;
}

std::string TrainingRun::agreed_hash() {
  const std::string mine = weights_->hash();
  const std::vector<std::string> all = communicator_.all_gather_text(mine);
  agree(communicator_, [&] {
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      if (all[rank] != all[0])
        throw failure("worker " + std::to_string(rank) +
                          " holds other parameters than worker 0 "
                          "after step " +
                          std::to_string(step_),
                      "resume from an older checkpoint and check that worker's memory");
  });
  return mine;
}

void TrainingRun::save() {
  CheckpointRecord head = record_now();
  head.parameters_hash = agreed_hash();
  agree(communicator_, [&] {
    if (communicator_.rank() != 0) return;
    save_checkpoint(folder_->checkpoints(), head, state_arrays());
    std::vector<std::int64_t> kept;
    if (best_.step >= 0) kept.push_back(best_.step);
    prune_checkpoints(folder_->checkpoints(), options_.keep_checkpoints, kept);
  });
  saved_step_ = step_;
}

void TrainingRun::send_checkpoint(Checkpoint& checkpoint) {
  const bool mine = communicator_.rank() == 0;
  const std::string text = communicator_.broadcast_text(
      mine ? checkpoint_record_text(checkpoint.record) : std::string(), 0);
  checkpoint.record = parse_checkpoint_record(text, options_.output);
  const std::int64_t bytes =
      communicator_.all_reduce(static_cast<std::int64_t>(checkpoint.state.size()), ReduceOp::max);
  checkpoint.state.resize(static_cast<std::size_t>(bytes));
  communicator_.broadcast(std::span<std::byte>(checkpoint.state), 0);
}

void TrainingRun::restore_weights(const Checkpoint& checkpoint) {
  const auto arrays = parse_safetensors(checkpoint.state, options_.output);
  for (const Weight& weight : weights_->all())
    copy_array(arrays, "model/" + weight.name, weight.value->bytes);
  weights_->changed();
}

void TrainingRun::restore_optimizer(const Checkpoint& checkpoint) {
  const auto arrays = parse_safetensors(checkpoint.state, options_.output);
  const std::vector<std::string>& names = runner_->parameter_names();
  for (auto& [what, values] : runner_->optimizer().state())
    for (std::size_t p = 0; p < values->size(); ++p)
      copy_array(arrays, "optimizer/" + what + "/" + names[p],
                 std::as_writable_bytes(std::span((*values)[p])));
  runner_->optimizer().set_updates(checkpoint.record.optimizer_updates);
}

void TrainingRun::require_same_course(const CheckpointRecord& head) {
  if (head.dataset_hash != setup_.dataset->hash())
    throw bad_input("the run was made with another data set (hash " + head.dataset_hash + ")",
                    "resume with the run's own plan");
  if (head.model_hash != setup_.model->structure_hash())
    throw bad_input("the run was made with another model (hash " + head.model_hash + ")",
                    "resume with the run's own plan");
  const std::vector<std::string> changed = changed_settings(head, record_.numerics, record_.recipe);
  std::string list;
  for (const std::string& key : changed) list += (list.empty() ? "" : ", ") + key;
  if (!changed.empty() && !options_.change_numerics)
    throw bad_input("resuming would change " + list,
                    "give the run's own options, or --change-numerics to go on with other ones");
  if (!changed.empty())
    record_.deviations.push_back("changed at step " + std::to_string(head.step) + ": " + list +
                                 " (--change-numerics)");
  if (head.numeric_class != record_.numeric_class)
    record_.deviations.push_back("numeric class " + record_.numeric_class + " from step " +
                                 std::to_string(head.step) + " on, " + head.numeric_class +
                                 " before");
}

void TrainingRun::resume() {
  Checkpoint checkpoint;
  std::int64_t found = 0;
  agree(communicator_, [&] {
    if (communicator_.rank() != 0) return;
    std::vector<std::string> skipped;
    auto newest = newest_checkpoint(folder_->checkpoints(), skipped);
    for (const std::string& line : skipped) log_warning(line);
    if (newest) {
      checkpoint = std::move(*newest);
      found = 1;
    } else if (!skipped.empty()) {
      throw bad_input("holds no whole checkpoint to resume from", "--force begins the run afresh")
          .with_file(folder_->checkpoints().string());
    }
  });
  if (communicator_.all_reduce(found, ReduceOp::max) == 0) {
    say("--resume: the run has no checkpoint yet, so it begins at step 0");
    check_numeric_class(true);
    return;
  }
  send_checkpoint(checkpoint);
  agree(communicator_, [&] {
    const CheckpointRecord& head = checkpoint.record;
    require_same_course(head);
    restore_weights(checkpoint);
    restore_optimizer(checkpoint);
    step_ = saved_step_ = head.step;
    skipped_steps_ = head.skipped_steps;
    skipped_in_a_row_ = head.skipped_in_a_row;
    epoch_loss_ = head.epoch_loss;
    epoch_weight_ = head.epoch_weight;
    best_ = head.best;
    record_.resumed_at = head.resumed_at;
    record_.resumed_at.push_back(head.step);
  });
  const std::string hash = agreed_hash();
  agree(communicator_, [&] {
    if (hash != checkpoint.record.parameters_hash)
      throw failure("the parameters read from the checkpoint have another hash than its record");
  });
  check_numeric_class(false);
  if (!checkpoint.record.exponents.empty()) runner_->set_exponents({checkpoint.record.exponents});
  say("resumed at step " + std::to_string(step_));
}

void TrainingRun::use_best_weights() {
  Checkpoint checkpoint;
  agree(communicator_, [&] {
    if (communicator_.rank() == 0)
      checkpoint = load_checkpoint(folder_->checkpoints() / checkpoint_name(best_.step));
  });
  send_checkpoint(checkpoint);
  agree(communicator_, [&] { restore_weights(checkpoint); });
}

}  // namespace ddl
