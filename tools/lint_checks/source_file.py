"""A file under lint, and what is said of it."""

import collections
import re


class Finding(collections.namedtuple("Finding", "path line message")):
    """One broken rule. Line 0 means the file as a whole."""

    def __str__(self):
        return "%s:%d: %s" % (self.path, max(self.line, 1), self.message)


# What the compiler does not read as code: comments, and the insides of literals. A digit before ' is a separator (1'000).
_NOT_CODE = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"
      | "(?:[^"\\\n]|\\.)*"
      | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'""",
    re.VERBOSE | re.DOTALL,
)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


class SourceFile:
    """The text of a file as lines, with and without what is not code. `path` is relative to the repository's root."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self._code_lines = None

    @property
    def code_lines(self):
        """Lines of C++ with comments and literals blanked, at unchanged line numbers."""
        if self._code_lines is None:
            self._code_lines = _NOT_CODE.sub(_blank, self.text).splitlines()
        return self._code_lines

    @property
    def includes(self):
        """(line number, path) of each #include "path"."""
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match:
                yield number, match.group(1)

    def find(self, pattern, message, lines=None):
        """A finding for each line of `lines` (the code lines) that the pattern matches; {0} in the message is the match."""
        for number, line in enumerate(self.code_lines if lines is None else lines, 1):
            match = re.search(pattern, line)
            if match:
                yield Finding(self.path, number, message.format(match.group().strip()))
