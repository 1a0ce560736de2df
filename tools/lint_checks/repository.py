"""Which files there are, and which of them changed."""

import os
import subprocess


class LintError(Exception):
    """Lint could not do its work; the message says what to do about it."""


def _git(root, *arguments):
    result = subprocess.run(("git",) + arguments, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise LintError("git %s: %s" % (" ".join(arguments), result.stderr.strip()))
    return result.stdout.splitlines()


def _exists(root, revision):
    return subprocess.run(["git", "rev-parse", "--verify", "--quiet", revision], cwd=root, stdout=subprocess.DEVNULL).returncode == 0


def default_base(root):
    """What a change is measured against: origin/main, or where that is HEAD already, the commit before; None: there is neither."""
    for revision in ("origin/main", "HEAD~1"):
        if _exists(root, revision) and _git(root, "merge-base", revision, "HEAD") != _git(root, "rev-parse", "HEAD"):
            return revision
    return None


def all_files(root):
    """Every file that git knows or would add, without those deleted in the working tree."""
    files = _git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    return sorted({f for f in files if os.path.isfile(os.path.join(root, f))})


def changed_files(root, base):
    """The files that differ from the merge base with `base`: in commits, in the index, in the working tree, or untracked.

    Without a base, all files.
    """
    if base is None:
        return all_files(root)
    start = _git(root, "merge-base", base, "HEAD")[0]
    changed = set(_git(root, "diff", "--name-only", "--diff-filter=d", start))
    changed.update(_git(root, "ls-files", "--others", "--exclude-standard"))
    return [f for f in all_files(root) if f in changed]
