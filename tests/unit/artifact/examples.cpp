#include "unit/artifact/examples.h"

#include "ddl/artifact/document.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"

namespace ddl::examples {
namespace {

const std::string kHash = "00112233445566778899aabbccddeeff";
const std::string kOther = "ffeeddccbbaa99887766554433221100";

Measured measured(double median) {
  return {median, median * 0.9, median * 1.25, 7};
}

Numerics numerics() {
  Numerics n;
  n.global_batch = 50;
  n.task_samples = 8;
  n.threads_per_task = 2;
  n.dtype = "bfloat16";
  n.reduction = "fast";
  n.order = "none";
  n.seed = 18446744073709551615ULL;
  n.isa = "avx2";
  n.libraries = {{"oneDNN", "2.6.3"}};
  n.kernels = {{"Conv", "direct"}};
  return n;
}

TrainingRecipe recipe() {
  TrainingRecipe r;
  r.optimizer = "adamw";
  r.learning_rate = 0.001;
  r.momentum = 0.5;
  r.beta1 = 0.8;
  r.beta2 = 0.99;
  r.epsilon = 1e-6;
  r.weight_decay = 0.1;
  r.schedule = "cosine";
  r.warmup = "2ep";
  r.length = "300st";
  r.final_learning_rate = 1e-5;
  r.class_weights = {1, 2.5};
  r.init = "before/model.onnx";
  return r;
}

template <class Write>
std::string written(const std::filesystem::path& file, const Write& write) {
  write(file);
  return read_text(file);
}

}  // namespace

DatasetManifest dataset() {
  DatasetManifest d;
  d.name = "Beispiel „ä“";
  d.task = LearningTask::classification;
  d.fields = {
      {"x", FieldKind::image, DType::u8, {3, 4, 5}, {}, {}, {{0.5, 0.25, 0.125}, {2, 3, 4}}},
      {"n", FieldKind::numeric, DType::f32, {2}, {"age", "income"}, {}, {{1, 2}, {0.5, 1}}},
      {"c", FieldKind::category, DType::i32, {2}, {"colour", "size"}, {{"red", "blue"}, {"S"}}, {}},
      {"y", FieldKind::label, DType::i64, {}, {}, {}, {}},
      {"w", FieldKind::weight, DType::f32, {}, {}, {}, {}},
  };
  d.classes = {"cat", "dog"};
  d.splits = {{"train", 5, {3, 2}, kHash}, {"test", 0, {0, 0}, kOther}};
  d.shards = {{"train-00000.h5", "train", 3, 4096, kHash},
              {"train-00001.h5", "train", 2, 2048, kOther}};
  d.tokenizer = {"characters", {"a", "ß", "\n"}};
  d.source_format = "csv";
  d.sources = {"table.csv"};
  d.options = {{"label", "last"}};
  d.notes = {"column 3 is constant"};
  return d;
}

Cluster cluster() {
  Cluster c;
  c.nodes = {{"fast", "CPU A", 8, 3.5, 1ULL << 34, measured(1e10), measured(2e9), "direct"},
             {"slow", "CPU B", 4, 0.5, 1ULL << 33, measured(5e9), measured(1e8), "page cache"}};
  const ModelProfile model{"mlp", kHash, kOther, {{8, 1, measured(0.01)}, {8, 2, measured(0.011)}}};
  c.workers = {{0, 0, "cpu:1", "cpu avx512", 2, measured(1e11), measured(2e11), {model}},
               {1, 1, "cpu:2", "cpu avx2", 3, measured(5e10), measured(6e10), {model}}};
  c.link_classes = {{-1, -1, "node", measured(1e-6), measured(1e10)},
                    {-1, -1, "network", measured(1e-4), measured(1e8)}};
  c.link_exceptions = {{0, 1, "network", measured(1e-3), measured(1e7)}};
  c.allreduce_bytes_per_second = measured(3e8);
  c.profiled_seconds = 12.5;
  return c;
}

Plan plan() {
  Plan p;
  p.numerics = numerics();
  p.dataset = "../data";
  p.dataset_hash = kHash;
  p.model = "mlp";
  p.model_options = {{"hidden", "64,32"}};
  p.model_hash = kOther;
  p.parameters = 1234;
  p.train_samples = 1000;
  // 7 tasks; ranges need not stand in task order.
  p.workers = {{0, "fast", "cpu:1", 3, 800.5, 0.03, {3, 4}, 0.06},
               {1, "slow", "cpu:2", 2, 200.25, 0.08, {0, 3}, 0.16},
               {2, "idle", "cpu:3", 4, 1.5, 5.5, {0, 0}, 0.5}};
  p.predicted = {0.16, 0.01, 0.02, 0.03, 0.2, 4, 250, 0.75, 0.05, 1ULL << 20};
  p.alternatives = {{"task size 16", 0.25, "slower"}};
  p.notes = {"a note"};
  return p;
}

RunRecord run() {
  RunRecord r;
  r.ddl_version = "0.1.0";
  r.command = {"ddl-train", "--plan", "plan.json"};
  r.numerics = numerics();
  r.recipe = recipe();
  r.plan = plan();
  r.started = "2026-01-31T12:34:56Z";
  r.finished = "2026-01-31T12:44:56Z";
  r.numeric_class = "cpu avx2";
  r.task0_hash = kOther;
  r.steps = 100;
  r.epochs = 5;
  r.skipped_steps = 2;
  r.resumed_at = {20, 40};
  r.metrics = {{"test accuracy", 0.9375}, {"val loss", 1e-3}};
  r.predicted_step_seconds = 0.2;
  r.measured_step_seconds = 0.21;
  r.predicted_communication_seconds = 0.01;
  r.measured_communication_seconds = 0.02;
  r.workers = {{0, "fast", 3, 400, 3200, 0.06, 0.07, 0.001, 0.002},
               {1, "slow", 2, 300, 2400, 0.16, 0.17, 0.003, 0.004}};
  r.parameters_hash = kHash;
  r.status = "done";
  r.deviations = {"seed 2 instead of the plan's 1"};
  return r;
}

CheckpointRecord checkpoint() {
  CheckpointRecord c;
  c.step = 123;
  c.epoch = 4;
  c.step_in_epoch = 3;
  c.optimizer_updates = 120;
  c.skipped_steps = 3;
  c.skipped_in_a_row = 1;
  c.numerics = numerics();
  c.recipe = recipe();
  c.exponents = {-7, INT32_MIN, 12};
  c.dataset_hash = kHash;
  c.model_hash = kOther;
  c.parameters_hash = kHash;
  c.numeric_class = "cpu avx2";
  c.epoch_loss = 12.75;
  c.epoch_weight = 96;
  c.resumed_at = {50};
  c.best = {"val accuracy", 0.875, 100, 2};
  c.state_file = "state.safetensors";
  c.state_bytes = 4096;
  c.state_xxh3_128 = kOther;
  return c;
}

std::string text(std::string_view format, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / (std::string(format) + ".json");
  return written(file, [&](const std::filesystem::path& path) {
    if (format == "ddl-dataset") return write_dataset_manifest(dataset(), path);
    if (format == "ddl-cluster") return write_cluster(cluster(), path);
    if (format == "ddl-plan") return write_plan(plan(), path);
    if (format == "ddl-run") return write_run(run(), path);
    if (format == "ddl-checkpoint") return write_checkpoint_record(checkpoint(), path);
    throw bad_input("no example of " + std::string(format));
  });
}

std::string read_and_write(std::string_view format, const std::filesystem::path& file) {
  const std::filesystem::path copy = file.parent_path() / "copy.json";
  return written(copy, [&](const std::filesystem::path& path) {
    if (format == "ddl-dataset") return write_dataset_manifest(read_dataset_manifest(file), path);
    if (format == "ddl-cluster") return write_cluster(read_cluster(file), path);
    if (format == "ddl-plan") return write_plan(read_plan(file), path);
    if (format == "ddl-run") return write_run(read_run(file), path);
    if (format == "ddl-checkpoint")
      return write_checkpoint_record(read_checkpoint_record(file), path);
    throw bad_input("no reader of " + std::string(format));
  });
}

void read(std::string_view format, const std::filesystem::path& file) {
  if (format == "ddl-dataset") read_dataset_manifest(file);
  if (format == "ddl-cluster") read_cluster(file);
  if (format == "ddl-plan") read_plan(file);
  if (format == "ddl-run") read_run(file);
  if (format == "ddl-checkpoint") read_checkpoint_record(file);
}

}  // namespace ddl::examples
