#include "ddl/compute/cpu/run_state.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <omp.h>

namespace ddl {
namespace {

#if defined(__x86_64__)
constexpr unsigned kFlushDenormals = _MM_FLUSH_ZERO_MASK | _MM_DENORMALS_ZERO_MASK;
unsigned control() {
  return _mm_getcsr();
}
void set_control(unsigned value) {
  _mm_setcsr(value);
}
#elif defined(__aarch64__)
constexpr unsigned kFlushDenormals = 1U << 24;  // FPCR.FZ
unsigned control() {
  return static_cast<unsigned>(__builtin_aarch64_get_fpcr());
}
void set_control(unsigned value) {
  __builtin_aarch64_set_fpcr(value);
}
#else
constexpr unsigned kFlushDenormals = 0;
unsigned control() {
  return 0;
}
void set_control(unsigned) {}
#endif

// The members of the team are the same threads in the regions that oneDNN opens.
void set_team_control(int threads, unsigned value) {
  if (threads == 1) return;
#pragma omp parallel num_threads(threads)
  set_control(value);
}

}  // namespace

RunState::RunState(int threads)
    : threads_(threads), threads_before_(omp_get_max_threads()), control_before_(control()) {
  omp_set_num_threads(threads);
  set_team_control(threads, control_before_ | kFlushDenormals);
  set_control(control_before_ | kFlushDenormals);
}

RunState::~RunState() {
  set_team_control(threads_, control_before_);
  set_control(control_before_);
  omp_set_num_threads(threads_before_);
}

}  // namespace ddl
