// From a plan file to what a run needs: data, model, loss, schedule, checked against one another
// before any work begins. Local: reads files, talks to no other worker.
// Errors: bad_input naming the file and what to do.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/data/dataset.h"
#include "ddl/model/graph.h"
#include "ddl/model/onnx.h"
#include "ddl/model/training.h"
#include "ddl/train/schedule.h"
#include "ddl/train/trainer.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ddl {

struct TrainingSetup {
  Plan plan;              // dealt for this world, with the seed of the run
  TrainingRecipe recipe;  // class weights resolved
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Graph> model;    // batch 1, inference form, as planned (before --init)
  std::unique_ptr<Graph> initial;  // of --init, or none
  LossKind loss = LossKind::softmax_cross_entropy;
  std::unique_ptr<Schedule> schedule;
  std::int64_t steps_per_epoch = 0;
  std::string metric;  // that chooses the best model, e.g. "val accuracy"; "" when nothing does
  std::vector<std::string> remarks;     // for rank 0 to say
  std::vector<std::string> deviations;  // explicit options that give up a promise
};

TrainingSetup prepare_training(const TrainOptions& options, int world_size);

// The settings that all workers must share, by name.
std::map<std::string, std::string> shared_settings(const TrainingSetup& setup,
                                                   const TrainOptions& options);

ModelMetadata model_metadata(const DatasetManifest& manifest);

// Lanes for a worker: at most the planned ones and its share of the host's processors, but what
// OMP_NUM_THREADS says when it is set. `how` receives the reason in words.
int choose_lanes(int planned, int local_size, std::string* how);

// Hosts of the plan's workers in order of rank, and the path of its data set.
std::vector<std::string> planned_hosts(const std::filesystem::path& plan);
std::filesystem::path planned_dataset(const std::filesystem::path& plan);

// "1,4.5" -> weights; bad_input for one that is not a number of at least 0, or when all are 0.
std::vector<double> parse_class_weights(const std::string& text);

// ddl's version, as in "0.1.0".
std::string ddl_version();

}  // namespace ddl
