"""House rules about one C++ file, by its text alone."""

import fnmatch
import os

from source_file import Finding

# Where exceptions of other libraries become a Status, and why there.
_BOUNDARY_FILES = {
    "ddp/checkpoint/safetensors.cc": "nlohmann/json reports a syntax error by throwing",
    "ddp/libtorch/call_torch.*": "LibTorch throws c10::Error",
    "transports/gloo/call_gloo.*": "Gloo throws",
    "transports/gloo/interruptible_context.*": "it throws what Gloo would, to Gloo",
}

# Folders of libraries, whose users own stdout.
_LIBRARIES = ("ddp/", "transports/")

_LONGEST = {".cc": 500, ".h": 350}

_VAGUE_NAMES = ("util", "utils", "common", "helper", "helpers", "misc")


def no_sleep_in_tests(source):
    if source.path.endswith("_test.cc"):
        yield from source.find(
            r"\b(sleep_for|sleep_until|SleepFor|usleep|nanosleep|sleep)\s*\(",
            "a test waits for an event with a deadline, it does not sleep: {0}...)",
        )


def no_exceptions(source):
    if any(fnmatch.fnmatch(source.path, pattern) for pattern in _BOUNDARY_FILES):
        return
    yield from source.find(
        r"\btry\s*\{|\bcatch\s*\(|\bthrow\b",
        "`{0}` outside the files where other libraries' exceptions become a Status (tools/lint_checks/cpp_rules.py lists them)",
    )


def no_output_of_libraries(source):
    is_program = source.path.endswith(("_test.cc", "_benchmark.cc", "main.cc")) or "/testing/" in source.path
    if source.path.startswith(_LIBRARIES) and not is_program:
        yield from source.find(r"\bcout\b|\bstdout\b|\b(printf|puts|putchar|PrintF)\s*\(", "a library prints nothing to stdout: {0}")


def todo_has_a_name(source):
    yield from source.find(r"\b(TODO\b(?!\(\w[^)]*\))|FIXME\b|XXX\b)", "`{0}` without a name; write TODO(name): what", source.lines)


def header_guard_is_the_path(source):
    if not source.path.endswith(".h") or "/shim/" in source.path:  # a shim has the guard of the header that it stands for
        return
    guard = "LOCKSTEP_" + source.path.upper().translate(str.maketrans("/.-", "___")) + "_"
    # Highway includes a file named so once for each set of instructions; its guard is a switch.
    first = "#if defined(%s) == defined(HWY_TARGET_TOGGLE)" if source.path.endswith("-inl.h") else "#ifndef %s"
    for wanted in (first % guard, "#define " + guard, "#endif  // " + guard):
        if wanted not in source.lines:
            line = next((n for n, text in enumerate(source.lines, 1) if text.startswith(wanted.split()[0])), 0)
            yield Finding(source.path, line, "the header guard lacks the line `%s`" % wanted)


def file_is_short(source):
    longest = _LONGEST[os.path.splitext(source.path)[1]]
    if len(source.lines) > longest:
        yield Finding(source.path, longest + 1, "%d lines; the longest allowed is %d: split the file by purpose" % (len(source.lines), longest))


def name_says_something(source):
    stem = os.path.splitext(os.path.basename(source.path))[0]
    if any(part in _VAGUE_NAMES for part in stem.split("_")):
        yield Finding(source.path, 0, "name the file after what is in it; `%s` fits anything" % stem)


RULES = (
    no_sleep_in_tests,
    no_exceptions,
    no_output_of_libraries,
    todo_has_a_name,
    header_guard_is_the_path,
    file_is_short,
    name_says_something,
)
