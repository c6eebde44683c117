// Texts about a finished run.
#pragma once

#include "ddl/artifact/run.h"

#include <map>
#include <string>

namespace ddl {

// For stderr: predicted beside measured per worker. "compute" is a worker's own time before the
// collective; "waiting" is its time in the collective, the transfer included.
std::string report_text(const RunRecord& record);

// For stdout: one line per metric of the test split ("test accuracy: 0.9639"), of the validation
// split when there is no test split, then "parameters_hash HEX".
std::string result_text(const RunRecord& record);

// The same as one JSON object: {"metrics": {…}, "parameters_hash": …, "steps": …}.
std::string result_json(const RunRecord& record);

// Metrics alone, as in result_text and result_json (for --eval).
std::string metrics_text(const std::map<std::string, double>& metrics);
std::string metrics_json(const std::map<std::string, double>& metrics);

std::string metric_text(double value);  // four places

}  // namespace ddl
