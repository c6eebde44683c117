#include "ddl/base/threads.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <sched.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;

int affinity_cpus() {
  // The kernel refuses (EINVAL) a mask smaller than its own, which may exceed the usual 1,024 bits.
  for (int cpus = 1024; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* const set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const int status = sched_getaffinity(0, bytes, set);
    const int error_number = errno;
    const int count = status == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (status == 0) return std::max(count, 1);
    if (error_number != EINVAL) break;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// Absent or unreadable files mean that there is no such limit.
std::string text_or_empty(const fs::path& path) {
  try {
    return read_text(path, std::size_t{16} << 20);
  } catch (const Error&) {
    return {};
  }
}

double positive_number(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() && value > 0 ? value : 0;
}

// "MAX PERIOD", where MAX is a number of microseconds or "max".
double quota_of_v2(const fs::path& folder) {
  std::istringstream line(text_or_empty(folder / "cpu.max"));
  std::string quota, period;
  line >> quota >> period;
  const double period_us = positive_number(period);
  return period_us > 0 ? positive_number(quota) / period_us : 0;
}

double quota_of_v1(const fs::path& folder) {
  const double period_us = positive_number(text_or_empty(folder / "cpu.cfs_period_us"));
  return period_us > 0 ? positive_number(text_or_empty(folder / "cpu.cfs_quota_us")) / period_us
                       : 0;
}

bool list_has(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

struct Mount {
  std::string root;   // the part of the hierarchy that is mounted
  std::string point;  // where
  bool v2 = false;
};

// One line of mountinfo (proc(5)): ID PARENT DEVICE ROOT POINT OPTIONS [TAGS…] - TYPE SOURCE SUPER
std::vector<Mount> cpu_mounts(const fs::path& mountinfo) {
  std::vector<Mount> mounts;
  std::istringstream lines(text_or_empty(mountinfo));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string id, parent, device, type, source, super_options;
    Mount mount;
    before >> id >> parent >> device >> mount.root >> mount.point;
    after >> type >> source >> super_options;
    mount.v2 = type == "cgroup2";
    if (mount.v2 || (type == "cgroup" && list_has(super_options, "cpu"))) mounts.push_back(mount);
  }
  return mounts;
}

// A quota binds everything below it: the smallest between the process's own cgroup and the mount.
double smallest_quota(const fs::path& root, const Mount& mount, std::string_view cgroup) {
  // A container sees its own cgroup as the mount's root.
  std::string_view inner = cgroup;
  if (mount.root != "/") {
    inner = cgroup.starts_with(mount.root) ? cgroup.substr(mount.root.size()) : "/";
  }
  const fs::path top = root / fs::path(mount.point).relative_path();
  fs::path relative = fs::path(inner).relative_path().lexically_normal();
  // "/../x" is how a cgroup outside our namespace is shown.
  if (!relative.empty() && *relative.begin() == "..") relative.clear();
  double smallest = 0;
  for (;;) {
    const double quota = mount.v2 ? quota_of_v2(top / relative) : quota_of_v1(top / relative);
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    if (relative.empty() || relative == ".") return smallest;
    relative = relative.parent_path();
  }
}

}  // namespace

double cgroup_quota_cores(const fs::path& root) {
  const fs::path self = root / "proc" / "self";
  const std::vector<Mount> mounts = cpu_mounts(self / "mountinfo");
  double smallest = 0;
  std::istringstream lines(text_or_empty(self / "cgroup"));
  // HIERARCHY:CONTROLLERS:PATH, where version 2 has hierarchy 0 and no controllers.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const std::string_view path = std::string_view(line).substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && !list_has(controllers, "cpu")) continue;
    for (const Mount& mount : mounts) {
      if (mount.v2 != v2) continue;
      const double quota = smallest_quota(root, mount, path);
      if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
    }
  }
  return smallest;
}

int threads_allowed(int affinity_cpus, double quota_cores, const char* omp_num_threads,
                    std::string* source) {
  const auto answer = [&](int threads, const char* reason) {
    if (source != nullptr) *source = reason;
    return threads;
  };
  if (omp_num_threads != nullptr) {
    // OpenMP allows a list, one number a nesting level; the first is ours.
    int threads = 0;
    const char* const end = omp_num_threads + std::strlen(omp_num_threads);
    const auto parsed = std::from_chars(omp_num_threads, end, threads);
    if (parsed.ec == std::errc() && threads > 0 && (parsed.ptr == end || *parsed.ptr == ',')) {
      return answer(threads, "OMP_NUM_THREADS");
    }
  }
  const int cpus = std::max(affinity_cpus, 1);
  // The comparison is made on doubles: a huge quota must not overflow an int.
  if (quota_cores > 0 && quota_cores < cpus) {
    return answer(std::max(1, static_cast<int>(quota_cores)), "cgroup quota");
  }
  return answer(cpus, "affinity");
}

int available_threads(std::string* source) {
  return threads_allowed(affinity_cpus(), cgroup_quota_cores(), std::getenv("OMP_NUM_THREADS"),
                         source);
}

int threads_per_rank(int local_ranks, std::string* source) {
  std::string reason;
  const int threads = available_threads(&reason);
  if (source != nullptr) *source = reason;
  if (reason == "OMP_NUM_THREADS") return threads;
  return std::max(1, threads / std::max(local_ranks, 1));
}

struct ThreadPool::Impl {
  // One parallel_for. Workers enter it under the mutex, and it ends only when all have left.
  const std::function<void(std::size_t)>* body = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};

  std::mutex mutex;
  std::condition_variable begin, end;
  std::uint64_t generation = 0;
  std::size_t running = 0;
  bool closing = false;
  std::size_t failed_index = 0;
  std::exception_ptr exception;

  std::atomic<bool> busy{false};
  std::vector<std::thread> workers;

  void run_indices() {
    for (;;) {
      if (failed.load(std::memory_order_relaxed)) return;
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      try {
        (*body)(index);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!exception || index < failed_index) {
          exception = std::current_exception();
          failed_index = index;
        }
        failed.store(true, std::memory_order_relaxed);
      }
    }
  }

  void work() {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex);
        begin.wait(lock, [&] { return closing || generation != seen; });
        if (closing) return;
        seen = generation;
      }
      run_indices();
      const std::lock_guard lock(mutex);
      if (--running == 0) end.notify_one();
    }
  }

  void close() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
    }
    begin.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>()) {
  if (threads < 1) {
    throw bad_input("a thread pool of " + std::to_string(threads) + " threads",
                    "use at least 1 thread");
  }
  try {
    for (int i = 1; i < threads; ++i) {
      impl_->workers.emplace_back([impl = impl_.get()] { impl->work(); });
    }
  } catch (const std::system_error& error) {
    const std::size_t started = impl_->workers.size();
    impl_->close();
    throw system_failure(
        "cannot start thread " + std::to_string(started + 2) + " of " + std::to_string(threads),
        error.code().value(), "use fewer threads or raise ulimit -u");
  }
}

ThreadPool::~ThreadPool() {
  impl_->close();
}

int ThreadPool::size() const {
  return static_cast<int>(impl_->workers.size()) + 1;
}

void ThreadPool::parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  Impl& impl = *impl_;
  if (impl.busy.exchange(true)) {
    throw failure("internal error: ThreadPool::parallel_for was entered twice");
  }
  const bool alone = impl.workers.empty() || count < 2;
  {
    const std::lock_guard lock(impl.mutex);
    impl.body = &body;
    impl.count = count;
    impl.next.store(0);
    impl.failed.store(false);
    impl.exception = nullptr;
    if (!alone) {
      impl.running = impl.workers.size();
      ++impl.generation;
    }
  }
  if (!alone) impl.begin.notify_all();
  impl.run_indices();
  std::exception_ptr exception;
  {
    std::unique_lock lock(impl.mutex);
    if (!alone) impl.end.wait(lock, [&] { return impl.running == 0; });
    impl.body = nullptr;
    exception = std::exchange(impl.exception, nullptr);
  }
  impl.busy.store(false);
  if (exception) std::rethrow_exception(exception);
}

}  // namespace ddl
