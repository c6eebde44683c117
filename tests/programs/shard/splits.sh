# Splits and shards are a pure function of content, options and seed.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

# The order in which a folder's entries were made does not matter, nor its file system (S05).
for i in $(seq 1 12); do for class in a b; do png forth/$class/$i.png 3 3 grey $((i * 9)); done; done
mkdir -p back/b back/a
for i in $(seq 12 -1 1); do for class in b a; do cp forth/$class/$i.png back/$class/; done; done
expect_exit 0 ddl-shard build forth --name same -o one
mv forth kept && mv back forth
expect_exit 0 ddl-shard build forth --name same -o two --threads 3
diff -r one two >/dev/null || fail "another order of creation gave another data set"
if unshare -Urm true 2>/dev/null; then
  expect_exit 0 unshare -Urm sh -c 'mkdir t && mount -t tmpfs t t && cp -r kept t/forth && ddl-shard build t/forth --name same -o three'
  diff -r one three >/dev/null || fail "another file system gave another data set"
fi

# Every sample is in one split, seed given or not (S06).
{ echo value,label; for i in $(seq 0 99); do echo "$i,$((i % 4))"; done; } >t.csv
ids='[sorted(id(s).tolist()) for s in ("train", "val", "test")]'
for seed in "" "--seed 5"; do
  rm -rf t
  expect_exit 0 ddl-shard build t.csv --label label --test 0.2 --val 0.2 $seed -o t
  expect_seen t "sorted(sum($ids, [])) == list(range(100))" True
  expect_seen t '(np.concatenate([x(s)[:,0] for s in ("train","val","test")]) == np.concatenate([id(s) for s in ("train","val","test")])).all()' True
  expect_seen t '[np.bincount(y(s)).tolist() for s in ("train", "val", "test")]' '[[15, 15, 15, 15], [5, 5, 5, 5], [5, 5, 5, 5]]'
done
# Repeated rows come into one split or are counted.
{ cat t.csv; tail -n 50 t.csv; } >repeated.csv
expect_exit 0 ddl-shard build repeated.csv --label label --test 0.2 --val 0.2 -o repeated
number=$(look repeated 'len(set(x("val").ravel()) & set(x("train").ravel())) + sum(v in set(x("train").ravel()) | set(x("val").ravel()) for v in x("test").ravel())')
expect_err "warning: $number samples have the same inputs as a sample of another split"

# A class of one stays in train.
{ echo value,label; for i in $(seq 1 50); do echo "$i,a"; echo "$i,b"; done; echo 1,rare; } >rare.csv
expect_exit 0 ddl-shard build rare.csv --label label --test 0.4 --val 0.4 -o rare
expect_seen rare '(y("train") == m["classes"].index("rare")).sum()' 1

# Any number of threads gives the same bytes, with fewer samples than threads as well.
for threads in 1 2 16; do
  expect_exit 0 ddl-shard build t.csv --label label --threads $threads --shard-size 4KiB -o threads.$threads
  diff -r threads.1 threads.$threads >/dev/null || fail "$threads threads gave another data set"
done
