#!/bin/sh
# Runs lint_test.py with the machine's Python, of which nothing but its standard library is needed.
exec python3 "$(dirname "$0")/lint_test.py" "$@"
