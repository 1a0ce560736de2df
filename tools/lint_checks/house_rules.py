"""Hands each file to the rules that are about its kind."""

import os

import build_rules
import cpp_rules
import layer_rules
import package_rules
from source_file import SourceFile


def is_build_file(path):
    return path.endswith((".bazel", ".BUILD", ".bzl")) or os.path.basename(path) == "WORKSPACE"


def check_text(path, text):
    """The findings in one file's text. `path` is relative to the repository's root."""
    if path.endswith((".cc", ".h")):
        rules = cpp_rules.RULES + layer_rules.RULES
    elif is_build_file(path):
        rules = build_rules.RULES
    else:
        return []
    source = SourceFile(path, text)
    return [finding for rule in rules for finding in rule(source)]


def _read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def check(root, paths):
    """The findings in the files `paths`."""
    findings = []
    for path in paths:
        if path.endswith((".cc", ".h")) or is_build_file(path):
            findings += check_text(path, _read(root, path))
    if package_rules.LIST in paths or package_rules.DEPS in paths:
        findings += package_rules.packages_agree(_read(root, package_rules.LIST), _read(root, package_rules.DEPS))
    return findings
