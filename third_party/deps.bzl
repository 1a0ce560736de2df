"""Every repository that Lockstep needs, in WORKSPACE mode. Another workspace calls lockstep_dependencies() too."""

load(":dependency.bzl", "dependency", "files")
load(":versions.bzl", "LEGACY")

_ABSEIL_PACKAGES = ["base", "container", "debugging", "flags", "functional", "numeric", "status", "strings", "synchronization", "time", "types"]

def _dependency(name, **kwargs):
    if native.existing_rule(name):
        return  # the workspace that depends on us has chosen its own
    pin = LEGACY.get(name, struct(urls = [], sha256 = "", strip_prefix = ""))  # without one, the rule says so when it is used
    dependency(name = name, urls = pin.urls, sha256 = pin.sha256, strip_prefix = pin.strip_prefix, **kwargs)

def _bazel_4_repositories():
    """Repositories that Bazel 4 itself resolves in every build; without them it would go to the network."""
    if not native.existing_rule("rules_cc"):
        files(name = "rules_cc", content = {
            "@lockstep//third_party/bazel:rules_cc/defs.bzl": "cc/defs.bzl",
            "@lockstep//third_party/bazel:rules_cc/empty.BUILD": "cc/BUILD.bazel",
        })
    if not native.existing_rule("rules_shell"):
        files(name = "rules_shell", content = {
            "@lockstep//third_party/bazel:rules_shell/sh_test.bzl": "shell/sh_test.bzl",
            "@lockstep//third_party/bazel:rules_cc/empty.BUILD": "shell/BUILD.bazel",
        })
    if not native.existing_rule("remote_coverage_tools"):
        files(name = "remote_coverage_tools", content = {
            "@lockstep//third_party/bazel:remote_coverage_tools/tools.BUILD": "BUILD.bazel",
        })

def _bazel_rule_repositories():
    """rules_java and platforms, which Bazel 4 loads while it resolves toolchains, whatever the language; and skylib."""
    _dependency(
        name = "rules_java",
        system_package = "bazel-rules-java",
        system_probes = ["/usr/share/bazel/rules/java/java/BUILD"],
        system_symlinks = {"java": "/usr/share/bazel/rules/java/java"},
    )
    _dependency(
        name = "platforms",
        system_package = "bazel-platforms",
        system_probes = ["/usr/share/bazel/tools/platforms/BUILD"],
        system_symlinks = {d: "/usr/share/bazel/tools/platforms/" + d for d in ["BUILD", "cpu", "os"]},
    )

    # Loaded by Abseil's own BUILD files.
    _dependency(
        name = "bazel_skylib",
        system_package = "bazel-skylib",
        system_probes = ["/usr/share/bazel/tools/skylib/lib/selects.bzl"],
        system_symlinks = {d: "/usr/share/bazel/tools/skylib/" + d for d in ["BUILD", "bzl_library.bzl", "lib", "rules"]},
    )

def lockstep_dependencies():
    """Declares what is not declared yet."""
    _bazel_4_repositories()
    _bazel_rule_repositories()
    _dependency(
        name = "com_google_absl",
        system_package = "libabsl-dev",
        system_probes = ["/usr/include/absl/functional/any_invocable.h"],
        system_build_files = {"@lockstep//third_party/abseil:%s.BUILD" % p: "absl/%s/BUILD.bazel" % p for p in _ABSEIL_PACKAGES},
    )
    _dependency(
        name = "com_google_protobuf",
        system_package = "libprotobuf-dev protobuf-compiler",
        system_probes = ["/usr/include/google/protobuf/message.h", "/usr/bin/protoc"],
        system_symlinks = {"protoc": "/usr/bin/protoc"},
        archive_build_file = "@lockstep//third_party/protobuf:archive.BUILD",
        system_build_files = {"@lockstep//third_party/protobuf:system.BUILD": "BUILD.bazel"},
    )
    _dependency(
        name = "com_google_googletest",
        system_package = "libgtest-dev libgmock-dev",
        system_probes = ["/usr/include/gtest/gtest.h", "/usr/include/gmock/gmock.h"],
        system_build_files = {"@lockstep//third_party/googletest:system.BUILD": "BUILD.bazel"},
    )
    _dependency(
        name = "com_github_google_benchmark",
        system_package = "libbenchmark-dev",
        system_probes = ["/usr/include/benchmark/benchmark.h"],
        system_build_files = {"@lockstep//third_party/benchmark:system.BUILD": "BUILD.bazel"},
    )
    _dependency(
        name = "gloo",
        system_package = "libgloo-dev",
        system_probes = ["/usr/include/gloo/allreduce.h"],
        archive_build_file = "@lockstep//third_party/gloo:archive.BUILD",
        system_build_files = {
            "@lockstep//third_party/gloo:shim/gloo/common/memory.h": "shim/gloo/common/memory.h",
            "@lockstep//third_party/gloo:system.BUILD": "BUILD.bazel",
        },
    )
    _dependency(
        name = "eigen",
        system_package = "libeigen3-dev",
        system_probes = ["/usr/include/eigen3/Eigen/Core"],
        system_symlinks = {"eigen3": "/usr/include/eigen3"},
        archive_build_file = "@lockstep//third_party/eigen:archive.BUILD",
        system_build_files = {"@lockstep//third_party/eigen:system.BUILD": "BUILD.bazel"},
    )
    _dependency(
        name = "highway",
        system_package = "libhwy-dev",
        system_probes = ["/usr/include/hwy/highway.h"],
        archive_build_file = "@lockstep//third_party/highway:archive.BUILD",
        system_build_files = {"@lockstep//third_party/highway:system.BUILD": "BUILD.bazel"},
    )
    _dependency(
        name = "nlohmann_json",
        system_package = "nlohmann-json3-dev",
        system_probes = ["/usr/include/nlohmann/json.hpp"],
        archive_build_file = "@lockstep//third_party/nlohmann_json:archive.BUILD",
        system_build_files = {"@lockstep//third_party/nlohmann_json:system.BUILD": "BUILD.bazel"},
    )
    _dependency(
        name = "zlib",
        system_package = "zlib1g-dev",
        system_probes = ["/usr/include/zlib.h"],
        archive_build_file = "@lockstep//third_party/zlib:archive.BUILD",
        system_build_files = {"@lockstep//third_party/zlib:system.BUILD": "BUILD.bazel"},
    )
