#!/usr/bin/env bash
# Options, environment, configuration files, errors and exit codes of every program (ddl/cli/app.h).
set -uo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
unset "${!DDL_PROBE_@}" DDL_LOG_LEVEL
failures=0

# check NAME EXIT STDOUT STDERR-PATTERN COMMAND…: STDOUT exactly, STDERR as a pattern of its first line.
check() {
  local name=$1 code=$2 out=$3 err=$4 found
  shift 4
  "$@" >out 2>err
  found=$?
  [ "$found" = "$code" ] || { echo "$name: exit $found, expected $code"; cat err; failures=$((failures + 1)); }
  [ "$out" = - ] || [ "$(cat out)" = "$out" ] || { echo "$name: printed: $(cat out)"; failures=$((failures + 1)); }
  # shellcheck disable=SC2053
  [[ "$(head -n 1 err)" == $err ]] || { echo "$name: said: $(cat err)"; failures=$((failures + 1)); }
  if [ "$code" != 0 ] && [ "$(grep -c 'error:' err)" != 1 ]; then echo "$name: not one line of error: $(cat err)"; failures=$((failures + 1)); fi
}
run() { "$PROBE" run --log-level warning "$@"; }

check defaults 0 'model=mlp batch=64 rate=0.1 fast=0' '' run --model mlp
check options 0 'model=m batch=8 rate=0.5 fast=1 a=1 b=x=y' '' run --model m --batch 8 --learning-rate 0.5 --fast --set a=1 --set b=x=y
check other_command 0 listed '' "$PROBE" list

# usage
check unknown_option 2 '' 'ddl-probe: error: unknown option --modle; did you mean --model?*' run --modle mlp
check far_option 2 '' 'ddl-probe: error: unknown option --zzzzzz; see ddl-probe --help' run --model m --zzzzzz
check short_option 2 '' 'ddl-probe: error: unknown option -x*' run --model m -x
check missing_option 2 '' 'ddl-probe: error: --model is required*' run
check wrong_type 2 '' 'ddl-probe: error: *--batch*' run --model m --batch many
check no_command 2 '' 'ddl-probe: error: *subcommand*' "$PROBE"
check unknown_command 2 '' "ddl-probe: error: unknown command 'rnu'; did you mean run?*" "$PROBE" rnu --model m
check extra_word 2 '' "ddl-probe: error: unexpected argument 'word'*" run --model m word
check setting 2 - 'ddl-probe: error: --set: found*' run --model m --set novalue
check setting_twice 2 - "ddl-probe: error: --set: 'a' is given twice*" run --model m --set a=1 --set a=2
check level 2 '' 'ddl-probe: error: *' "$PROBE" --log-level loud list

# exit codes; an error is one line
check bad_input 2 - 'ddl-probe: error: some.file: two lines; mend it' run --model m --fail input
check failure 1 - 'ddl-probe: error: broken' run --model m --fail failure
check stopped 75 - 'ddl-probe: error: stopped' run --model m --fail stopped
check other 1 - 'ddl-probe: error: other' run --model m --fail other
check memory 1 - 'ddl-probe: error: out of memory' run --model m --fail memory

# environment and configuration files: the command line wins, then the environment, then the file
printf '[run]\nmodel="file"\nbatch=1\nlearning-rate=0.25\nfast=true\n' >good.toml
check file 0 'model=file batch=1 rate=0.25 fast=1' '' "$PROBE" --log-level warning --config good.toml run
check environment 0 'model=env batch=2 rate=0.1 fast=1' '' env DDL_PROBE_MODEL=env DDL_PROBE_BATCH=2 DDL_PROBE_FAST=true DDL_LOG_LEVEL=warning "$PROBE" run
check environment_over_file 0 'model=file batch=2 rate=0.25 fast=1' '' env DDL_PROBE_BATCH=2 "$PROBE" --log-level warning --config good.toml run
check line_over_both 0 'model=file batch=3 rate=0.25 fast=1' '' env DDL_PROBE_BATCH=2 "$PROBE" --log-level warning --config good.toml run --batch 3
check environment_type 2 '' 'ddl-probe: error: *batch*' env DDL_PROBE_BATCH=many "$PROBE" --log-level warning run --model m
check level_from_environment 0 listed '' env DDL_LOG_LEVEL=off "$PROBE" list
printf '[run]\nlearnig-rate=0.1\n' >key.toml
check unknown_key 2 '' "ddl-probe: error: key.toml: unknown key 'run.learnig-rate'; did you mean learning-rate?" "$PROBE" --config key.toml run --model m
printf 'batch=1\n' >section.toml
check wrong_section 2 '' "ddl-probe: error: section.toml: unknown key 'batch'; it belongs in section \[run\]" "$PROBE" --config section.toml run --model m
printf '[rnu]\nbatch=1\n' >sections.toml
check unknown_section 2 '' 'ddl-probe: error: sections.toml: unknown section \[rnu\]; did you mean run?' "$PROBE" --config sections.toml run --model m
printf '[run]\nlog-level="debug"\n' >root.toml
check root_key 2 '' "ddl-probe: error: root.toml: unknown key 'run.log-level'; it belongs before the first section" "$PROBE" --config root.toml run --model m
printf '[run]\nbatch="many"\n' >type.toml
check wrong_type_in_file 2 '' 'ddl-probe: error: *batch*' "$PROBE" --config type.toml run --model m
check no_file 2 '' 'ddl-probe: error: *nowhere.toml*' "$PROBE" --config nowhere.toml run --model m

# the final configuration is a file that gives the same again
DDL_PROBE_BATCH=7 "$PROBE" --print-config run --model m --fast >printed.toml 2>err || { echo "print-config failed: $(cat err)"; failures=$((failures + 1)); }
check printed 0 'model=m batch=7 rate=0.1 fast=1' '' "$PROBE" --log-level warning --config printed.toml run

# help and versions
check help 0 - '' "$PROBE" --help
grep -q 'ddl-probe run --model mlp' out || { echo "no example in --help"; failures=$((failures + 1)); }
check help_of_command 0 - '' "$PROBE" run --help
grep -q 'ddl-probe run --model mlp' out && ! grep -q 'ddl-probe list' out || { echo "examples of run --help"; cat out; failures=$((failures + 1)); }
grep -q 'Env:' out && { echo "variables in --help"; failures=$((failures + 1)); }
check version 0 - '' "$PROBE" --version
grep -q '^ddl [0-9]' out && grep -q '^oneDNN [0-9]' out && grep -q '^HDF5 [0-9]' out || { echo "version: $(cat out)"; failures=$((failures + 1)); }

# a full disk is not silent
"$PROBE" list >/dev/full 2>err
[ $? = 1 ] && grep -q 'standard output' err || { echo "/dev/full: $(cat err)"; failures=$((failures + 1)); }
"$PROBE" list >&- 2>err
[ $? = 1 ] || { echo "closed stdout: $(cat err)"; failures=$((failures + 1)); }
"$PROBE" --help >/dev/full 2>err
[ $? = 1 ] || { echo "--help to /dev/full"; failures=$((failures + 1)); }

[ "$failures" = 0 ] || { echo "$failures checks failed"; exit 1; }
