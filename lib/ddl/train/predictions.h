// Predictions as CSV: one row per sample, class names as text, quoted where CSV needs it (RFC
// 4180).
//   classification  sample,label,predicted,probability
//   regression      sample,target,predicted          (target_0,… when there are several)
//   next-token      sample,loss,accuracy             (means over the sample's tokens)
//   multi-label     sample,target_0,…,probability_0,…
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/data/batch.h"
#include "ddl/model/training.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace ddl {

std::string prediction_header(LossKind loss, std::int64_t columns);

// Adds a row for every sample of the batch, by sample id.
void add_predictions(LossKind loss, const DatasetManifest& manifest, const Batch& batch,
                     std::span<const float> loss_rows, std::span<const float> logits,
                     std::map<std::int64_t, std::string>& rows);

}  // namespace ddl
