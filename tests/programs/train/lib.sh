# For the tests of ddl-train: a small data set and plans for it. Source it.
. "$DDL_SOURCE/tests/support/lib.sh"

# make_data NAME SAMPLES CLASSES: three groups of numbers in a CSV file, then shards.
make_data() {
  awk -v n="$2" -v k="$3" 'BEGIN { srand(7); for (i = 0; i < n; ++i) { for (f = 0; f < 6; ++f)
    printf "%.4f,", 2 * rand() + (f % k == i % k ? 1.2 : 0); printf "c%d\n", i % k } }' >"$1.csv"
  ddl-shard build "$1.csv" --no-header --label last --val 0.1 --test 0.2 -o "$1" --force >shard.log 2>&1 ||
    { cat shard.log >&2; fail "ddl-shard"; }
}

# make_plan FILE OPTIONS…: for the data set "data".
make_plan() {
  local file=$1
  shift
  ddl-plan --dataset data --model mlp --set hidden=16 --batch 24 --task 4 -o "$file" --force "$@" >plan.log 2>&1 ||
    { cat plan.log >&2; fail "ddl-plan"; }
}

# The last line on stdout of the last command is the hash.
hash_of() { tail -n 1 "$work/stdout" | sed -n 's/^parameters_hash \([0-9a-f]\{32\}\)$/\1/p'; }
same_hash() { [ "$(hash_of)" = "$1" ] || { cat "$work/stdout" "$work/stderr" >&2; fail "$2: hash $(hash_of), expected $1"; }; }
