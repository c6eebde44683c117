// Runs every kernel on a GPU over random inputs and compares the bits with the host's. Exit 77
// when there is no GPU.
#include "kernels/exact.h"
#include "kernels/exact_device.h"
#include "kernels/host_loops.h"
#include "kernels/optimizer_device.h"

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "unit/kernels/bit_patterns.h"
#include <cuda_runtime_api.h>

namespace {

using namespace ddl::kernels;
using ddl::Random;

void check(int code, const char* what) {
  if (code == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " +
                           cudaGetErrorString(static_cast<cudaError_t>(code)));
}

// A copy of host values in device memory.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    check(cudaMalloc(&data_, std::max<std::size_t>(1, size_ * sizeof(T))), "cudaMalloc");
    if (size_ > 0) {
      check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
            "cudaMemcpy to the device");
    }
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* get() const { return static_cast<T*>(data_); }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    if (size_ > 0) {
      check(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
            "cudaMemcpy from the device");
    }
    return values;
  }

 private:
  std::size_t size_;
  void* data_ = nullptr;
};

template <class T>
void expect_same(const std::vector<T>& device, const std::vector<T>& host,
                 const std::string& what) {
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (std::memcmp(&device[i], &host[i], sizeof(T)) != 0) {
      throw std::runtime_error(what + " differs at " + std::to_string(i) + " of " +
                               std::to_string(host.size()) + ": " + std::to_string(device[i]) +
                               " on the device, " + std::to_string(host[i]) + " on the host");
    }
  }
}

std::vector<float> random_values(std::size_t size, int exponent, int octaves, Random& random) {
  std::vector<float> values(size);
  for (float& value : values)
    value = random.below(20) == 0 ? 0.0F : ddl::test::below_power(exponent, octaves, random);
  return values;
}

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> all = ddl::test::odd_sizes();
  all.push_back(1000003);
  return all;
}

void exact_sums(Random& random) {
  for (const std::size_t size : sizes()) {
    for (const int exponent : {-140, -3, 100}) {
      std::vector<std::int64_t> sums(size, 0), second(size, 0);
      DeviceArray<std::int64_t> device_sums(sums), device_second(second);
      DeviceArray<DeviceSeen> device_seen({DeviceSeen{}});
      DeviceSeen seen{};
      constexpr int kLimitBits = 60;
      // Within the bound, over 2^50 quanta, in the second accumulator, and beyond both.
      for (const int over : {0, -20, 15, 24, 50}) {
        if (exponent + over > 127) continue;
        const std::vector<float> values = random_values(size, exponent + over, 80, random);
        const std::uint32_t largest = max_absolute_bits(values.data(), size);
        DeviceArray<float> device_values(values);
        DeviceArray<std::uint32_t> device_largest({~0U});
        check(launch_max_absolute_bits(device_values.get(), size, device_largest.get(), nullptr),
              "max_absolute_bits");
        expect_same(device_largest.read(), {largest}, "max_absolute_bits");
        check(launch_quantise_add(device_values.get(), size, exponent, kLimitBits,
                                  device_largest.get(), device_sums.get(), device_second.get(),
                                  device_seen.get(), nullptr),
              "quantise_add");
        const Placement where = placement(largest, exponent, kLimitBits);
        if (where == Placement::first)
          quantise_add(values.data(), size, exponent, largest, sums.data());
        if (where == Placement::second)
          quantise_add(values.data(), size, exponent + kSpillBits, largest, second.data());
        seen.largest = std::max(seen.largest, largest);
        if (size > 0 && where == Placement::second) seen.spilled = 1;
        if (size > 0 && where == Placement::bad) seen.bad = 1;
      }
      expect_same(device_sums.read(), sums, "the sums");
      expect_same(device_second.read(), second, "the second sums");
      const DeviceSeen device = device_seen.read()[0];
      if (std::memcmp(&device, &seen, sizeof seen) != 0)
        throw std::runtime_error("what the device has seen of the tasks differs");
      for (const bool both : {false, true}) {
        const double quantum = power_of_two(exponent - kQuantumBits);
        const double larger = power_of_two(exponent - kQuantumBits + kSpillBits);
        std::vector<float> out(size, 1.0F);
        DeviceArray<float> device_out(out);
        sums_to_floats(sums.data(), quantum, both ? second.data() : nullptr, larger, 1.0 / 3, size,
                       out.data());
        check(
            launch_sums_to_floats(device_sums.get(), quantum, both ? device_second.get() : nullptr,
                                  larger, 1.0 / 3, size, device_out.get(), nullptr),
            "sums_to_floats");
        expect_same(device_out.read(), out, "a sum as float");
      }
    }
  }
}

void special_values() {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {infinity, -infinity, nan, -nan}) {
    std::vector<float> values(5000, 1.0F);
    values[4321] = value;
    DeviceArray<float> device_values(values);
    DeviceArray<std::uint32_t> device_largest({0U});
    check(
        launch_max_absolute_bits(device_values.get(), values.size(), device_largest.get(), nullptr),
        "max_absolute_bits");
    expect_same(device_largest.read(), {max_absolute_bits(values.data(), values.size())},
                "max_absolute_bits");
  }
}

void optimizers(Random& random) {
  for (const std::size_t size : sizes()) {
    const std::vector<float> gradient = random_values(size, -2, 60, random);
    const DeviceArray<float> device_gradient(gradient);
    for (const bool nesterov : {false, true}) {
      const SgdCoefficients c{0.1F, 0.9F, 1e-4F, nesterov};
      std::vector<float> weights = random_values(size, 2, 30, random);
      std::vector<float> velocity = random_values(size, -3, 30, random);
      const DeviceArray<float> device_weights(weights), device_velocity(velocity);
      check(launch_sgd_update(device_weights.get(), device_velocity.get(), device_gradient.get(),
                              size, c, nullptr),
            "sgd_update");
      check(
          launch_sgd_update(device_weights.get(), nullptr, device_gradient.get(), size, c, nullptr),
          "sgd_update");
      sgd_update(weights.data(), velocity.data(), gradient.data(), size, c);
      sgd_update(weights.data(), nullptr, gradient.data(), size, c);
      expect_same(device_weights.read(), weights, "a weight after sgd");
      expect_same(device_velocity.read(), velocity, "a velocity");
    }
    const AdamwCoefficients c{1e-3F, 0.9F, 0.999F, 1e-8F, 0.01F, 0.271F, 0.002997F};
    std::vector<float> weights = random_values(size, 2, 30, random);
    std::vector<float> first = random_values(size, -3, 30, random);
    std::vector<float> second = random_values(size, -5, 60, random);
    for (float& value : second) value = std::fabs(value);
    const DeviceArray<float> device_weights(weights), device_first(first), device_second(second);
    check(launch_adamw_update(device_weights.get(), device_first.get(), device_second.get(),
                              device_gradient.get(), size, c, nullptr),
          "adamw_update");
    adamw_update(weights.data(), first.data(), second.data(), gradient.data(), size, c);
    expect_same(device_weights.read(), weights, "a weight after adamw");
    expect_same(device_first.read(), first, "a first moment");
    expect_same(device_second.read(), second, "a second moment");
  }
}

}  // namespace

int main() {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  // No driver, or one that is older than the runtime; no device.
  if (found == cudaErrorInsufficientDriver || found == cudaErrorNoDevice ||
      (found == cudaSuccess && devices == 0)) {
    std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(found));
    return 77;
  }
  try {
    check(found, "cudaGetDeviceCount");
    Random random(1, "on device");
    exact_sums(random);
    special_values();
    optimizers(random);
    std::printf("same bits on the device and the host\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    return 1;
  }
}
