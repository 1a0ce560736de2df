"""House rules about one BUILD or .bzl file, by its text alone."""

import re

from source_file import Finding

# Defines what a Bazel without rules_cc calls rules_cc.
_STANDS_FOR_THE_RULES = ("third_party/bazel/",)

# Rules that Bazel 8 and 9 no longer have unless they are loaded.
_LOADED_RULE = r"(?:cc|sh|py|java|proto)_(?:library|binary|test|import|toolchain|proto_library)"


def _calls(source, name):
    """(line number, text) of each call, at the start of a line, of what `name` matches; the text ends with its parenthesis."""
    for match in re.finditer(r"^(%s)\(.*?^\)|^(%s)\([^\n]*\)$" % (name, name), source.text, re.MULTILINE | re.DOTALL):
        yield source.text.count("\n", 0, match.start()) + 1, match.group()


def _loaded(source):
    """The names that the file's load statements bring."""
    names = set()
    for _, text in _calls(source, "load"):
        names.update(re.findall(r'"(\w+)"|(\w+)\s*=', text.split(",", 1)[-1]))
    return {name for pair in names for name in pair if name}


def rules_are_loaded(source):
    if source.path.startswith(_STANDS_FOR_THE_RULES):
        return
    yield from source.find(r"\bnative\.(%s)\b" % _LOADED_RULE, "load the rule from @rules_cc or its like, instead of {0}", source.lines)
    if source.path.endswith(".bzl"):
        return
    loaded = _loaded(source)
    for line, text in _calls(source, _LOADED_RULE):
        rule = text.split("(")[0]
        if rule not in loaded:
            yield Finding(source.path, line, "%s is not loaded; newer Bazels have no such rule of their own" % rule)


def tests_say_their_size(source):
    for line, text in _calls(source, r"\w+_test"):
        if not re.search(r"^\s*size = |\(size = |, size = ", text, re.MULTILINE):
            yield Finding(source.path, line, "the test says no size: small (under a minute), medium or large")


def todo_has_a_name(source):
    yield from source.find(r"\b(TODO\b(?!\(\w[^)]*\))|FIXME\b|XXX\b)", "`{0}` without a name; write TODO(name): what", source.lines)


RULES = (rules_are_loaded, tests_say_their_size, todo_has_a_name)
