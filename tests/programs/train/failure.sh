# M01: one worker fails, or is killed: all end, its message is told, nobody hangs.
. "$(dirname "$0")/lib.sh"
make_data data 150 3
make_plan plan.json --np 3

for rank in 0 1 2; do
  DDL_TEST_FAIL=$rank:4 expect_exit 1 timeout 60 ddl-train --plan plan.json --length 1000ep -o run --force
  expect_err "worker $rank on $(hostname)"
  expect_err "told to fail at step 4"
done

# Children of a process, and theirs.
workers_of() { local c; for c in $(pgrep -P "$1"); do pgrep -P "$c"; done; }
timeout 120 ddl-train --plan plan.json --length 1000000ep -o run --force >stdout 2>stderr &
job=$!
for _ in $(seq 300); do
  launcher=$(pgrep -P $job ddl-train) && [ -n "$launcher" ] && [ "$(workers_of "$launcher" | wc -l)" = 3 ] &&
    grep -q '"step"' run/metrics.jsonl 2>/dev/null && break
  sleep 0.1
done
mapfile -t all < <(workers_of "$launcher")
[ ${#all[@]} = 3 ] || fail "found ${#all[@]} workers"
kill -9 "${all[1]}"
code=0
wait $job || code=$?
[ $code != 0 ] && [ $code != 124 ] || fail "exit $code after a worker was killed"
for pid in "${all[@]}"; do
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -0 "$pid" 2>/dev/null && fail "worker $pid lives on"
done

# A shard that is damaged after the plan: the message names it, whoever meets it.
shard=$(echo data/train-*.h5 | cut -d' ' -f1)
size=$(stat -c %s "$shard")
for part in $(seq 1 39); do
  printf '\377\377\377\377\377\377\377\377' | dd of="$shard" bs=1 seek=$((size * part / 40)) conv=notrunc 2>/dev/null
done
code=0
timeout 60 ddl-train --plan plan.json --length 2ep -o run --force >stdout 2>stderr || code=$?
[ $code = 1 ] || [ $code = 2 ] || fail "exit $code with a damaged shard"
grep -q 'train-' stderr || { cat stderr >&2; fail "the damaged shard is not named"; }
