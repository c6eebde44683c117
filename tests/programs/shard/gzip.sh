# gzip of any format is recognised by content, whatever its name, and gives the same bytes.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

printf 'a,label\n1,x\n2,y\n3,x\n' >t.csv
printf '@relation r\n@attribute a numeric\n@attribute k {x,y}\n@data\n1,x\n2,y\n' >t.arff
seq 1 500 >t.txt
npy t.npy 'np.arange(12.0).reshape(4,3)'
idx t.idx 'np.arange(24).astype("uint8").reshape(4,2,3)'
npy y.npy 'np.array([0,1,0,1])'
idx y.idx 'np.array([0,1,0,1],"uint8")'
for format in csv arff txt npy idx; do
  more=""
  [ $format = csv ] && more="--label label"
  [ $format = txt ] && more="--context 8"
  labels=""
  [ -e y.$format ] && labels=y.$format
  expect_exit 0 ddl-shard build t.$format $labels $more --val 0 --test 0 -o plain.$format
  gzip -c t.$format >t.$format.gz
  expect_exit 0 ddl-shard build t.$format.gz $labels $more --val 0 --test 0 -o packed.$format
  cp t.$format.gz disguised.$format # still gzip, with the plain name
  expect_exit 0 ddl-shard build disguised.$format $labels $more --val 0 --test 0 -o disguised
  cmp plain.$format/train-00000.h5 packed.$format/train-00000.h5 || fail "$format: gzip gave other bytes"
  cmp plain.$format/train-00000.h5 disguised/train-00000.h5 || fail "$format: gzip by content gave other bytes"
  rm -r disguised
  size=$(stat -c %s t.$format.gz)
  head -c $((size - 6)) t.$format.gz >short.$format.gz
  expect_refused short.$format.gz $labels $more --val 0 --test 0 -- short.$format.gz gzip
done
