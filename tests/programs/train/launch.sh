# L01, R02: root in a container, more workers than cores, workers that share one, no mpirun at all.
. "$(dirname "$0")/lib.sh"
make_data data 150 3
make_plan plan.json --np 2
many=$(($(nproc) + 1))
expect_exit 0 ddl-train --np $many --plan plan.json --length 1ep -o run
expect_err "--oversubscribe"
expect_err "share cores"
hash=$(hash_of)
expect_exit 0 taskset -c 0 ddl-train --plan plan.json --length 1ep -o run --force
expect_err "share cores"
same_hash "$hash" "on one core"
if [ "$(id -u)" = 0 ]; then
  unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
  CI=true expect_exit 0 ddl-train --plan plan.json --length 1ep -o run --force
  expect_err "--allow-run-as-root"
fi

# Without mpirun two workers cannot start, and one can.
mkdir bin
for program in ddl-train; do ln -s "$DDL_BIN/$program" bin/; done
PATH=$work/bin expect_exit 2 ddl-train --plan plan.json -o none
expect_err "mpirun"
expect_one_error
[ ! -e none ] || fail "a folder was left"
PATH=$work/bin:/usr/bin:/bin expect_exit 0 ddl-train --np 1 --plan plan.json --length 1ep -o run --force
same_hash "$hash" "one worker"

# L02: a launcher of another MPI, whose processes would all be rank 0 of 1, is refused.
expect_exit 2 env PMI_RANK=1 PMI_SIZE=2 ddl-train --plan plan.json -o none
[ ! -e none ] || fail "one of several lone workers wrote"

# Two runs never write to one folder.
setsid ddl-train --np 1 --plan plan.json --length 1000000ep -o busy >/dev/null 2>&1 &
job=$!
for _ in $(seq 300); do grep -q '"step"' busy/metrics.jsonl 2>/dev/null && break; sleep 0.1; done
expect_exit 2 ddl-train --np 1 --plan plan.json -o busy --force
expect_err "another run is writing"
kill $job
wait $job
exit 0
