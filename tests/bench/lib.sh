# Shared by the benches: source it. Sets `bench`, a fresh folder, and puts the programs first on PATH: those of DDL_BIN,
# else of build/release, else of build/quickstart, which is built first. BENCH_FIGURE names the one figure wanted.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../examples/lib.sh"
bench=$(mktemp -d)
trap 'rm -rf "$bench"' EXIT
export LC_ALL=C.UTF-8 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

bench_programs() {
  if [ -z "${DDL_BIN:-}" ] && [ -x "$root/build/release/bin/ddl-train" ]; then DDL_BIN=$root/build/release/bin; fi
  build_programs
  local cache=$DDL_BIN/../CMakeCache.txt
  if [ -f "$cache" ] && ! grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' "$cache"; then
    die "$DDL_BIN is no release build: its speed says nothing"
  fi
  say "programs: $DDL_BIN"
}

wanted() { [ -z "${BENCH_FIGURE:-}" ] || [ "$BENCH_FIGURE" = "$1" ]; }

# figure NAME UNIT FILE [KEY=VALUE…]: the median of the numbers in FILE (one a line) as a JSON line on standard output and
# a line of the table on standard error, if it is the figure wanted.
figure() {
  wanted "$1" || return 0
  /usr/bin/python3 - "$@" <<'PYTHON'
import json, statistics, sys
name, unit, path, *more = sys.argv[1:]
values = [float(line) for line in open(path)]
line = {"figure": name, "value": float(f"{statistics.median(values):.6g}"), "unit": unit, "runs": len(values),
        "low": float(f"{min(values):.6g}"), "high": float(f"{max(values):.6g}")}
for pair in more:
    key, value = pair.split("=", 1)
    line[key] = int(value) if value.isdigit() else value
print(json.dumps(line), flush=True)
print(f"{name:24} {line['value']:>12.6g} {unit:12} {min(values):>12.6g} to {max(values):<12.6g} {len(values)} runs", file=sys.stderr)
PYTHON
}
