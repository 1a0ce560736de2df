"""Each rule of tools/lint is seen to fail once, on the line it should, and to accept what is right."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import architecture  # noqa: E402, after dont_write_bytecode
import clang_tidy  # noqa: E402
import house_rules  # noqa: E402
import package_rules  # noqa: E402
import repository  # noqa: E402
from source_file import SourceFile  # noqa: E402


def guarded(path, body):
    guard = "LOCKSTEP_" + path.upper().replace("/", "_").replace(".", "_") + "_"
    return "#ifndef %s\n#define %s\n%s\n#endif  // %s\n" % (guard, guard, body, guard)


class TextRules(unittest.TestCase):
    def expect(self, path, text, *expected):
        """`expected`: (line, a part of the message) of each finding."""
        findings = [(f.line, f.message) for f in house_rules.check_text(path, text)]
        self.assertEqual([line for line, _ in findings], [line for line, _ in expected], findings)
        for (_, message), (_, part) in zip(findings, expected):
            self.assertIn(part, message)

    def test_a_test_that_sleeps(self):
        for call in ("absl::SleepFor(absl::Seconds(1))", "std::this_thread::sleep_for(1s)", "usleep(10)", "sleep (1)"):
            self.expect("ddp/a_test.cc", "int x;\n%s;\n" % call, (2, "sleep"))
        self.expect("ddp/a_test.cc", '// sleep_for(1)\nRun("sleep(1)");\n')
        self.expect("tools/ddprun/supervisor.cc", "usleep(10);\n")

    def test_exceptions_outside_the_boundary(self):
        self.expect("ddp/a.cc", "void F() {\n  try {\n  } catch (const E& e) {\n    throw;\n", (2, "try {"), (3, "catch"), (4, "throw"))
        self.expect("transports/gloo/call_gloo.cc", "try {\n} catch (...) {\n}\n")
        self.expect("ddp/a.cc", "// never try { this }\nentry_.retry(catch_all);\n")

    def test_libraries_that_print(self):
        for call in ("std::cout << 1", 'printf("x")', "fputs(x, stdout)", 'puts("x")', 'absl::PrintF("x")'):
            self.expect("transports/a.cc", "%s;\n" % call, (1, "stdout"))
        self.expect("ddp/a.cc", 'fprintf(stderr, "x"); snprintf(b, 1, "x");\n')
        self.expect("ddp/a_benchmark.cc", 'printf("x");\n')
        self.expect("tools/ddprun/console.cc", "std::cout << 1;\n")

    def test_todo_without_a_name(self):
        self.expect("ddp/a.cc", "// TODO: later\n// TODO(): later\n// FIXME\n", (1, "TODO"), (2, "TODO"), (3, "FIXME"))
        self.expect("ddp/a.cc", "// TODO(jane): when Gloo can\n")
        self.expect("ddp/BUILD.bazel", "# TODO later\n", (1, "TODO"))

    def test_header_guards_that_are_not_the_path(self):
        self.expect("ddp/a.h", guarded("ddp/a.h", "int x;"))
        toggled = "#if defined({0}) == defined(HWY_TARGET_TOGGLE)\n#ifdef {0}\n#undef {0}\n#else\n#define {0}\n#endif\n#endif  // {0}\n"
        self.expect("ddp/a-inl.h", toggled.format("LOCKSTEP_DDP_A_INL_H_"))
        self.expect("ddp/a-inl.h", guarded("ddp/a_inl.h", ""), (1, "HWY_TARGET_TOGGLE"))
        self.expect("ddp/a.h", guarded("ddp/b.h", ""), (1, "#ifndef LOCKSTEP_DDP_A_H_"), (2, "#define"), (4, "#endif"))
        self.expect("ddp/a.h", "#pragma once\n", (0, "#ifndef"), (0, "#define"), (0, "#endif"))
        self.expect("third_party/abseil/shim/absl/log/log.h", "#ifndef ABSL_LOG_LOG_H_\n")

    def test_files_that_are_too_long(self):
        self.expect("ddp/a.cc", "int x;\n" * 500)
        self.expect("ddp/a.cc", "int x;\n" * 501, (501, "501 lines"))
        self.expect("ddp/a.h", guarded("ddp/a.h", "\n" * 345))
        self.expect("ddp/a.h", guarded("ddp/a.h", "\n" * 348), (351, "352 lines"))

    def test_names_that_say_nothing(self):
        self.expect("ddp/string_util.cc", "", (0, "string_util"))
        self.expect("ddp/helpers.cc", "", (0, "helpers"))
        self.expect("ddp/utilization.cc", "")

    def test_includes_that_point_up(self):
        self.expect("transports/a.cc", '#include "transports/b.h"\n#include "ddp/model.h"\n', (2, "ddp/model.h"))
        self.expect("ddp/a.cc", '#include "examples/nn/tape.h"\n', (1, "examples/nn/tape.h"))
        self.expect("tools/a/a.cc", '#include "tests/hot_path/b.h"\n#include "ddp/model.h"\n', (1, "tests/"))
        self.expect("examples/a/a.cc", '#include "tools/ddprun/front.h"\n', (1, "tools/"))
        self.expect("examples/a/a.cc", '#include "tools/cpp/runfiles/runfiles.h"\n')

    def test_concrete_transports_in_the_engine(self):
        include = '#include "transports/gloo/gloo_transport.h"\n'
        self.expect("ddp/init.cc", include, (1, "transport.h alone"))
        self.expect("ddp/init_test.cc", include)
        self.expect("ddp/init.cc", '#include "transports/host/operation.h"\n#include "transports/transport.h"\n')

    def test_transports_that_include_each_other(self):
        self.expect("transports/in_process/a.cc", '#include "transports/gloo/b.h"\n', (1, "transport gloo"))
        self.expect("transports/gloo/a.cc", '#include "transports/in_process/b.h"\n', (1, "transport in_process"))
        self.expect("transports/registry.cc", '#include "transports/gloo/b.h"\n', (1, "transport gloo"))
        self.expect("transports/gloo/a.cc", '#include "transports/gloo/b.h"\n#include "transports/store/store.h"\n')

    def test_a_transport_that_the_rules_do_not_know(self):
        self.expect("transports/carrier_pigeon/carrier_pigeon_transport.cc", "", (0, "add `carrier_pigeon`"))
        self.expect("transports/gloo/gloo_transport.cc", "")
        self.expect("transports/net/socket.cc", "")

    def test_flags_outside_flags_h(self):
        self.expect("ddp/reducer.cc", '#include "absl/flags/flag.h"\n', (1, "absl/flags/flag.h"))
        self.expect("transports/registry.cc", '#include "absl/flags/flag.h"\n', (1, "absl/flags/flag.h"))
        self.expect("ddp/flags.cc", '#include "absl/flags/flag.h"\n')
        self.expect("examples/digits/digits.cc", '#include "absl/flags/flag.h"\n')

    def test_rules_that_are_not_loaded(self):
        load = 'load("@rules_cc//cc:defs.bzl", "cc_library")\n'
        self.expect("ddp/BUILD.bazel", load + 'cc_library(\n    name = "a",\n)\n')
        self.expect("ddp/BUILD.bazel", load + 'cc_binary(\n    name = "a",\n)\n', (2, "cc_binary is not loaded"))
        self.expect("ddp/BUILD.bazel", 'sh_test(name = "a", size = "small")\n', (1, "sh_test is not loaded"))
        self.expect("ddp/a.bzl", "def f(name):\n    native.cc_library(name = name)\n", (2, "native.cc_library"))
        self.expect("third_party/bazel/rules_cc/defs.bzl", "cc_library = native.cc_library\n")

    def test_tests_without_a_size(self):
        load = 'load("@rules_cc//cc:defs.bzl", "cc_test")\n'
        self.expect("ddp/BUILD.bazel", load + 'cc_test(\n    name = "a",\n    srcs = ["size_test.cc"],\n)\n', (2, "no size"))
        self.expect("ddp/BUILD.bazel", load + 'cc_test(\n    name = "a",\n    size = "small",\n)\n')

    def test_comments_and_literals_are_no_code(self):
        source = SourceFile("a.cc", 'a; // b\n/* c\nd */ e; "f" \'g\' 1\'000 R"(h\ni)" j;\n')
        self.assertEqual([" ".join(line.split()) for line in source.code_lines], ["a;", "", "e; 1'000", "j;"])


class Packages(unittest.TestCase):
    DEPS = 'system_package = "libfoo-dev",\nsystem_probes = ["/foo.h"],\n'

    def check(self, packages):
        return [str(f) for f in package_rules.packages_agree(packages, self.DEPS)]

    def test_a_list_that_agrees(self):
        self.assertEqual(self.check("# comment\n/foo.h libfoo-dev\n"), [])

    def test_a_probe_that_is_not_listed(self):
        self.assertIn("third_party/deps.bzl:1: third_party/debian_packages.txt does not list `/foo.h`", self.check("/bar.h libfoo-dev\n")[0])

    def test_a_package_that_nothing_needs(self):
        found = self.check("/foo.h libfoo-dev\n/bar.h libbar-dev\n")
        self.assertEqual(found, ["third_party/debian_packages.txt:2: third_party/deps.bzl uses no package libbar-dev"])


class Architecture(unittest.TestCase):
    def test_queries_that_find_nothing(self):
        self.assertEqual(list(architecture.check(lambda query: [])), [])

    def test_each_rule_fails_with_the_path_of_dependencies(self):
        for rule in architecture.RULES:

            def query(text, rule=rule):
                if text == rule.query:
                    return ["//ddp:bad"]
                return ["//ddp/sampler:from", "//ddp:bad"] if text == rule.path.format("//ddp:bad") else []

            findings = [str(f) for f in architecture.check(query)]
            self.assertEqual(findings, ["ddp/sampler/BUILD.bazel:1: %s\n    //ddp/sampler:from -> //ddp:bad" % rule.why])


class ClangTidy(unittest.TestCase):
    def check(self, said, status, build_status=0, paths=("a.cc", "a.h", "b.txt")):
        with tempfile.TemporaryDirectory() as root:
            build = "[ \"$BAZELW_INSTALL $*\" = 'no build --keep_going //...' ] || exit 9; exit %d" % build_status
            for name, body in (("clang-tidy-14", "%s\nexit %d" % (said, status)), ("bazelw", build)):
                with open(os.path.join(root, name), "w") as script:
                    script.write("#!/bin/sh\n%s\n" % body)
                os.chmod(os.path.join(root, name), 0o755)
            path = os.environ["PATH"]
            os.environ["PATH"] = root + ":" + path
            try:
                return [str(f) for f in clang_tidy.check(root, paths, ["a.cc", "a.h"], 2)]
            finally:
                os.environ["PATH"] = path

    def test_a_warning_is_reported_once_by_its_relative_path(self):
        said = 'for i in 1 2; do echo "$PWD/a.h:7:3: error: use nullptr [modernize-use-nullptr,-warnings-as-errors]"; done; echo "  note"'
        self.assertEqual(self.check(said, 1), ["a.h:7: use nullptr [modernize-use-nullptr]"])

    def test_a_failure_without_a_warning_is_one(self):
        self.assertEqual(self.check("echo no such check >&2", 1), ["a.cc:1: clang-tidy failed: no such check"])

    def test_nothing_found(self):
        self.assertEqual(self.check("", 0), [])

    def test_what_does_not_build_is_said_and_nothing_is_built_for_no_sources(self):
        with self.assertRaisesRegex(repository.LintError, "`./bazelw build //...` failed"):
            self.check("", 0, build_status=1)
        self.assertEqual(self.check("", 0, build_status=1, paths=("b.txt",)), [])

    def test_without_clang_tidy_it_says_what_to_install(self):
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        try:
            with self.assertRaisesRegex(repository.LintError, "apt-get install clang-tidy"):
                clang_tidy.check("/nowhere", ["a.cc"], ["a.cc"], 1)
        finally:
            os.environ["PATH"] = path


class ChangedFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.git("init", "-q", "-b", "main")
        for name in ("kept.cc", "committed.cc", "deleted.cc", "modified.cc"):
            self.write(name, "1")
        self.write(".gitignore", "/ignored.cc")
        self.commit()

    def git(self, *arguments):
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
        subprocess.run(("git",) + identity + arguments, cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w") as file:
            file.write(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")

    def test_committed_modified_and_untracked_files_are_changed_ones(self):
        self.write("committed.cc", "2")
        self.commit()
        self.write("modified.cc", "2")
        self.write("untracked.cc", "2")
        self.write("ignored.cc", "2")
        os.remove(os.path.join(self.root, "deleted.cc"))
        self.assertEqual(repository.default_base(self.root), "HEAD~1")
        self.assertEqual(repository.changed_files(self.root, "HEAD~1"), ["committed.cc", "modified.cc", "untracked.cc"])

    def test_a_base_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(repository.LintError, "nowhere"):
            repository.changed_files(self.root, "nowhere")

    def test_a_branch_is_measured_against_origin_main_and_main_itself_against_the_commit_before(self):
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.write("committed.cc", "2")
        self.commit()
        self.assertEqual(repository.default_base(self.root), "origin/main")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(repository.default_base(self.root), "HEAD~1")

    def test_in_a_first_commit_every_file_is_new(self):
        self.assertIsNone(repository.default_base(self.root))
        self.assertIn("kept.cc", repository.changed_files(self.root, None))


if __name__ == "__main__":
    unittest.main()
