# What build, info and verify print, where.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

{ echo value,label; for i in $(seq 0 99); do echo "$i,$((i % 4 == 0))"; done; } >t.csv
expect_exit 0 ddl-shard build t.csv --label label --test 0.2 --val 0.1 -o t
expect_out 't: train 70, val 10, test 20 samples in 3 shards'
expect_err 'format: csv'
expect_err '2 classes: 0 = 0 (75), 1 = 1 (25)'
hash=$(sed -n 's/^hash //p' stdout)

expect_exit 0 ddl-shard info t
expect_out 't: classification, from csv t.csv'
expect_out "hash $hash"
grep -qE '^ *1 +1 +17 +3 +5 ' stdout || grep -qE '^ *1 +1 +18 +2 +5 ' stdout || { cat stdout; fail "no counts of class 1"; }
[ ! -s stderr ] || fail "info talks on stderr"
expect_exit 0 ddl-shard info t/dataset.json --json
cmp stdout t/dataset.json || fail "info --json is not the manifest"

expect_exit 0 ddl-shard build t.csv --label label -o t --force --json
/usr/bin/python3 -c "import json; r = json.load(open('stdout')); assert r['splits']['train'] == 80 and r['classes'] == ['0', '1'], r" || fail "build --json"

# Nothing in the manifest tells where or when it was made.
grep -qF -e "$work" -e "$(hostname)" -e "$(date +%Y-)" t/dataset.json && fail "the manifest names a place or time"

expect_exit 2 ddl-shard
expect_exit 2 ddl-shard build t.csv --lable label -o u
expect_err '--label'
expect_exit 2 ddl-shard info nowhere
expect_err nowhere
expect_exit 0 ddl-shard build --help
expect_out --skip-lines
