"""Pinned archives of every dependency: what is downloaded where the system's packages are not used.

`LEGACY` serves WORKSPACE mode (Bazel 4 to 6, which cannot load newer Abseil or Protobuf). Versions are those of Debian 12,
so that both ways of building compile against the same API.
"""

LEGACY = {}
