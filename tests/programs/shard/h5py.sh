# Shared by h5py_debian.sh and h5py_pypi.sh: PYTHON reads what ddl-shard wrote, value for value.
mkdir -p image/a image/b
for i in $(seq 0 9); do png image/a/$i.png 6 5 rgb $i,$((i * 2)),$((i * 3)); png image/b/$i.png 6 5 rgb $((100 + i)),0,1; done
{ echo number,town,label; for i in $(seq 0 4999); do echo "$i.5,t$((i % 5)),$((i % 3))"; done; } >table.csv
seq 1 3000 >text.txt
expect_exit 0 ddl-shard build image -o image.out --val 0 --test 0
expect_exit 0 ddl-shard build table.csv --label label -o table.out --shard-size 16KiB
expect_exit 0 ddl-shard build text.txt --context 32 -o text.out --val 0 --test 0

cat >check.py <<'P'
import json, os, sys
import numpy as np
try:
    import hdf5plugin
except ImportError:
    assert os.environ["HDF5_PLUGIN_PATH"]
import h5py

def read(folder, split, field):
    shards = [s["file"] for s in json.load(open(folder + "/dataset.json"))["shards"] if s["split"] == split]
    return np.concatenate([h5py.File(f"{folder}/{s}", "r")[field][...] for s in shards])

x, y = read("image.out", "train", "x"), read("image.out", "train", "y")
assert x.dtype == np.uint8 and x.shape == (20, 3, 5, 6)
for i in range(10):
    assert (x[i] == np.array([i, i * 2, i * 3]).reshape(3, 1, 1)).all(), i
    assert (x[10 + i] == np.array([100 + i, 0, 1]).reshape(3, 1, 1)).all(), i
assert y.tolist() == [0] * 10 + [1] * 10

seen = []
for split in ("train", "val", "test"):
    x, c, y, n = (read("table.out", split, f) for f in ("x", "c", "y", "id"))
    assert x.dtype == np.float32 and c.dtype == np.int32 and y.dtype == np.int64
    assert (x[:, 0] == n + 0.5).all() and (c[:, 0] == n % 5).all() and (y == n % 3).all()
    seen += n.tolist()
assert sorted(seen) == list(range(5000))

text = open("text.txt").read()
vocabulary = json.load(open("text.out/dataset.json"))["tokenizer"]["vocabulary"]
tokens = read("text.out", "train", "tokens")
assert tokens.shape[1] == 33
assert "".join(vocabulary[i] for i in tokens[:, :-1].ravel()) == text[: 32 * len(tokens)]

f = h5py.File("image.out/train-00000.h5", "r")
assert f.attrs["format"] == "ddl-shard" and f["x"].attrs["dtype"] == "uint8"
assert f["x"].chunks[1:] == f["x"].shape[1:]
plist = f["x"].id.get_create_plist()
assert plist.get_filter(0)[0] == 32015 and plist.get_filter(0)[2] == (3,), plist.get_filter(0)
print("read by h5py", h5py.version.version)
P
"$PYTHON" check.py || fail "h5py read something else"
