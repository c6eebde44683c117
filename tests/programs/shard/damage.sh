# verify names shard, field, chunk and byte range.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

{ echo value,label; for i in $(seq 0 999); do echo "$i,$((i % 4))"; done; } >t.csv
expect_exit 0 ddl-shard build t.csv --label label --shard-size 4KiB -o t
expect_exit 0 ddl-shard verify t
expect_out 'all sound'
expect_exit 0 ddl-shard verify t --json
expect_out '"sound": true'

flip() { /usr/bin/python3 -c "
import sys
f = open(sys.argv[1], 'r+b'); f.seek(int(sys.argv[2])); b = f.read(1); f.seek(-1, 1); f.write(bytes([b[0] ^ 1]))" "$@"; }
cp -r t damaged
address=$(look t 'int(h5py.File(folder + "/train-00002.h5")["_index/y"][0,0])')
size=$(look t 'int(h5py.File(folder + "/train-00002.h5")["_index/y"][0,1])')
flip damaged/train-00002.h5 $((address + 9))
expect_exit 1 ddl-shard verify damaged
expect_out "train-00002.h5: field y, chunk 0, bytes $address..$((address + size)): checksum"
expect_one_error
expect_exit 1 ddl-shard verify damaged --json
expect_out '"sound": false'

# Bytes outside of the chunks, a shortened, a missing and an exchanged shard.
try() { # TEXT
  expect_exit 1 ddl-shard verify damaged
  expect_out "$1"
  rm -r damaged && cp -r t damaged
}
rm -r damaged && cp -r t damaged
flip damaged/val-00000.h5 2500 && try 'val-00000.h5: its checksum'
flip damaged/val-00000.h5 100 && try 'val-00000.h5: its header'
truncate -s -1 damaged/val-00000.h5 && try 'val-00000.h5: has'
rm damaged/val-00000.h5 && try 'val-00000.h5:'
cp damaged/train-00001.h5 damaged/train-00000.h5 && try 'train-00000.h5:'

# A broken or foreign manifest is bad input.
echo '{' >damaged/dataset.json
expect_exit 2 ddl-shard verify damaged
expect_err damaged/dataset.json
expect_exit 2 ddl-shard verify no/such/set
expect_err no/such/set
