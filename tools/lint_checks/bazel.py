"""Bazel, for the checks that need it."""

import os
import subprocess


def run_bazel(root, *arguments):
    """The completed process of `./bazelw ARGUMENTS`. It installs nothing and downloads nothing that it can avoid."""
    environment = dict(os.environ, BAZELW_INSTALL="no")
    command = (os.path.join(root, "bazelw"),) + arguments
    return subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
