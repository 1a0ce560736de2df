"""The layers again, as Bazel sees them: what is linked, not only what is included. Each rule is a query that finds nothing."""

import collections
import os
import re

from bazel import run_bazel
from layer_rules import TRANSPORTS
from repository import LintError
from source_file import Finding

# `query` lists targets that should not be; `path`, if any was found, shows how the first, {0}, came to be.
Rule = collections.namedtuple("Rule", "why query path")

_FLAGS_TARGET = "@com_google_absl//absl/flags:flag"
_LIBRARIES = 'attr("testonly", 0, kind("cc_library", //ddp/...))'
_TRANSPORT = "^//transports/(%s)[:/]" % "|".join(TRANSPORTS)

RULES = (
    Rule(
        "transports/ knows nothing of training: no target of it depends on //ddp",
        "deps(//transports/...) intersect //ddp/...",
        "somepath(//transports/..., {0})",
    ),
    Rule(
        "the engine links no transport: //ddp knows them by name alone",
        'filter("%s", kind("rule", deps(%s)))' % (_TRANSPORT, _LIBRARIES),
        "somepath(%s, {0})" % _LIBRARIES,
    ),
    Rule(
        "flags are //ddp:flags' alone: no other library brings flags into its users' programs",
        "(%s except //ddp:flags) intersect rdeps(//ddp/..., %s)" % (_LIBRARIES, _FLAGS_TARGET),
        "somepath({0}, %s)" % _FLAGS_TARGET,
    ),
    Rule(
        "the sampler is for single processes too: it needs no Gloo",
        'filter("^@@?[^/]*gloo", kind("rule", deps(//ddp/sampler)))',
        "somepath(//ddp/sampler, {0})",
    ),
)


def bazel_query(root):
    """A function from a query to the targets it finds."""

    def query(text):
        result = run_bazel(root, "query", "--noshow_progress", "--keep_going", text)
        if result.returncode != 0:
            last = [line for line in result.stderr.splitlines() if line.strip()][-3:]
            raise LintError("bazel query '%s' failed; without a Bazel, leave it out (--skip=architecture):\n  %s" % (text, "\n  ".join(last)))
        return result.stdout.split()

    return query


def _build_file(label):
    """The BUILD file of a label of this workspace."""
    match = re.match(r"//([^:]*)", label)
    return os.path.join(match.group(1), "BUILD.bazel") if match else "WORKSPACE"


def check(query):
    """A finding for each target that breaks a rule, with the path of dependencies by which it does."""
    for rule in RULES:
        for target in query(rule.query):
            path = query(rule.path.format(target))
            yield Finding(_build_file((path or [target])[0]), 0, "%s\n    %s" % (rule.why, " -> ".join(path or [target])))
