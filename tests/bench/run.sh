#!/usr/bin/env bash
# Speed of ddl, each figure by one command.
#   tests/bench/run.sh AREA [FIGURE] [--quick]
# Areas: run data compute comm tasks plan gpu. One JSON line per figure on standard output, a table for people on
# standard error. --quick shows that a figure can be had, with too few runs to quote it.
# Exit: 0 done; 1 failed; 2 unknown area or figure; 3 a peer is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
areas="run data compute comm tasks plan gpu"

usage() { sed -n '2,6s/^# \{0,1\}//p' "$0"; }
refuse() { printf 'run.sh: %s\n' "$*" >&2; exit 2; }

area="" figure="" quick=""
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    --quick) quick=1 ;;
    -*) refuse "unknown option $argument (usage: tests/bench/run.sh AREA [FIGURE] [--quick])" ;;
    *)
      if [ -z "$area" ]; then area=$argument
      elif [ -z "$figure" ]; then figure=$argument
      else refuse "one figure at a time: '$argument' is too many"; fi ;;
  esac
done
[ -n "$area" ] || refuse "no area (one of: $areas)"
case " $areas " in *" $area "*) ;; *) refuse "unknown area '$area' (one of: $areas)" ;; esac
shopt -s nullglob
scripts=("$here/$area"/*.sh)
[ ${#scripts[@]} -gt 0 ] || refuse "area $area has no figures yet"

# A script says on a line "# figures:" what it prints.
figures_of() { sed -n 's/^# figures: *//p' "$1"; }
all=$(for script in "${scripts[@]}"; do figures_of "$script"; done | xargs)
if [ -n "$figure" ]; then
  case " $all " in *" $figure "*) ;; *) refuse "unknown figure '$figure' (area $area has: $all)" ;; esac
fi
for script in "${scripts[@]}"; do
  if [ -n "$figure" ]; then
    case " $(figures_of "$script") " in *" $figure "*) ;; *) continue ;; esac
  fi
  BENCH_FIGURE=$figure BENCH_QUICK=$quick bash "$script"
done
