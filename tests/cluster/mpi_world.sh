# A world that is not the launcher's is refused before any work: processes that each believe to be
# alone would all write to one folder.
. "$DDL_SOURCE/tests/support/lib.sh"
. "$DDL_SOURCE/tests/cluster/mpirun.sh"

expect_exit 0 mpi 2 world
expect_out "world done on 2 ranks"
expect_exit 0 "$checks" world
expect_out "world done on 1 ranks"

# As if another MPI's launcher had started us.
expect_exit 2 env PMI_RANK=1 PMI_SIZE=4 "$checks" world
expect_err "4 processes, but MPI sees a world of 1"
expect_exit 2 env SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=3 SLURM_STEP_NUM_TASKS=3 "$checks" world
expect_err "srun started 3 processes, but MPI sees a world of 1"
expect_err "rank 0"
