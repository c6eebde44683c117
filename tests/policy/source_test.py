"""Holds the tracked files to the rules of checks.py; first makes sure that the rules bite."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import checks  # noqa: E402

ROOT = os.environ.get("DDL_SOURCE", os.path.dirname(os.path.dirname(HERE)))
TABLES = ("includes.txt", "third_party.txt", "allowed_calls.txt")


class TheRulesBite(unittest.TestCase):
    """Every rule on a small tree: what it must find, and what it must leave alone."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        for name in TABLES:
            self.put("tests/policy/" + name, checks.read(ROOT, "tests/policy/" + name))

    def put(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def problems(self, check):
        return check(self.root, checks.tracked_files(self.root))

    def assert_found(self, check, path, text, *words):
        self.put(path, text)
        found = self.problems(check)
        os.remove(os.path.join(self.root, path))
        self.assertEqual(len(found), 1, f"{text!r} gave {found}")
        for word in (path,) + words:
            self.assertIn(word, found[0])

    def assert_clean(self, check, path, text):
        self.put(path, text)
        found = self.problems(check)
        os.remove(os.path.join(self.root, path))
        self.assertEqual(found, [])

    def test_includes_between_folders(self):
        check = checks.check_includes
        self.assert_found(check, "lib/ddl/base/x.cpp", '#include <vector>\n#include "ddl/data/y.h"\n',
                          "x.cpp:2", "base may not include ddl/data/y.h")
        self.assert_found(check, "lib/ddl/data/deep/x.h", ' #  include "ddl/model/y.h"\n', "data")
        self.assert_found(check, "lib/ddl/plan/x.cpp", '#include "ddl/train/y.h"\n', "plan")
        self.assert_found(check, "lib/ddl/train/x.cpp", '#include "ddl/cli/app.h"\n', "train")
        self.assert_found(check, "lib/ddl/train/x.cpp", "#include <ddl/profile/y.h>\n", "train")
        self.assert_found(check, "lib/ddl/model/x.cpp", '#include "kernels/y.h"\n', "model")
        self.assert_found(check, "kernels/x.cu", '#include "ddl/base/error.h"\n', "kernels")
        self.assert_found(check, "lib/ddl/base/x.cpp", '#include "../data/y.h"\n', "../data/y.h")
        self.assert_found(check, "lib/ddl/base/x.cpp", '#include "lib/ddl/data/y.h"\n', "lib/ddl")
        self.assert_found(check, "lib/ddl/new/x.cpp", "\n", "the folder new is unknown")
        self.assert_clean(check, "lib/ddl/train/x.cpp",
                          '#include "ddl/plan/y.h"\n#include "ddl/train/z.h"\n'
                          '#include "kernels/adam.h"\n')
        self.assert_clean(check, "tools/x.cpp", '#include "ddl/train/y.h"\n#include <CLI/CLI.hpp>\n')
        self.assert_clean(check, "lib/ddl/base/x.cpp",
                          '// #include "ddl/data/y.h"\n/*\n#include "ddl/data/y.h"\n*/\n')
        self.assert_clean(check, "tests/unit/base/x.cpp", '#include "ddl/data/y.h"\n')

    def test_third_party_headers(self):
        check = checks.check_includes
        for path, header in (("lib/ddl/train/x.cpp", "hdf5.h"), ("lib/ddl/train/x.cpp", "H5public.h"),
                             ("lib/ddl/compute/x.cpp", "oneapi/dnnl/dnnl.hpp"),
                             ("lib/ddl/compute/cpu/x.cpp", "cudnn.h"),
                             ("lib/ddl/compute/x.h", "cublasLt.h"), ("lib/ddl/train/x.cpp", "mpi.h"),
                             ("lib/ddl/compute/cuda/x.cpp", "nccl.h"),
                             ("lib/ddl/model/graph.cpp", "onnx/onnx_pb.h"),
                             ("lib/ddl/train/x.cpp", "CLI/CLI.hpp"),
                             ("lib/ddl/data/x.cpp", "spdlog/spdlog.h"),
                             ("lib/ddl/data/x.cpp", "xxhash.h"),
                             ("lib/ddl/data/x.h", "nlohmann/json.hpp"),
                             ("lib/ddl/base/x.cpp", "nlohmann/json.hpp")):
            self.assert_found(check, path, f"#include <{header}>\n", f"<{header}> may be included")
        self.assert_found(check, "lib/ddl/base/x.cpp", "#include <boost/any.hpp>\n",
                          "is in no table")
        self.assert_found(check, "lib/ddl/base/x.cpp", '#include "mpi.h"\n', "mpi.h")
        for path, header in (("lib/ddl/data/x.h", "hdf5.h"),
                             ("lib/ddl/compute/cpu/x.cpp", "oneapi/dnnl/dnnl.hpp"),
                             ("lib/ddl/compute/cuda/x.h", "cudnn.h"), ("lib/ddl/comm/x.cpp", "mpi.h"),
                             ("lib/ddl/model/onnx_reader.cpp", "onnx/onnx_pb.h"),
                             ("lib/ddl/model/onnx/x.cpp", "google/protobuf/message.h"),
                             ("lib/ddl/artifact/x.h", "nlohmann/json.hpp"),
                             ("lib/ddl/plan/x.cpp", "nlohmann/json.hpp"),
                             ("lib/ddl/plan/x_internal.h", "nlohmann/json.hpp"),
                             ("lib/ddl/plan/x.cpp", "unistd.h"), ("lib/ddl/plan/x.cpp", "vector"),
                             ("lib/ddl/plan/x.cpp", "sys/stat.h")):
            self.assert_clean(check, path, f"#include <{header}>\n")

    def test_calls(self):
        check = checks.check_calls
        for call in ("exit(1)", "std::exit(1)", "_exit(1)", "std::_Exit(1)", "abort()", "::abort()",
                     "std::abort ()", 'printf("x")', 'fprintf(stderr, "x")', "return abort()",
                     "MPI_Abort(world, 1)", 'std::puts("x")', "if (a) exit(1)", "std::terminate()"):
            self.assert_found(check, "lib/ddl/base/x.cpp", f"// one\nvoid f() {{ {call}; }}\n",
                              "x.cpp:2", "calls ")
        for text in ('// exit(1)\n', '/* abort() */', 'throw failure("exit(1)");', "world.abort(1);",
                     "world->abort(1);", "virtual void abort(int code) = 0;", "on_exit(f);",
                     "int exit_code();", "snprintf(a, 1, b);", "void Mpi::abort(int code) {}",
                     'auto a = R"x(exit(1))x";', "char c = '\"'; // exit(1)\n", "int a = 1'000;"):
            self.assert_clean(check, "lib/ddl/base/x.cpp", text)
        self.assert_clean(check, "tools/x.cpp", "exit(1);")

    def test_allowed_calls(self):
        check = checks.check_calls
        allowed = "tests/policy/allowed_calls.txt"
        self.put(allowed, "lib/ddl/comm/x.cpp: MPI_Abort: ends all\n")
        self.assert_clean(check, "lib/ddl/comm/x.cpp", "MPI_Abort(world, 1);")
        self.assert_found(check, "lib/ddl/comm/x.cpp", "MPI_Abort(world, 1); exit(1);", "exit()")
        self.assert_found(check, "lib/ddl/comm/y.cpp", "MPI_Abort(world, 1);", "MPI_Abort()")
        self.put("lib/ddl/comm/x.cpp", "")
        self.assertIn("does not call", self.problems(check)[0])
        self.put(allowed, "lib/ddl/comm/x.cpp: MPI_Abort:\n")
        self.assertIn("gives no reason", self.problems(check)[0])

    def test_words(self):
        check = checks.check_words
        for text in ("/wo" + "rk/main", "cd '/ro" + "ot/x'", "a=/ho" + "me/me/b", "TO" + "DO: later",
                     "// FIX" + "ME"):
            self.assert_found(check, "README.md", "fine\n" + text + "\n", "README.md:2")
        for text in ("$HOME/x", "http://a.org/wo" + "rk/x", "mastodon", "./wo" + "rk/", "~/wo" + "rk/"):
            self.assert_clean(check, "README.md", text)
        self.assert_clean(check, "image.bin", "\0/wo" + "rk/")

    def test_shell_scripts(self):
        check = checks.check_shell_scripts
        self.assert_found(check, "tests/x.sh", "if true\n", "bash -n")
        self.assert_found(check, "examples/a/x.sh", "echo 'open\n", "bash -n")
        self.assert_found(check, ".ci/run", "#!/usr/bin/env bash\nfor\n", "bash -n")
        self.assert_clean(check, "tests/x.sh", "if true; then echo; fi\n")
        self.assert_clean(check, "tests/x.txt", "if true\n")

    def test_headers_to_compile(self):
        self.assertEqual(
            checks.public_headers(["lib/ddl/a/x.h", "lib/ddl/a/y_internal.h", "lib/ddl/a/x.cpp",
                                   "kernels/k.h", "tests/t.h"]),
            ["lib/ddl/a/x.h", "kernels/k.h"])

    def test_a_broken_table_is_an_error(self):
        self.put("tests/policy/includes.txt", "base\n")
        self.assertRaises(ValueError, self.problems, checks.check_includes)
        self.put("tests/policy/includes.txt", "base: nowhere\n")
        self.assertIn("unknown folder nowhere", self.problems(checks.check_includes)[0])


class TheTreeFollowsTheRules(unittest.TestCase):
    def test_the_tree(self):
        files = checks.tracked_files(ROOT)
        self.assertIn("tests/policy/source_test.py", files)
        problems = [problem for check in checks.ALL for problem in check(ROOT, files)]
        if problems:
            self.fail("\n" + "\n".join(problems))


if __name__ == "__main__":
    unittest.main()
