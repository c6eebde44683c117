#include "ddl/train/weights.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace ddl {

Weights::Weights(const Graph& model) {
  const auto add = [&](TensorId id, bool is_parameter) {
    const Tensor& tensor = model.tensor(id);
    if (!tensor.value) throw bad_input("tensor '" + tensor.name + "' of the model has no values");
    if (is_parameter && tensor.dtype != DType::f32)
      throw bad_input("parameter '" + tensor.name + "' is " + std::string(dtype_name(tensor.dtype)),
                      "parameters must be float32");
    by_tensor_[id] = weights_.size();
    weights_.push_back(
        {id, tensor.name, is_parameter, std::make_shared<HostTensor>(*tensor.value)});
  };
  for (const TensorId id : model.parameters()) add(id, true);
  for (const TensorId id : model.buffers()) add(id, false);
}

const Weight* Weights::find(std::string_view name) const {
  const auto found = std::find_if(weights_.begin(), weights_.end(),
                                  [&](const Weight& weight) { return weight.name == name; });
  return found == weights_.end() ? nullptr : &*found;
}

std::span<float> Weights::values(TensorId tensor) {
  HostTensor& value = *weights_.at(by_tensor_.at(tensor)).value;
  if (value.dtype != DType::f32)
    throw failure("tensor '" + weights_[by_tensor_.at(tensor)].name + "' is not float32");
  return {value.as<float>(), value.bytes.size() / sizeof(float)};
}

std::uint64_t Weights::bytes() const {
  std::uint64_t total = 0;
  for (const Weight& weight : weights_) total += weight.value->bytes.size();
  return total;
}

std::vector<TensorBinding> Weights::bindings() const {
  std::vector<TensorBinding> out;
  out.reserve(weights_.size());
  for (const Weight& weight : weights_) out.push_back({weight.tensor, weight.value->bytes.data()});
  return out;
}

std::map<std::string, std::shared_ptr<const HostTensor>> Weights::by_name() const {
  std::map<std::string, std::shared_ptr<const HostTensor>> out;
  for (const Weight& weight : weights_) out[weight.name] = weight.value;
  return out;
}

std::string Weights::hash() const {
  Xxh128 hash;
  const std::string_view end("\0", 1);
  for (const Weight& weight : weights_) {
    hash.update(weight.name);
    hash.update(end);
    hash.update(dtype_name(weight.value->dtype));
    hash.update(end);
    hash.update_u64(weight.value->shape.size());
    for (const std::int64_t extent : weight.value->shape)
      hash.update_u64(static_cast<std::uint64_t>(extent));
    hash.update(std::span<const std::byte>(weight.value->bytes));
  }
  return hash.hex();
}

std::vector<std::string> Weights::take_from(const Graph& other) {
  std::vector<std::string> remarks;
  std::set<std::string> used;
  std::size_t taken = 0;
  for (Weight& weight : weights_) {
    const TensorId id = other.find(weight.name);
    const HostTensor* source = id == kNoTensor ? nullptr : other.tensor(id).value.get();
    if (source == nullptr) {
      remarks.push_back("'" + weight.name + "' is not in the initial model: starts fresh");
      continue;
    }
    used.insert(weight.name);
    if (source->shape != weight.value->shape || source->dtype != weight.value->dtype ||
        source->bytes.size() != weight.value->bytes.size()) {
      remarks.push_back("'" + weight.name + "' is " + shape_text(source->shape) +
                        " in the initial model and " + shape_text(weight.value->shape) +
                        " here: starts fresh");
      continue;
    }
    std::memcpy(weight.value->bytes.data(), source->bytes.data(), source->bytes.size());
    ++taken;
  }
  const auto note_unused = [&](const std::vector<TensorId>& ids) {
    for (const TensorId id : ids)
      if (!used.contains(other.tensor(id).name))
        remarks.push_back("'" + other.tensor(id).name + "' of the initial model has no use here");
  };
  note_unused(other.parameters());
  note_unused(other.buffers());
  if (taken == 0)
    throw bad_input("the initial model shares no tensor with this one by name and shape",
                    "--init takes a model of the same kind");
  changed();
  return remarks;
}

}  // namespace ddl
