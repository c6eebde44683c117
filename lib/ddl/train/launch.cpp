#include "ddl/train/launch.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/threads.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace ddl {
namespace {

namespace fs = std::filesystem;

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return "";
}

bool variable_is(const char* name, std::string_view value) {
  const char* found = std::getenv(name);
  return found != nullptr && found == value;
}

// A root folder other than that of process 1 is a changed root.
bool root_is_changed() {
  struct stat mine = {}, first = {};
  if (::stat("/", &mine) != 0 || ::stat("/proc/1/root/.", &first) != 0) return false;
  return mine.st_ino != first.st_ino || mine.st_dev != first.st_dev;
}

std::string container_hint() {
  if (variable_is("CI", "true") || variable_is("CI", "1")) return "CI is set";
  for (const char* file : {"/.dockerenv", "/run/.containerenv"})
    if (::access(file, F_OK) == 0) return std::string(file) + " exists";
  if (std::getenv("container") != nullptr) return "the variable container is set";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "this is a Kubernetes pod";
  try {
    const std::string groups = read_text("/proc/1/cgroup");
    for (const char* word : {"docker", "kubepods", "containerd", "lxc", "podman", "libpod"})
      if (groups.find(word) != std::string::npos) return std::string("a control group of ") + word;
  } catch (const Error&) {
    // No /proc: nothing to learn there.
  }
  if (root_is_changed()) return "a changed root folder";
  return "";
}

// "a:2,b:2": slots from the user, else from the plan's workers on that host, else equal parts.
std::string host_list(const LaunchRequest& request) {
  std::map<std::string, int> planned;
  for (const std::string& host : request.planned_hosts) ++planned[host];
  const auto hosts = static_cast<int>(request.hosts.size());
  const bool as_planned =
      static_cast<int>(request.planned_hosts.size()) == request.workers &&
      std::all_of(request.hosts.begin(), request.hosts.end(),
                  [&](const std::string& host) { return planned.contains(host); }) &&
      static_cast<int>(planned.size()) == hosts;
  std::string out;
  int index = 0;
  for (const std::string& host : request.hosts) {
    out += out.empty() ? "" : ",";
    if (host.find(':') != std::string::npos) {
      out += host;
    } else {
      const int equal = request.workers / hosts + (index < request.workers % hosts ? 1 : 0);
      out += host + ":" + std::to_string(as_planned ? planned[host] : std::max(1, equal));
    }
    ++index;
  }
  return out;
}

// Handlers can reach nothing but globals: the child's process group and what has come in.
std::atomic<int> child_process{0};
std::atomic<int> interrupts_seen{0};

void pass_on(int number) {
  const int child = child_process.load();
  const bool insists = number == SIGINT && interrupts_seen.fetch_add(1) > 0;
  if (child > 0) ::kill(child, insists ? SIGHUP : SIGUSR1);
}

constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGUSR1};

}  // namespace

HostFacts host_facts() {
  HostFacts facts;
  facts.mpirun = find_program("mpirun");
  facts.root = ::geteuid() == 0;
  facts.container_hint = container_hint();
  facts.container_or_ci = !facts.container_hint.empty();
  facts.root_allowed = variable_is("OMPI_ALLOW_RUN_AS_ROOT", "1") &&
                       variable_is("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  facts.processors = available_threads();
  return facts;
}

LaunchCommand launch_command(const LaunchRequest& request, const HostFacts& facts) {
  if (facts.mpirun.empty())
    throw bad_input(
        "mpirun is not on PATH, and " + std::to_string(request.workers) + " workers need it",
        "install openmpi-bin, or run one worker with --np 1");
  LaunchCommand out;
  std::vector<std::string>& args = out.arguments;
  args = {facts.mpirun, "-np", std::to_string(request.workers), "--bind-to", "none", "-q",
          "--stdin",    "none"};
  const auto add = [&](std::initializer_list<const char*> more) {
    args.insert(args.end(), more.begin(), more.end());
  };
  if (facts.root && !facts.root_allowed) {
    if (!request.allow_root && !facts.container_or_ci)
      throw bad_input("mpirun refuses to run as root outside of a container",
                      "use another account, or add --allow-run-as-root");
    add({"--allow-run-as-root"});
    if (!request.allow_root)
      out.remarks.push_back("running as root in a container or CI (" + facts.container_hint +
                            "): mpirun gets --allow-run-as-root");
  }
  const bool crowded = request.hosts.empty() && request.workers > facts.processors;
  if (request.explicit_np) {
    add({"--oversubscribe"});
    out.remarks.push_back(
        "--np is explicit: mpirun gets --oversubscribe" +
        std::string(crowded ? " (more workers than processors: " + std::to_string(request.workers) +
                                  " on " + std::to_string(facts.processors) + ")"
                            : ""));
  } else if (crowded) {
    add({"--oversubscribe"});
    out.remarks.push_back("the plan has " + std::to_string(request.workers) + " workers for " +
                          std::to_string(facts.processors) +
                          " processors here: mpirun gets --oversubscribe");
  }
  // A worker that waits must not keep its own lanes and readers, or its neighbours, off the cores.
  add({"--mca", "mpi_yield_when_idle", "1"});
  if (!request.hosts.empty()) {
    args.insert(args.end(), {"--map-by", "slot", "--host", host_list(request)});
    for (const std::string& name : request.forwarded) args.insert(args.end(), {"-x", name});
  }
  args.insert(args.end(), request.command.begin(), request.command.end());
  return out;
}

int launch(const LaunchCommand& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command.arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));  // execv does not write to them
  argv.push_back(nullptr);

  interrupts_seen.store(0);
  child_process.store(0);
  struct sigaction action = {}, old[std::size(kPassedOn)] = {};
  action.sa_handler = pass_on;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kPassedOn); ++i) sigaction(kPassedOn[i], &action, &old[i]);

  const pid_t child = ::fork();
  if (child < 0) throw system_failure("mpirun cannot be started", errno);
  if (child == 0) {
    for (std::size_t i = 0; i < std::size(kPassedOn); ++i) std::signal(kPassedOn[i], SIG_DFL);
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGHUP);  // mpirun ends its workers when ddl-train is gone
    // mpirun would end the workers soon after a SIGTERM. Blocked here, it is for the workers alone
    // (mpirun unblocks it for them), who write a checkpoint first.
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &terminate, nullptr);
    const int none = ::open("/dev/null", O_RDONLY);
    if (none >= 0) ::dup2(none, STDIN_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  child_process.store(child);
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  for (std::size_t i = 0; i < std::size(kPassedOn); ++i) sigaction(kPassedOn[i], &old[i], nullptr);
  if (waited < 0) throw system_failure("lost sight of mpirun", errno);
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WEXITSTATUS(status);
}

std::filesystem::path own_program() {
  std::error_code none;
  const fs::path path = fs::read_symlink("/proc/self/exe", none);
  if (none) throw failure("the path of the running program cannot be read: " + none.message());
  return path;
}

std::vector<std::string> forwarded_variables() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("DDL_") || name == "OMP_NUM_THREADS") out.emplace_back(name);
  }
  return out;
}

}  // namespace ddl
