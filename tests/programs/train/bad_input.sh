# Bad input: one line naming what to do, exit 2, nothing left behind.
. "$(dirname "$0")/lib.sh"
make_data data 120 3
make_plan plan.json --np 2
refused() { # refused TEXT COMMAND…
  local text=$1
  shift
  expect_exit 2 "$@"
  expect_err "$text"
  expect_one_error
  [ ! -e run ] || fail "something was written: $*"
}

refused "none.json" ddl-train --plan none.json -o run
refused "--plan" ddl-train -o run
refused "-o RUN" ddl-train --plan plan.json
refused "--learning-rate" ddl-train --plan plan.json -o run --learnig-rate 0.1
refused "length" ddl-train --plan plan.json -o run --length 0ep
refused "--change-numerics" ddl-train --plan plan.json -o run --seed 8
refused "none.onnx" ddl-train --plan plan.json -o run --init none.onnx
refused "classes" ddl-train --plan plan.json -o run --class-weights 1,2
printf 'learnig-rate = 0.1\n' >bad.toml
refused "learnig-rate" ddl-train --config bad.toml --plan plan.json -o run
printf 'learning-rate = "fast"\n' >bad.toml
refused "learning-rate" ddl-train --config bad.toml --plan plan.json -o run

# Plans that do not fit.
edit() { /usr/bin/python3 -c "
import json; p = json.load(open('plan.json')); $1; json.dump(p, open('changed.json', 'w'))"; }
edit "p['model'] = 'gone.onnx'"
refused "gone.onnx" ddl-train --plan changed.json -o run
edit "p['dataset'] = 'gone'"
refused "gone" ddl-train --plan changed.json -o run
edit "p['workers'][1]['tasks']['first'] = 0"
refused "tasks" ddl-train --plan changed.json -o run
edit "p['numerics']['global_batch'] = 4000; p['numerics']['task_samples'] = 4000; p['workers'][0]['tasks'] = {'first': 0, 'count': 1}; p['workers'][1]['tasks'] = {'first': 1, 'count': 0}"
refused "fewer than one global batch of 4000" ddl-train --plan changed.json -o run
refused "fewer than one global batch of 4000" ddl-train --np 1 --plan changed.json -o run
echo '{"format": "ddl-plan", "version": 1' >changed.json
refused "changed.json" ddl-train --plan changed.json -o run

# Another data set under the same name.
make_data other 120 3
sed 's/^1/0/' other.csv >data.csv
mv data old && ddl-shard build data.csv --no-header --label last --val 0.1 --test 0.2 -o data >/dev/null 2>&1
refused "not the one that was planned for" ddl-train --plan plan.json -o run
rm -r data && mv old data

# Outputs that cannot be.
echo mine >file
expect_exit 2 ddl-train --plan plan.json -o file
expect_err "is a file"
expect_exit 2 ddl-train --plan plan.json -o file/run
expect_exit 2 ddl-train --plan plan.json -o /proc/run
mkdir photos && echo mine >photos/a
expect_exit 2 ddl-train --plan plan.json -o photos --force
expect_err "holds no run"
[ "$(cat file photos/a)" = "$(printf 'mine\nmine')" ] || fail "a file of the user was changed"
expect_exit 2 ddl-train --plan plan.json -o run --resume
[ ! -e run ] || fail "--resume made a folder"

# A finished run is not replaced unasked.
expect_exit 0 ddl-train --np 1 --plan plan.json -o run --length 1ep
expect_exit 2 ddl-train --np 1 --plan plan.json -o run --length 1ep
expect_err "--force"

# A dry run checks all of it and writes nothing.
expect_exit 0 ddl-train --plan plan.json --dry-run -o dry
expect_out "24 samples in 6 tasks of 4"
[ ! -e dry ] || fail "a dry run wrote"
