"""Compiles every public header alone: whoever includes one needs nothing before it."""

import concurrent.futures
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checks  # noqa: E402

ROOT = os.environ.get("DDL_SOURCE", os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("DDL_BUILD", "")
COMPILER = os.environ.get("CXX", "g++")
CUDA_HEADERS = ("cuda", "cudnn", "cublas", "nccl")


def third_party_folders():
    """Include folders of what is not found without one. A missing package shows as a header that
    does not compile."""
    flags = []
    for package in ("hdf5", "ompi-cxx", "ompi-c", "protobuf"):
        result = subprocess.run(["pkg-config", "--cflags-only-I", package], capture_output=True,
                                text=True)
        flags += result.stdout.split()
    for folder in (os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/include",):
        if os.path.isdir(folder):
            flags.append("-I" + folder)
    return list(dict.fromkeys(flags))


def compile_alone(header, flags, root=ROOT):
    """None, or the compiler's first complaint."""
    name = header[len("lib/"):] if header.startswith("lib/") else header
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
               "-x", "c++", "-I" + os.path.join(root, "lib"), "-I" + root] + flags + ["-"]
    result = subprocess.run(command, input=f'#include "{name}"\n', capture_output=True, text=True)
    if result.returncode == 0:
        return None
    lines = [line for line in result.stderr.splitlines() if "error" in line]
    return (lines or result.stderr.splitlines() or ["the compiler failed"])[0]


def lacks_cuda(problem):
    """Whether a header could not be compiled only because there is no CUDA toolkit here."""
    if "No such file" not in problem:
        return False
    missing = problem.split("fatal error:")[-1].strip()
    return missing.startswith(CUDA_HEADERS)


def self_test(flags):
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "lib", "ddl", "base"))
        for name, text in (("good.h", "#include <string>\ninline std::string f() { return {}; }\n"),
                           ("bad.h", "inline std::string f() { return {}; }\n")):
            with open(os.path.join(folder, "lib", "ddl", "base", name), "w") as file:
                file.write("#pragma once\n" + text)
        good = compile_alone("lib/ddl/base/good.h", flags, folder)
        if good is not None:
            sys.exit(f"self-test: a header that includes what it needs was refused: {good}")
        if compile_alone("lib/ddl/base/bad.h", flags, folder) is None:
            sys.exit("self-test: a header that lacks an include was accepted")


def main():
    flags = third_party_folders()
    if BUILD:
        flags.append("-I" + os.path.join(BUILD, "generated"))
    self_test(flags)
    headers = checks.public_headers(checks.tracked_files(ROOT))
    if not headers:
        sys.exit("no public header was found")
    problems, unchecked = [], []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for header, problem in zip(headers,
                                   pool.map(lambda h: compile_alone(h, flags), headers)):
            if problem is None:
                continue
            if lacks_cuda(problem):
                unchecked.append(header)
            else:
                problems.append(f"{header}: does not compile alone: {problem}")
    print(f"{len(headers) - len(unchecked)} headers were compiled alone")
    for header in unchecked:
        print(f"not checked, since there is no CUDA toolkit: {header}")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
