#!/bin/sh
# Tests ./bazelw and tools/bazel on a machine made of stand-ins: a PATH that holds only the tools named here and scripts in
# the place of Bazel, apt-get, sudo and id, and a package list whose files lie in a temporary folder. Installs nothing.
#
#   tests/bazelw_test.sh       prints one line a case; exits 1 if any failed
#
# shellcheck disable=SC2016  # the bodies of stand-ins are expanded when they run
#
# Not a Bazel test, since it is Bazel's absence that it is about; .ci/run calls it.
set -u
source_root=$(CDPATH='' cd -- "${0%/*}/.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# --- The machine ----------------------------------------------------------------------------------------------------

script() { # script NAME BODY: a stand-in on the PATH of the machine
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A checkout in a folder with a space in its name, and one package, libfoo, that is not installed yet.
new_machine() {
  rm -rf "${work:?}"/*
  checkout="$work/my checkout" calls="$work/calls"
  mkdir -p "$work/bin" "$checkout/tools" "$checkout/third_party" "$checkout/ddp/sampler"
  cp "$source_root/bazelw" "$checkout/"
  cp "$source_root/tools/bazel" "$checkout/tools/"
  echo "$work/include/foo.h libfoo-dev" >"$checkout/third_party/debian_packages.txt"
  for tool in sh readlink flock mktemp rm mv cat grep tail env sleep mkdir; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
  done
  : >"$calls"
  script id 'echo 0'
  script dpkg ''
  script apt-get "echo \"apt-get \$*\" >>'$calls'; case \"\$*\" in *install*) mkdir -p '$work/include' && : >'$work/include/foo.h' ;; esac"
  script bazel "echo \"bazel \$*\" >>'$calls'"
}

install_libfoo() {
  mkdir -p "$work/include"
  : >"$work/include/foo.h"
}

# run COMMAND...: runs it in $directory with the machine's PATH alone; leaves $status, $out and $err.
run() {
  (cd "${directory:-$checkout}" && env -i PATH="$work/bin" HOME="$work" "$@" >"$work/out" 2>"$work/err" </dev/null)
  status=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}

# --- Expectations ---------------------------------------------------------------------------------------------------

expect() { # expect WHAT ACTUAL EXPECTED
  [ "$2" = "$3" ] || note "$1 is \"$2\", expected \"$3\""
}
expect_in() { # expect_in WHAT TEXT PART
  case $2 in
    *"$3"*) ;;
    *) note "$1 lacks \"$3\": \"$2\"" ;;
  esac
}
note() { problems="$problems
    $1"; }

wait_for() { # the deadline, 60 s, only a broken program meets
  tries=0
  while [ ! -e "$1" ]; do
    tries=$((tries + 1))
    [ $tries -lt 6000 ] || { note "$1 never came" && return; }
    sleep 0.01
  done
}
wait_for_line() {
  tries=0
  while ! grep -q "$2" "$1" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 6000 ] || { note "$1 never said $2" && return; }
    sleep 0.01
  done
}

check() { # check NAME: runs the function of that name on a new machine
  problems='' directory=''
  new_machine
  "$1"
  if [ -z "$problems" ]; then
    passed=$((passed + 1)) && echo "[ OK ] $1"
  else
    failed=$((failed + 1)) && echo "[FAIL] $1$problems"
  fi
}

# --- Cases ----------------------------------------------------------------------------------------------------------

a_machine_that_is_set_up_prints_nothing_and_installs_nothing() {
  install_libfoo
  run ./bazelw build //ddp
  expect status "$status" 0
  expect output "$out$err" ''
  expect calls "$(cat "$calls")" 'bazel build //ddp'
}

missing_libraries_are_installed_and_each_command_is_printed_first() {
  run ./bazelw build //ddp
  expect status "$status" 0
  expect_in stderr "$err" 'bazelw: env DEBIAN_FRONTEND=noninteractive apt-get update'
  expect_in stderr "$err" 'install -y --no-install-recommends libfoo-dev'
  expect calls "$(grep -c '^apt-get' "$calls") $(tail -n 1 "$calls")" '2 bazel build //ddp'
  expect_in rc "$(cat "$checkout/.bazelw.rc")" 'build --config=system'
}

without_any_bazel_debians_is_installed() {
  rm "$work/bin/bazel"
  script apt-get "echo \"apt-get \$*\" >>'$calls'; : >'$work/include/foo.h'; printf '#!/bin/sh\necho installed bazel\n' >'$work/bin/bazel'; chmod +x '$work/bin/bazel'"
  ln -s "$(command -v chmod)" "$work/bin/chmod"
  mkdir -p "$work/include"
  run ./bazelw info
  expect status "$status" 0
  expect stdout "$out" 'installed bazel'
  rm "$work/bin/bazel"
}

install_no_forbids_and_says_what_is_missing() {
  rm "$work/bin/bazel"
  run env BAZELW_INSTALL=no ./bazelw build //ddp
  expect status "$status" 1
  expect stderr "$err" 'bazelw: no Bazel, and BAZELW_INSTALL=no forbids to install one. Missing: bazel-bootstrap libfoo-dev'
  expect calls "$(cat "$calls")" ''
}

install_no_with_a_bazel_builds_the_pinned_archives_and_says_so() {
  run env BAZELW_INSTALL=no ./bazelw build //ddp
  expect status "$status" 0
  expect_in stderr "$err" 'building the pinned archives, since these packages are missing: libfoo-dev'
  expect calls "$(cat "$calls")" 'bazel build //ddp'
  expect 'system in rc' "$(grep -c system "$checkout/.bazelw.rc")" 0
}

without_root_and_sudo_it_says_exactly_what_to_install() {
  script id 'echo 1000'
  run ./bazelw build //ddp
  expect status "$status" 1
  expect_in stderr "$err" 'apt-get update && apt-get install -y --no-install-recommends libfoo-dev'
  expect calls "$(cat "$calls")" ''
}

a_sudo_that_would_ask_for_a_password_is_not_used_without_a_terminal() {
  script id 'echo 1000'
  script sudo 'exit 1'
  run ./bazelw build //ddp
  expect status "$status" 1
  expect_in stderr "$err" 'As root, run:'
}

a_sudo_that_asks_nothing_is_used_and_shown() {
  script id 'echo 1000'
  script sudo 'case $1 in -n) exit 0 ;; *) exec "$@" ;; esac'
  ln -s "$(command -v true)" "$work/bin/true"
  run ./bazelw build //ddp
  expect status "$status" 0
  expect_in stderr "$err" 'bazelw: sudo env DEBIAN_FRONTEND=noninteractive apt-get update'
}

an_apt_that_fails_is_reported_with_its_own_words() {
  script apt-get 'echo "E: Unable to locate package libfoo-dev"; exit 100'
  run ./bazelw build //ddp
  expect status "$status" 1
  expect_in stderr "$err" 'failed with exit code 100'
  expect_in stderr "$err" 'E: Unable to locate package libfoo-dev'
  expect calls "$(cat "$calls")" ''
}

an_apt_that_succeeds_without_installing_is_not_believed() {
  script apt-get ''
  run ./bazelw build //ddp
  expect status "$status" 1
  expect_in stderr "$err" 'is not there: libfoo-dev'
}

without_bazel_and_apt_it_names_the_ways_out() {
  rm "$work/bin/bazel" "$work/bin/apt-get"
  run ./bazelw build //ddp
  expect status "$status" 1
  expect_in stderr "$err" 'put Bazelisk (github.com/bazelbuild/bazelisk) on PATH, or set BAZEL'
}

bazels_arguments_output_and_exit_code_pass_through() {
  install_libfoo
  script bazel 'for a in "$@"; do echo "<$a>"; done; echo to stderr >&2; exit 37'
  run ./bazelw run //x -- 'two words' '' '*'
  expect status "$status" 37
  expect stdout "$out" '<run>
<//x>
<-->
<two words>
<>
<*>'
  expect stderr "$err" 'to stderr'
}

a_folder_below_stays_the_current_one() {
  install_libfoo
  script bazel 'pwd -P'
  directory="$checkout/ddp/sampler"
  run ../../bazelw build :all
  expect stdout "$out" "$checkout/ddp/sampler"
}

through_a_link_from_elsewhere_it_works_in_its_own_checkout() {
  install_libfoo
  script bazel 'pwd -P'
  mkdir "$work/links"
  ln -s "$checkout/bazelw" "$work/links/first"
  ln -s first "$work/links/second"
  directory="$work"
  run links/second build //ddp
  expect 'status and stdout' "$status $out" "0 $checkout"
}

bazelisk_comes_before_bazel_and_BAZEL_before_both() {
  install_libfoo
  script bazelisk 'echo bazelisk'
  script mine 'echo mine'
  run ./bazelw build
  expect stdout "$out" bazelisk
  run env BAZEL="$work/bin/mine" ./bazelw build
  expect stdout "$out" mine
  run env BAZEL="$work/bin/none" ./bazelw build
  expect status "$status" 1
  expect_in stderr "$err" "BAZEL=$work/bin/none is not an executable file"
}

two_at_once_install_once() {
  script apt-get "echo \"apt-get \$*\" >>'$calls'; case \"\$*\" in *install*) : >'$work/installing'; while [ ! -e '$work/go' ]; do sleep 0.01; done; mkdir -p '$work/include'; : >'$work/include/foo.h' ;; esac"
  (cd "$checkout" && env -i PATH="$work/bin" ./bazelw first >/dev/null 2>"$work/err1") &
  first=$!
  wait_for "$work/installing"
  (cd "$checkout" && env -i PATH="$work/bin" ./bazelw second >/dev/null 2>"$work/err2") &
  second=$!
  wait_for_line "$work/err2" 'another bazelw is installing'
  : >"$work/go"
  wait "$first" || note "the first ended with $?"
  wait "$second" || note "the second ended with $?"
  expect 'installs' "$(grep -c install "$calls")" 1
  expect 'bazels' "$(grep -c '^bazel' "$calls")" 2
}

the_generated_rc_is_written_once_and_again_only_when_the_answer_changes() {
  install_libfoo
  run ./bazelw build
  before=$(ls -i "$checkout/.bazelw.rc")
  run ./bazelw build
  expect inode "$(ls -i "$checkout/.bazelw.rc")" "$before"
  rm "$work/include/foo.h"
  run env BAZELW_INSTALL=no ./bazelw build
  expect 'system in rc' "$(grep -c system "$checkout/.bazelw.rc")" 0
  expect 'left over' "$(echo "$checkout"/.bazelw.rc.*)" "$checkout/.bazelw.rc.*"
}

# shellcheck disable=SC2013  # function names are words
for case in $(sed -n '/^# --- Cases/,$ s/^\([a-zA-Z_]*\)() {$/\1/p' "$0"); do check "$case"; done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
