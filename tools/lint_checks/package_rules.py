"""third_party/debian_packages.txt, by which bazelw installs, and deps.bzl, which names packages in its errors, agree."""

import re

from source_file import Finding

LIST = "third_party/debian_packages.txt"
DEPS = "third_party/deps.bzl"

# Listed, but no dependency of the workspace: the compiler.
_NOT_IN_DEPS = {"g++"}


def _listed(text):
    """{(probe, package): line number}"""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("/"):
            probe, package = line.split()
            found[probe, package] = number
    return found


def _declared(text):
    """[(packages, probes, line number)] of each dependency of deps.bzl that the system can provide."""
    pattern = re.compile(r'system_package = "([^"]*)",\s*system_probes = \[([^\]]*)\]')
    for match in pattern.finditer(text):
        yield match.group(1).split(), re.findall(r'"([^"]+)"', match.group(2)), text.count("\n", 0, match.start()) + 1


def packages_agree(list_text, deps_text):
    listed = _listed(list_text)
    used = set(_NOT_IN_DEPS)
    for packages, probes, line in _declared(deps_text):
        used.update(packages)
        for probe in probes:
            if not any((probe, package) in listed for package in packages):
                yield Finding(DEPS, line, "%s does not list `%s` of %s" % (LIST, probe, " ".join(packages)))
    for (_, package), line in listed.items():
        if package not in used:
            yield Finding(LIST, line, "%s uses no package %s" % (DEPS, package))
