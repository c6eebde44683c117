// The state of the running thread during a run: OpenMP's thread count and the treatment of
// denormals, both put back at the end.
//
// Denormal results and operands count as zero during a run, in the caller and in its OpenMP team:
// arithmetic on them can be tens of times slower.
#pragma once

namespace ddl {

class RunState {
 public:
  explicit RunState(int threads);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;
  ~RunState();

 private:
  int threads_, threads_before_;
  unsigned control_before_;
};

}  // namespace ddl
