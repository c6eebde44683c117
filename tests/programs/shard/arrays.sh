# IDX and .npy: headers held against the file, orders honoured, labels that go with the data.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"
keep="--val 0 --test 0"

idx images.idx '(np.arange(6*4*5) % 251).astype("uint8").reshape(6,4,5)'
idx labels.idx 'np.array([3,1,2,3,1,2],"uint8")'
expect_exit 0 ddl-shard build images.idx labels.idx $keep -o idx
expect_err 'format: idx'
expect_seen idx 'x("train").shape, y("train").tolist(), m["classes"]' "((6, 1, 4, 5), [2, 0, 1, 2, 0, 1], ['1', '2', '3'])"
expect_seen idx '(x("train").ravel() == np.arange(120) % 251).all()' True

# Cut by a byte, counts that do not agree, a header that claims more (D14).
head -c -1 images.idx >cut.idx
expect_refused cut.idx labels.idx -- cut.idx 'but there are'
idx few.idx 'np.array([1,2],"uint8")'
expect_refused images.idx few.idx -- few.idx '6 samples'
{ head -c 4 images.idx; printf '\0\0\352\140'; tail -c +9 images.idx; } >many.idx
expect_refused many.idx labels.idx -- many.idx 60000
expect_refused few.idx -- few.idx 'labels are missing'

# Fortran order, big-endian values, pickles (D11).
npy plain.npy 'np.arange(12, dtype="float32").reshape(4,3)'
npy fortran.npy 'np.asfortranarray(np.arange(12, dtype="float32").reshape(4,3))'
npy big.npy 'np.arange(12).reshape(4,3).astype(">i4")'
npy y.npy 'np.array([0,1,0,1])'
for name in plain fortran big; do
  expect_exit 0 ddl-shard build $name.npy y.npy $keep -o $name
  expect_seen $name 'x("train").ravel()' '[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]'
  cmp plain/train-00000.h5 $name/train-00000.h5 || fail "$name gave other bytes"
done
npy object.npy 'np.array([{"a": 1}, None], dtype=object)'
expect_refused object.npy y.npy -- object.npy pickle
npy nan.npy 'np.array([[1.0, np.nan]] * 4)'
expect_refused nan.npy y.npy -- nan.npy finite
npy half.npy 'np.array([0.5,1,0,1])'
expect_refused plain.npy half.npy -- half.npy --regression

# Images with channels last.
npy hwc.npy 'np.arange(2*7*5*3).astype("uint8").reshape(2,7,5,3)'
npy y2.npy 'np.array([0,1])'
expect_exit 0 ddl-shard build hwc.npy y2.npy $keep -o hwc
expect_err 'height x width x channels'
expect_seen hwc '(x("train").transpose(0,2,3,1).ravel() == np.arange(210)).all()' True

# A folder named as MNIST is, with its test files.
mkdir mnist
cp images.idx mnist/train-images-idx3-ubyte
cp labels.idx mnist/train-labels-idx1-ubyte
cp images.idx mnist/t10k-images-idx3-ubyte
cp labels.idx mnist/t10k-labels-idx1-ubyte
gzip mnist/t10k*
expect_exit 0 ddl-shard build mnist --val 0 -o mnist.out
expect_seen mnist.out '[(s["name"], s["samples"]) for s in m["splits"]]' "[('train', 6), ('test', 6)]"
expect_err 'warning: 6 samples have the same inputs as a sample of another split'
