// What the tests of model share.
#pragma once

#include "ddl/base/error.h"
#include "ddl/base/random.h"
#include "ddl/model/graph.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/reference.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace ddl {

inline std::vector<double> random_values(std::size_t count, std::uint64_t stream, double low = -1,
                                         double high = 1) {
  Random random(20240607, "test", stream);
  std::vector<double> values(count);
  for (double& value : values) value = low + (high - low) * random.uniform();
  return values;
}

inline std::shared_ptr<HostTensor> random_tensor(Shape shape, std::uint64_t stream, double low = -1,
                                                 double high = 1) {
  const auto values =
      random_values(static_cast<std::size_t>(element_count(shape)), stream, low, high);
  return make_f32(shape, std::vector<float>(values.begin(), values.end()));
}

// Values for every input of a graph; integers below `below`.
inline ReferenceValues random_feeds(const Graph& graph, std::uint64_t stream,
                                    std::int64_t below = 2) {
  ReferenceValues feeds;
  for (const TensorId id : graph.inputs) {
    const Tensor& tensor = graph.tensor(id);
    const auto count = static_cast<std::size_t>(element_count(tensor.shape));
    feeds[id] = random_values(count, stream++);
    if (tensor.dtype == DType::f32) continue;
    Random random(7, "test", stream);
    for (double& value : feeds[id]) {
      value = static_cast<double>(random.below(static_cast<std::uint64_t>(below)));
    }
  }
  return feeds;
}

inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                        double tolerance, const std::string& what = {}) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
        << what << " at " << i;
  }
}

// Runs `body` and returns the message of the bad_input it throws.
inline std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of exception: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ddl-model-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ddl
