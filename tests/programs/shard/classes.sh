# Which folders are classes, their order, and what a wrong layout says.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"

# Hidden entries and plain files are never classes (D05).
png root/a/1.png 2 2 grey 1
png root/b/1.png 2 2 grey 2
mkdir root/.ipynb_checkpoints
cp root/a/1.png root/.ipynb_checkpoints/
echo hello >root/README
expect_exit 0 ddl-shard build root -o root.out --val 0 --test 0
expect_seen root.out 'm["classes"]' "['a', 'b']"
expect_seen root.out 'y("train")' '[0, 1]'
expect_err 'not classes, ignored: .ipynb_checkpoints, README'
expect_err '2 classes: 0 = a (1), 1 = b (1)'

# Empty classes are an error that names them; kept on request with their number reserved (D06).
png empty/a/1.png 2 2 grey 1
png empty/a/2.png 2 2 grey 1
png empty/d/1.png 2 2 grey 1
mkdir empty/b empty/c
echo text >empty/c/file.txt
expect_refused empty -- "'b', 'c'" --keep-empty-classes
expect_exit 0 ddl-shard build empty -o empty.out --keep-empty-classes --val 0 --test 0
expect_seen empty.out 'm["classes"]' "['a', 'b', 'c', 'd']"
expect_seen empty.out 'y("train")' '[0, 0, 3]'

# The class list is that of the train source; val reuses it and may lack a class (D07).
for angle in 0 90 180 270; do png train/$angle/1.png 2 2 grey $((angle / 2)); done
for angle in 0 90 270; do png val/$angle/1.png 2 2 grey $((angle / 2)); done
expect_exit 0 ddl-shard build train --val val --test 0 -o angles
expect_seen angles 'm["classes"]' "['0', '90', '180', '270']"
expect_seen angles 'sorted(y("val").tolist())' '[0, 1, 3]'
expect_seen angles '[int(x("val")[i,0,0,0]) for i in np.argsort(y("val"))]' '[0, 45, 135]'
png val/45/1.png 2 2 grey 0
expect_refused train --val val --test 0 -- val "class '45'" 'train'
# Sub-folders train, val and test are the splits.
mkdir both && mv train val both/ && rm -r both/val/45
expect_exit 0 ddl-shard build both --test 0 -o both.out
expect_seen both.out '[(s["name"], s["samples"]) for s in m["splits"]]' "[('train', 4), ('val', 3)]"
cmp angles/train-00000.h5 both.out/train-00000.h5 || fail "the same train images gave other bytes"

# Numbers sort by value, anything else by bytes.
for n in 0 1 2 3 4 5 6 7 8 9 10 11; do png numbers/$n/1.png 2 2 grey $n; done
expect_exit 0 ddl-shard build numbers -o numbers.out --val 0 --test 0
expect_seen numbers.out 'm["classes"]' "$(/usr/bin/python3 -c 'print([str(i) for i in range(12)])')"
expect_seen numbers.out '(x("train")[:,0,0,0] == y("train")).all()' True
for n in b B a; do png letters/$n/1.png 2 2 grey 1; done
expect_exit 0 ddl-shard build letters -o letters.out --val 0 --test 0
expect_seen letters.out 'm["classes"]' "['B', 'a', 'b']"

# What was looked for, what was found, and an example (U03).
mkdir nothing images
expect_refused nothing -- nothing 'holds nothing' 'DATA/cat/1.jpg'
cp numbers/1/1.png images/
expect_refused images -- images '1 plain files' 'DATA/cat/1.jpg'
expect_refused no/such/folder -- no/such/folder 'does not exist'
expect_refused images/1.png -- images/1.png 'single image' 'DATA/cat/1.jpg'
expect_refused images/1.png --format image-folder -- images/1.png 'is a file' 'DATA/cat/1.jpg'
mkdir -p hollow/a hollow/b
expect_refused hollow -- hollow "'a', 'b'" JPEG
printf 'abc\0\1\2\3 and more' >unknown.bin
expect_refused unknown.bin -- unknown.bin 'format is not known' csv
: >zero.csv
expect_refused zero.csv --label 1 -- zero.csv empty
expect_refused root --format images -- "format 'images'" 'image-folder'
