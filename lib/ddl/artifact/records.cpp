#include "ddl/artifact/records.h"

#include "ddl/base/units.h"

namespace ddl::artifact {

Json numerics_json(const Numerics& numerics) {
  Json out = {{"global_batch", numerics.global_batch},
              {"task_samples", numerics.task_samples},
              {"threads_per_task", numerics.threads_per_task},
              {"dtype", numerics.dtype},
              {"reduction", numerics.reduction},
              {"codec", numerics.codec},
              {"order", numerics.order},
              {"seed", numerics.seed},
              {"isa", numerics.isa}};
  out["libraries"] = numerics.libraries;
  out["kernels"] = numerics.kernels;
  return out;
}

Numerics read_numerics(const Json& json, const std::filesystem::path& file,
                       const std::string& pointer) {
  Numerics out;
  read(json, "global_batch", out.global_batch);
  read(json, "task_samples", out.task_samples);
  read(json, "threads_per_task", out.threads_per_task);
  read(json, "dtype", out.dtype);
  read(json, "reduction", out.reduction);
  read(json, "codec", out.codec);
  read(json, "order", out.order);
  read(json, "seed", out.seed);
  read(json, "isa", out.isa);
  read(json, "libraries", out.libraries);
  read(json, "kernels", out.kernels);
  if (out.task_samples > out.global_batch)
    refuse(file, pointer + "/task_samples",
           "found " + std::to_string(out.task_samples) + ", expected at most the global batch of " +
               std::to_string(out.global_batch));
  return out;
}

Json recipe_json(const TrainingRecipe& recipe) {
  return {{"optimizer", recipe.optimizer},
          {"learning_rate", recipe.learning_rate},
          {"momentum", recipe.momentum},
          {"beta1", recipe.beta1},
          {"beta2", recipe.beta2},
          {"epsilon", recipe.epsilon},
          {"weight_decay", recipe.weight_decay},
          {"schedule", recipe.schedule},
          {"warmup", recipe.warmup},
          {"length", recipe.length},
          {"final_learning_rate", recipe.final_learning_rate},
          {"class_weights", recipe.class_weights},
          {"init", recipe.init}};
}

TrainingRecipe read_recipe(const Json& json, const std::filesystem::path& file,
                           const std::string& pointer) {
  TrainingRecipe out;
  read(json, "optimizer", out.optimizer);
  read(json, "learning_rate", out.learning_rate);
  read(json, "momentum", out.momentum);
  read(json, "beta1", out.beta1);
  read(json, "beta2", out.beta2);
  read(json, "epsilon", out.epsilon);
  read(json, "weight_decay", out.weight_decay);
  read(json, "schedule", out.schedule);
  read(json, "warmup", out.warmup);
  read(json, "length", out.length);
  read(json, "final_learning_rate", out.final_learning_rate);
  read(json, "class_weights", out.class_weights);
  read(json, "init", out.init);
  const auto duration = [&](const char* key, const std::string& text) {
    try {
      parse_duration(text);
    } catch (const Error& error) {
      refuse(file, pointer + "/" + key, error.reason(), error.remedy());
    }
  };
  duration("warmup", out.warmup);
  duration("length", out.length);
  return out;
}

}  // namespace ddl::artifact
