# Image folders: types by content, bit depths, transparency, sizes, damaged files.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"
fixtures=$here/fixtures

# Colours arrive as [C,H,W]; palettes too.
png flat/a/1.png 4 3 rgb 10,20,30
png flat/b/1.png 4 3 palette 10,20,30,200,100,50
expect_exit 0 ddl-shard build flat -o flat.out --val 0 --test 0
expect_seen flat.out 'x("train")[0,:,0,0]' '[10, 20, 30]'
expect_seen flat.out 'x("train")[1,:,0,:2]' '[[10, 200], [20, 100], [30, 50]]'
expect_seen flat.out 'x("train").shape' '(2, 3, 3, 4)'

# A type is what the content says; the suffix and its case do not matter (reports: D17).
mkdir -p types/a types/b
cp "$fixtures/rgb.jpg" types/a/1.jpg
cp "$fixtures/rgb.jpg" types/a/2.JPG
png types/b/a.png 16 8 rgb 1,2,3
cp types/b/a.png types/b/b.jpg
echo "no image" >types/b/notes.txt
expect_exit 0 ddl-shard build types -o types.out --val 0 --test 0
expect_err '1 files are no images, ignored: b/notes.txt'
expect_seen types.out 'x("train").shape' '(4, 3, 8, 16)'
expect_seen types.out 'x("train")[2:,:,0,0]' '[[1, 2, 3], [1, 2, 3]]'

# What is named like an image and is none is damaged, not ignored.
for content in "no image" ""; do
  printf "$content" >types/b/c.PNG
  expect_refused types -- types/b/c.PNG 'neither JPEG nor PNG' --skip-damaged
  expect_exit 0 ddl-shard build types -o types.out --val 0 --test 0 --force --skip-damaged
  expect_err 'skipped: b/c.PNG'
  expect_seen types.out 'len(y("train"))' 4
done

# 16 bits keep 256 levels (D03).
png deep/a/ramp.png 256 16 grey16
png deep/b/ramp.png 256 16 grey 7
expect_exit 0 ddl-shard build deep -o deep.out --val 0 --test 0
expect_err '1 images have 16 bits a channel'
expect_seen deep.out 'len(np.unique(x("train")[0]))' 256
expect_seen deep.out '(x("train")[0,0,5] == np.arange(256)).all()' True

# Transparent pixels are laid over white.
png clear/a/1.png 2 2 rgba 0,0,0,0
png clear/b/1.png 2 2 rgba 100,200,0,255
expect_exit 0 ddl-shard build clear -o clear.out --val 0 --test 0
expect_seen clear.out 'x("train")[:,:,0,0]' '[[255, 255, 255], [100, 200, 0]]'

# Four-component JPEGs are refused by name (D02).
mkdir -p cmyk/a
cp "$fixtures/rgb.jpg" cmyk/a/1.jpg
cp "$fixtures/cmyk.jpg" cmyk/a/2.jpg
expect_refused cmyk -- cmyk/a/2.jpg CMYK

# Sizes must agree, or all are resized.
png sizes/a/1.png 8 6 grey 50
png sizes/b/1.png 5 9 grey 90
expect_refused sizes -- sizes/b/1.png 9x5 6x8 --size
expect_exit 0 ddl-shard build sizes -o sizes.out --size 3x2 --val 0 --test 0
expect_seen sizes.out 'x("train").reshape(2,-1).tolist()' '[[50, 50, 50, 50, 50, 50], [90, 90, 90, 90, 90, 90]]'
expect_refused sizes --size 3 -- --size
expect_refused sizes --size 0x3 -- --size

# One damaged file stops the import with its path, or is left out and listed; it is never made up (D01).
for type in jpg png; do
  rm -rf damaged damaged.out
  mkdir -p damaged/a damaged/b
  for i in 1 2 3 4 5; do
    if [ $type = jpg ]; then cp "$fixtures/rgb.jpg" damaged/a/$i.jpg; else png damaged/a/$i.png 16 8 rgb $i,9,9; fi
    cp damaged/a/$i.$type damaged/b/$i.$type
  done
  size=$(stat -c %s damaged/b/3.$type)
  for part in 60 5; do # cut in the pixels, and in the header
    cp damaged/a/3.$type damaged/b/3.$type
    truncate -s $((size * part / 100)) damaged/b/3.$type
    expect_refused damaged -- damaged/b/3.$type --skip-damaged
    expect_exit 0 ddl-shard build damaged -o damaged.out --skip-damaged --force --val 0 --test 0
    expect_err "skipped: b/3.$type"
    expect_seen damaged.out 'y("train")' '[0, 0, 0, 0, 0, 1, 1, 1, 1]'
    expect_seen damaged.out '"1 damaged files left out" in m["notes"]' True
  done
done
