"""buildifier's own warnings about BUILD and .bzl files: unused loads, missing documentation, deprecated calls."""

import os
import re
import shutil
import subprocess

from repository import LintError
from source_file import Finding


def check(root, paths):
    """The findings in the BUILD and .bzl files `paths`."""
    program = shutil.which("buildifier") or shutil.which(os.path.join(root, ".tools/node_modules/.bin/buildifier"))
    if not program:
        raise LintError("no buildifier; tools/format --check says how to install it")
    if not paths:
        return
    command = [program, "-mode=check", "-lint=warn"] + paths
    result = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for match in re.finditer(r"^([^:\n]+):(\d+): (.*)$", result.stdout, re.MULTILINE):
        yield Finding(match.group(1), int(match.group(2)), match.group(3))
