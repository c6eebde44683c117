# For the scripts of this folder: source it after tests/support/lib.sh.
checks=$DDL_BUILD/test-bin/mpi_checks
[ -x "$checks" ] || fail "$checks is not built"

# mpi RANKS ARGUMENT…: mpi_checks under mpirun, as root and with more ranks than cores if need be.
# The guard only turns a hang into a failure.
mpi() {
  local ranks=$1
  shift
  timeout -k 5 120 mpirun --allow-run-as-root --oversubscribe --bind-to none \
    --mca mpi_yield_when_idle 1 -np "$ranks" "$checks" "$@"
}
