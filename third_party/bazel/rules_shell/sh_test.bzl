"""rules_shell for Bazel 4: sh_test is the native one. Newer Bazels take the real rules_shell (see deps.bzl)."""

sh_test = native.sh_test
