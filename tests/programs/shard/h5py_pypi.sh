# h5py from PyPI reads the shards with hdf5plugin.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"
PYTHON=$(bash "$DDL_SOURCE/tests/support/venv.sh") || exit $?
unset HDF5_PLUGIN_PATH
. "$here/h5py.sh"
