// ddl_test_reference MODEL SAMPLES OUTPUT INPUT…: the model's first output for raw float64 inputs,
// computed by the reference interpreter in double on the imported graph.
#include "ddl/base/error.h"
#include "ddl/model/onnx.h"
#include "support/reference.h"

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

namespace {

std::vector<double> read_doubles(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 2;
  const ddl::Graph graph = ddl::load_onnx(argv[1]).graph.with_batch(std::stol(argv[2]));
  ddl::ReferenceValues feeds;
  for (int i = 4; i < argc; ++i) {
    feeds[graph.inputs.at(static_cast<std::size_t>(i - 4))] = read_doubles(argv[i]);
  }
  const std::vector<double> output = ddl::reference_run(graph, feeds).front();
  std::ofstream stream(argv[3], std::ios::binary);
  stream.write(reinterpret_cast<const char*>(output.data()),
               static_cast<std::streamsize>(output.size() * sizeof(double)));
  return stream ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
