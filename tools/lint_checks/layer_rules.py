"""House rules about who includes whom: examples, tools, tests -> ddp -> transports -> third_party."""

import re

from source_file import Finding

# What a file of each layer may not include.
_ABOVE = {
    "transports/": ("ddp/", "examples/", "tools/", "tests/"),
    "ddp/": ("examples/", "tools/", "tests/"),
    "tools/": ("examples/", "tests/"),
    "examples/": ("tools/", "tests/"),
}

# Headers of Bazel's own, which look like ours.
_OF_BAZEL = "tools/cpp/runfiles/"

# The transports: folders of transports/ that know nothing of each other. Its other folders are shared.
TRANSPORTS = ("gloo", "hierarchical", "in_process", "nccl", "shm")


def _folder(path):
    match = re.match(r"transports/(\w+)/", path)
    return match.group(1) if match else None


def _transport(path):
    """The transport that the path belongs to, or None."""
    folder = _folder(path)
    return folder if folder in TRANSPORTS else None


def _is_test(path):
    return path.endswith(("_test.cc", "_benchmark.cc")) or "/testing/" in path


def layers_point_down(source):
    for layer, above in _ABOVE.items():
        if source.path.startswith(layer):
            for line, included in source.includes:
                if included.startswith(above) and not included.startswith(_OF_BAZEL):
                    yield Finding(source.path, line, "%s may not include %s: the layer above" % (layer, included))


def the_engine_names_no_transport(source):
    if source.path.startswith("ddp/") and not _is_test(source.path):
        for line, included in source.includes:
            if _transport(included):
                yield Finding(source.path, line, "ddp/ knows transports by transports/transport.h alone, not by %s" % included)


def transports_are_apart(source):
    if _is_test(source.path) or not source.path.startswith("transports/"):
        return
    for line, included in source.includes:
        other = _transport(included)
        if other and other != _transport(source.path):
            yield Finding(source.path, line, "what is shared lies in a folder of its own; %s belongs to the transport %s" % (included, other))


def every_transport_is_listed(source):
    folder = _folder(source.path)
    if folder and source.path == "transports/%s/%s_transport.cc" % (folder, folder) and folder not in TRANSPORTS:
        yield Finding(source.path, 0, "a new transport: add `%s` to TRANSPORTS in tools/lint_checks/layer_rules.py" % folder)


def flags_are_defined_in_one_file(source):
    library = source.path.startswith(("ddp/", "transports/"))
    if not library or source.path in ("ddp/flags.h", "ddp/flags.cc", "ddp/flags_test.cc"):
        return
    for line, included in source.includes:
        if included.startswith("absl/flags/"):
            yield Finding(source.path, line, "flags are ddp/flags.h's alone; a library takes an options struct, not %s" % included)


RULES = (
    layers_point_down,
    the_engine_names_no_transport,
    transports_are_apart,
    every_transport_is_listed,
    flags_are_defined_in_one_file,
)
