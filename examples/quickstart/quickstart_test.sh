#!/bin/sh
# Alone and on three ranks the program finds the line, and the README shows its heart word for word.
set -eu
failures=0

expect_output() {
  wanted=$1
  shift
  got=$("$@" 2>&1) || true
  case $got in
    *"$wanted"*) echo "ok: $wanted" ;;
    *)
      echo "FAILED: $* gave: $got"
      failures=1
      ;;
  esac
}

program=examples/quickstart/quickstart
expect_output 'y = 3.000 x -1.000, found by 1 ranks' "$program"
expect_output 'y = 3.000 x -1.000, found by 3 ranks' tools/ddprun/ddprun --nproc_per_node=3 "$program"

heart=$(sed -n '/README: begin/,/README: end/{/README: /!p}' "$program.cc")
shown=$(sed -n '/^```cpp$/,/^```$/{/^```/!p}' README.md)
if [ "$heart" = "$shown" ]; then
  echo 'ok: README.md shows the program'
else
  echo 'FAILED: the cpp block of README.md differs from examples/quickstart/quickstart.cc'
  failures=1
fi
exit $failures
