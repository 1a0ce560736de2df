"""clang-tidy, by .clang-tidy, with flags that fit a build from the system's packages."""

import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess

from bazel import run_bazel
from repository import LintError
from source_file import Finding

# clang-tidy needs no more of .bazelrc than what changes how a file is read. bazel-bin holds generated protobuf headers.
_FLAGS = ["-std=c++17", "-UNDEBUG", "-Wthread-safety", "-I."]
_FLAGS += ["-isystem", "bazel-bin", "-isystem", "third_party/abseil/shim", "-isystem", "third_party/gloo/shim"]
_FLAGS += ["-isystem", "/usr/include/eigen3"]

_INSTALL = "no clang-tidy; install it: apt-get install clang-tidy (CI's is version 14), or leave it out: tools/lint --skip=tidy"


def write_compile_commands(root, files):
    """Writes compile_commands.json, which clangd and other editors read too."""
    # Bazel's link to the workspace's other repositories, of which its own brings headers.
    flags = _FLAGS + ["-isystem", "bazel-%s/external/bazel_tools" % os.path.basename(root)]
    commands = []
    for path in files:
        if path.endswith((".cc", ".h")):
            arguments = ["clang++", "-xc++"] + flags + ["-c", path]
            commands.append({"directory": root, "file": path, "arguments": arguments})
    with open(os.path.join(root, "compile_commands.json"), "w") as out:
        json.dump(commands, out, indent=1)


def _read_alone(paths):
    """The files to hand to clang-tidy: a header only if no source of its name is there, since it reports headers' lines too."""
    sources = {os.path.splitext(p)[0] for p in paths if p.endswith(".cc")}
    return [p for p in paths if p.endswith(".cc") or (p.endswith(".h") and os.path.splitext(p)[0] not in sources)]


def _parse(root, output):
    """Findings of clang-tidy's output, a path below the root made relative."""
    for match in re.finditer(r"^(/?[^:\n]+):(\d+):\d+: (?:warning|error): (.*)$", output, re.MULTILINE):
        path = os.path.relpath(os.path.join(root, match.group(1)), root)
        yield Finding(path, int(match.group(2)), re.sub(r",-warnings-as-errors\]$", "]", match.group(3)))


def _run_one(root, program, path):
    command = [program, "--quiet", "-p", root, path]
    if path.endswith("_test.cc") or re.search("(^|/)(testing|conformance|tests)/", path):
        command.insert(1, "--checks=-performance-*")  # a copy in a test costs nobody anything
    result = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    findings = list(_parse(root, result.stdout))
    if result.returncode != 0 and not findings:
        findings = [Finding(path, 0, "clang-tidy failed: " + (result.stderr.strip().splitlines() or ["no message"])[-1])]
    return findings


def _build_headers(root):
    """Builds what sources include and no source file holds: the headers that protoc writes, and Bazel's own libraries."""
    if run_bazel(root, "build", "--keep_going", "//...").returncode != 0:
        raise LintError("it reads generated headers, but `./bazelw build //...` failed; run that to see why")


def check(root, paths, everything, jobs):
    """The findings in C++ files `paths`, each once, of `everything` that the repository holds; `jobs` at a time."""
    program = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not program:
        raise LintError(_INSTALL)
    alone = _read_alone(paths)
    if alone:
        _build_headers(root)
    write_compile_commands(root, everything)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda path: _run_one(root, program, path), alone)
        return list(collections.OrderedDict.fromkeys(f for findings in found for f in findings))
