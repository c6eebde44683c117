# Shared by the tests of ddl-shard.
. "$DDL_SOURCE/tests/support/lib.sh"
here=$DDL_SOURCE/tests/programs/shard
export HDF5_PLUGIN_PATH=$DDL_BUILD/lib/hdf5-plugin
png() { mkdir -p "$(dirname "$1")"; /usr/bin/python3 "$here/make.py" png "$@"; }
npy() { /usr/bin/python3 "$here/make.py" npy "$@"; }
idx() { /usr/bin/python3 "$here/make.py" idx "$@"; }
look() { /usr/bin/python3 "$here/look.py" "$@"; }
# expect_seen DATASET EXPRESSION TEXT
expect_seen() {
  local found
  found=$(look "$1" "$2") || fail "look $1 $2"
  [ "$found" = "$3" ] || fail "$2 of $1 is $found, expected $3"
}
# A refused build: exit 2, one line that holds every TEXT, and nothing under the output's name.
expect_refused() { # ARGUMENTS… -- TEXT…
  local arguments=()
  while [ "$1" != -- ]; do arguments+=("$1"); shift; done
  shift
  expect_exit 2 ddl-shard build "${arguments[@]}" -o refused
  expect_one_error
  for text in "$@"; do expect_err "$text"; done
  [ ! -e refused ] && [ -z "$(ls -A | grep ddl-tmp)" ] || fail "something was left behind: $(ls -A)"
}
