# Debian's h5py reads the shards with our libh5zstd.so.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"
PYTHON=/usr/bin/python3
. "$here/h5py.sh"
# Without the plugin the library names the filter that is missing.
HDF5_PLUGIN_PATH=/nowhere "$PYTHON" check.py >stdout 2>stderr && fail "read without the plugin"
h5dump -d /y image.out/train-00000.h5 >stdout 2>stderr || fail "h5dump with the plugin"
expect_out '(0): 0, 0, 0'
