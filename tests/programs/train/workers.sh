# The same parameters on one, two and three workers, with equal and unequal shares, started in any way.
. "$(dirname "$0")/lib.sh"
make_data data 150 3
make_plan two.json --np 2
make_plan unequal.json --np 3 --rates 4,1,1
recipe=(--length 3ep --learning-rate 0.05)

expect_exit 0 ddl-train --plan two.json "${recipe[@]}" -o run
hash=$(hash_of)
[ -n "$hash" ] || fail "the last line on stdout is no hash"
expect_out "test accuracy: 0."
[ "$(grep -c 'test accuracy' stdout)" = 1 ] || fail "more than one worker speaks"
for file in run.json metrics.jsonl model.onnx checkpoints; do [ -e "run/$file" ] || fail "no $file"; done
[ ! -e run/.lock ] || fail "the lock stays"
for n in 1 2 3; do
  expect_exit 0 ddl-train --np $n --plan two.json "${recipe[@]}" -o run --force
  same_hash "$hash" "--np $n"
done
expect_err "instead of the plan's 2 workers"
expect_exit 0 ddl-train --plan unequal.json "${recipe[@]}" -o run --force
same_hash "$hash" "unequal shares"
/usr/bin/python3 - <<'P' || fail "shares"
import json
run = json.load(open("run/run.json"))
shares = [w["tasks"]["count"] for w in run["plan"]["workers"]]
assert sum(shares) == 6 and shares[0] > shares[1], shares
steps = run["steps"]
assert sum(w["samples"] for w in run["workers"]) == run["epochs"] * run["plan"]["train_samples"], run["workers"]
for worker, share in zip(run["workers"], shares):
    assert worker["tasks"] <= share * steps, (worker, share, steps)
assert [json.loads(l)["step"] for l in open("run/metrics.jsonl") if '"step"' in l.split(",")[0]] == list(range(steps))
P
OMP_NUM_THREADS=3 expect_exit 0 ddl-train --plan two.json "${recipe[@]}" -o run --force
same_hash "$hash" "three lanes"
expect_err "3 (OMP_NUM_THREADS)"

# Under mpirun: as planned; another world only when told.
root=()
[ "$(id -u)" = 0 ] && root=(--allow-run-as-root)
mpi() { local n=$1; shift; mpirun -q "${root[@]}" --oversubscribe --mca mpi_yield_when_idle 1 -np "$n" "$@"; }
expect_exit 0 mpi 2 ddl-train --plan two.json "${recipe[@]}" -o run --force
same_hash "$hash" "under mpirun"
expect_exit 2 mpi 3 ddl-train --plan two.json "${recipe[@]}" -o run2
expect_err "--np 3"
expect_one_error
[ ! -e run2 ] || fail "a refused run left a folder"
expect_exit 0 mpi 3 ddl-train --np 3 --plan two.json "${recipe[@]}" -o run --force
same_hash "$hash" "under mpirun with --np"

# Other numbers, other bits.
expect_exit 0 ddl-train --np 1 --plan two.json "${recipe[@]}" --seed 9 --change-numerics -o run --force
[ "$(hash_of)" != "$hash" ] || fail "another seed gives the same hash"
grep -q 'seed 9' run/run.json || fail "run.json does not name the other seed"
