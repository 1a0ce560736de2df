"""Pinned archives of every dependency: what is downloaded where the system's packages are not used.

`LEGACY` serves WORKSPACE mode (Bazel 4 to 6, which cannot load newer Abseil or Protobuf). Versions are those of Debian 12,
so that both ways of building compile against the same API.

Every sha256 is that of a public source, named beside it (BCR: the Bazel Central Registry's source.json of that version).
"tried" says what has been built from the very bytes: Debian's source package of that name carries them unchanged, so
`bazel build --repo_env=LOCKSTEP_DEPS=archive --distdir=...` could be run without the network that the others need.
"""

def _pin(url, sha256, strip_prefix = ""):
    return struct(urls = [url], sha256 = sha256, strip_prefix = strip_prefix)

LEGACY = {
    # BCR abseil-cpp 20220623.1. Not tried: Debian repacks this archive; a build of Debian's bytes passed.
    "com_google_absl": _pin(
        url = "https://github.com/abseil/abseil-cpp/archive/refs/tags/20220623.1.tar.gz",
        sha256 = "91ac87d30cc6d79f9ab974c51874a704de9c2647c40f6932597329a282217ba8",
        strip_prefix = "abseil-cpp-20220623.1",
    ),
    # Debian google benchmark 1.7.1. Tried.
    "com_github_google_benchmark": _pin(
        url = "https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz",
        sha256 = "6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7",
        strip_prefix = "benchmark-1.7.1",
    ),
    # Debian googletest 1.12.1. Tried.
    "com_google_googletest": _pin(
        url = "https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz",
        sha256 = "81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2",
        strip_prefix = "googletest-release-1.12.1",
    ),
    # Debian protobuf 3.21.12. Tried.
    "com_google_protobuf": _pin(
        url = "https://github.com/protocolbuffers/protobuf/archive/refs/tags/v3.21.12.tar.gz",
        sha256 = "930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53",
        strip_prefix = "protobuf-3.21.12",
    ),
    # Debian eigen3 3.4.0. Tried.
    "eigen": _pin(
        url = "https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.bz2",
        sha256 = "b4c198460eba6f28d34894e3a5710998818515104d6e74e5cc331ce31e46e626",
        strip_prefix = "eigen-3.4.0",
    ),
    # BCR gloo 0.0.0-20230531-54cbae0: Gloo has no releases; Debian 12 has the commit of a year before. Not tried; the overlay
    # built over a Gloo of 2025.
    "gloo": _pin(
        url = "https://github.com/facebookincubator/gloo/archive/54cbae0d3a67fa890b4c3d9ee162b7860315e341.tar.gz",
        sha256 = "61089361dbdbc9d6f75e297148369b13f615a3e6b78de1be56cce74ca2f64940",
        strip_prefix = "gloo-54cbae0d3a67fa890b4c3d9ee162b7860315e341",
    ),
    # Debian highway 1.0.3. Tried.
    "highway": _pin(
        url = "https://github.com/google/highway/archive/refs/tags/1.0.3.tar.gz",
        sha256 = "566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e",
        strip_prefix = "highway-1.0.3",
    ),
    # Debian nlohmann-json3 3.11.2, and BCR nlohmann_json 3.11.2. Tried.
    "nlohmann_json": _pin(
        url = "https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz",
        sha256 = "d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273",
        strip_prefix = "json-3.11.2",
    ),
    # Arch Linux, tensorstore and others, of the release archive. Not tried; the overlay built over zlib 1.3.2.
    "zlib": _pin(
        url = "https://github.com/madler/zlib/releases/download/v1.2.13/zlib-1.2.13.tar.gz",
        sha256 = "b3a24de97a8fdbc835b9833169501030b8977031bcb54b3b3ac13740f846ab30",
        strip_prefix = "zlib-1.2.13",
    ),

    # What Bazel itself, or the archives above, load. BCR, same names and versions. Not tried (Debian's are repacked).
    "bazel_skylib": _pin(
        url = "https://github.com/bazelbuild/bazel-skylib/releases/download/1.0.3/bazel-skylib-1.0.3.tar.gz",
        sha256 = "1c531376ac7e5a180e0237938a2536de0c54d93f5c278634818e0efc952dd56c",
    ),
    "platforms": _pin(
        url = "https://github.com/bazelbuild/platforms/releases/download/0.0.6/platforms-0.0.6.tar.gz",
        sha256 = "5308fc1d8865406a49427ba24a9ab53087f17f5266a7aabbfc28823f3916e1ca",
    ),
    "rules_java": _pin(
        url = "https://github.com/bazelbuild/rules_java/releases/download/4.0.0/rules_java-4.0.0.tar.gz",
        sha256 = "34b41ec683e67253043ab1a3d1e8b7c61e4e8edefbcad485381328c934d072fe",
    ),
}
