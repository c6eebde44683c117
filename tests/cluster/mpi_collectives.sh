# Every collective over real processes, in one piece and in many, and exact sums with the bits that
# ranks as threads give.
. "$DDL_SOURCE/tests/support/lib.sh"
. "$DDL_SOURCE/tests/cluster/mpirun.sh"

"$checks" threads 1 expected || fail "the reference sums could not be made"
"$checks" threads 3 again || fail "the reference sums could not be made"
cmp -s expected again || fail "ranks as threads do not agree"

for ranks in 1 2 3; do
  # 64 bytes: eight words a message, tens of thousands of messages. 1000 is no multiple of a word.
  for segment in '' 64 1000; do
    expect_exit 0 mpi "$ranks" collectives $segment
    expect_out "collectives done on $ranks ranks"
  done
  for segment in '' 4000; do
    expect_exit 0 mpi "$ranks" exact "$work/sums" $segment
    cmp -s expected sums || fail "sums on $ranks processes, segment '$segment', have other bits"
    rm sums
  done
done
