# One rank's error ends the whole job within seconds, with that rank's message: whether the program
# aborts the world or the error leaves main.
. "$DDL_SOURCE/tests/support/lib.sh"
. "$DDL_SOURCE/tests/cluster/mpirun.sh"

for ranks in 2 3; do
  for culprit in 0 $((ranks - 1)); do
    for way in throw escape; do
      started=$SECONDS
      expect_exit 1 mpi "$ranks" "$way" "$culprit"
      expect_err "this rank fell over"
      [ $((SECONDS - started)) -lt 60 ] || fail "the others waited"
    done
  done
done
