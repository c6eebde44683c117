// From stored fields to what a model's inputs take: float conversion and normalisation, token
// shift.
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/data/dataset.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ddl {

// One model input: name, dtype and shape of a sample.
struct BatchInput {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  // of one sample
};

// Host buffers of one task, reused between tasks: input i in values[i], rows packed.
struct Batch {
  std::vector<std::vector<std::byte>> values;  // parallel to BatchReader::inputs()
  std::vector<std::byte> labels;               // i64 class index / f32 targets / i64 next tokens
  std::vector<float> weights;            // one per row (per token for next-token); 1 by default
  std::vector<std::int64_t> sample_ids;  // one per sample
  double total_weight = 0;               // sum of weights
};

// Reads batches of a split. Thread-safe; buffers belong to the caller.
// Images and numerics become f32: (value - mean) * scale in fp32 with one rounding per operation;
// u8 images without statistics are divided by 255. Categories become i32 codes, tokens i32 [T] with
// labels i64 [T] shifted by one.
class BatchReader {
 public:
  BatchReader(const Dataset& dataset, std::string split);
  const std::vector<BatchInput>& inputs() const { return inputs_; }
  std::int64_t label_columns() const { return label_columns_; }  // targets per row; 1 for classes
  std::int64_t rows_per_sample() const { return rows_per_sample_; }  // T for next-token, else 1
  bool labels_are_classes() const;
  // Per-class sample weights, empty for none.
  void set_class_weights(std::vector<double> weights);
  void read(std::span<const std::int64_t> sample_ids, Batch& batch) const;

 private:
  const Dataset& dataset_;
  std::string split_;
  std::vector<BatchInput> inputs_;
  std::int64_t label_columns_ = 1, rows_per_sample_ = 1;
  std::vector<double> class_weights_;
};

}  // namespace ddl
