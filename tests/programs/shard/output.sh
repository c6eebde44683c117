# Outputs appear as a whole or not at all: full disks, folders that cannot be written, kills, races.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

{ for i in $(seq 1 20000); do echo "$i.$i,$((i * 7919 % 10007)),$((i % 10))"; done; } >t.csv
build() { ddl-shard build "$work/t.csv" --no-header --label last --shard-size 64KiB "$@"; }
nothing_left() { [ -z "$(ls -A "$1")" ] || fail "left behind: $(ls -A "$1")"; }

# An existing data set stays unless --force is given; other folders stay in any case.
expect_exit 0 build -o whole
before=$(cat whole/dataset.json)
expect_exit 2 build -o whole
expect_err --force
expect_exit 0 build -o whole --force --seed 2
[ "$(cat whole/dataset.json)" != "$before" ] || fail "--force did not replace"
mkdir mine && echo precious >mine/file
expect_exit 2 build -o mine --force
expect_err 'not a data set'
[ "$(cat mine/file)" = precious ] || fail "a folder that is no data set was touched"

# A limit on file sizes is seen, and nothing is left (R03).
mkdir limited
found=0
(ulimit -f 16; trap '' XFSZ; build -o limited/d) >stdout 2>stderr || found=$?
[ $found = 1 ] || fail "exit $found under ulimit -f"
expect_one_error
nothing_left limited

# A report that cannot be written is an error.
found=0
build -o reported >/dev/full 2>stderr || found=$?
[ $found = 1 ] || fail "exit $found when stdout is full"

# Killed in the middle: the next run cleans up and succeeds.
mkdir killed
ddl-shard build t.csv --no-header --label last --shard-size 16KiB --zstd-level 19 -o killed/d >/dev/null 2>&1 &
pid=$!
for _ in $(seq 1 200); do
  [ -n "$(ls killed/.d.ddl-tmp-*/*.h5 2>/dev/null)" ] && break
  sleep 0.02
done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
[ ! -e killed/d/dataset.json ] || echo "note: the build was faster than the kill"
expect_exit 0 build -o killed/d --force
[ "$(ls -A killed)" = d ] || fail "left after a kill: $(ls -A killed)"
expect_exit 0 ddl-shard verify killed/d

# Four imports to one output at once: one wins, the others say so (D20).
mkdir race
for i in 1 2 3 4; do
  (build -o race/d >race.$i.out 2>race.$i.err; echo $? >race.$i.rc) &
done
wait
[ "$(cat race.?.rc | sort | uniq -c | xargs)" = "1 0 3 2" ] || fail "exit codes: $(cat race.?.rc | xargs)"
expect_exit 0 ddl-shard verify race/d
[ "$(ls -A race)" = d ] || fail "left after a race: $(ls -A race)"

unshare -Urm true 2>/dev/null || skip "no user namespaces: full disk and read-only folder"
# A full disk (R03): exit 1 with the file, nothing marked complete.
mkdir full
expect_exit 0 unshare -Urm bash -c '
  mount -t tmpfs -o size=100k tmpfs full
  ddl-shard build t.csv --no-header --label last --shard-size 64KiB -o full/d
  [ $? = 1 ] && [ -z "$(ls -A full)" ]'
expect_err 'full/'
expect_err 'No space left'
expect_one_error
# A folder that cannot be written: exit 2 before any work.
mkdir locked
expect_exit 0 unshare -Urm bash -c '
  mount --bind locked locked && mount -o remount,bind,ro locked
  ddl-shard build t.csv --no-header --label last -o locked/d
  [ $? = 2 ] && [ -z "$(ls -A locked)" ]'
expect_err locked
expect_one_error
