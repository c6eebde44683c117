# The kernels on a GPU, their bits compared with those of the host.
. "$DDL_SOURCE/tests/support/lib.sh"
[ -n "${DDL_ON_DEVICE:-}" ] || skip "configured without nvcc, there is no device code"
exec "$DDL_ON_DEVICE"
