# shellcheck shell=sh
# Sourced by .ci/run, tools/presubmit and tools/nightly: runs parts one after the other, whatever the one before said, and
# remembers how long each took and how it ended.
#
#   part NAME COMMAND...     leaves the command's exit status in $status; the command may set $detail, a few words for the table
#   parts_table              prints a line a part; $parts_failed counts those that did not end with 0
parts='' parts_failed=0

part() {
  part_name=$1 part_start=$(date +%s) detail=''
  shift
  echo "=== $part_name: $*"
  "$@"
  status=$?
  [ "$status" = 0 ] || parts_failed=$((parts_failed + 1))
  case $status in
    0) part_result=passed ;;
    *) part_result="FAILED (exit code $status)" ;;
  esac
  parts="$parts$(printf '%-14s %5d s   %s' "$part_name" $(($(date +%s) - part_start)) "$part_result${detail:+: $detail}")
"
}

parts_table() { printf '%s' "$parts"; }
