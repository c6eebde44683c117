# CSV: byte order marks, labels of any kind, rows that do not fit.
. "$DDL_SOURCE/tests/programs/shard/lib.sh"
keep="--val 0 --test 0"

# A byte order mark is no part of the first name (D08).
printf '\xef\xbb\xbf"first","b"\nx,1\ny,2\nx,3\n' >bom.csv
expect_exit 0 ddl-shard build bom.csv --label first $keep -o bom
expect_seen bom 'm["classes"], m["fields"][0]["columns"]' "(['x', 'y'], ['b'])"
printf 'first,b\nx,1\n' | iconv -t UTF-16 >utf16.csv
expect_refused utf16.csv --label first -- utf16.csv UTF-16 iconv

# Any set of labels is mapped to 0..K-1, and the mapping kept and printed (D12).
labels() { # NAME LABEL…
  local name=$1 i=0
  shift
  echo value,label >$name.csv
  for label in "$@"; do echo "$((i++)),$label"; done >>$name.csv
  expect_exit 0 ddl-shard build $name.csv --label label $keep -o $name
}
labels from_one 1 2 3 2
expect_err '3 classes: 0 = 1 (1), 1 = 2 (2), 2 = 3 (1)'
expect_seen from_one 'm["classes"], y("train").tolist()' "(['1', '2', '3'], [0, 1, 2, 1])"
labels sparse 0 1456 5 5
expect_seen sparse 'm["classes"], y("train").tolist()' "(['0', '5', '1456'], [0, 2, 1, 1])"
labels negative 1 -1 -1
expect_seen negative 'm["classes"], y("train").tolist()' "(['-1', '1'], [1, 0, 0])"
labels single only only
expect_err 'warning: there is a single class'
# A later source may not bring a new one.
printf 'value,label\n1,7\n' >later.csv
expect_refused from_one.csv --label label --test later.csv -- later.csv "class '7'"

# Ragged rows, missing labels, missing columns: file, line, what to do.
printf 'a,b,c\n1,2,3\n4,5\n' >ragged.csv
expect_refused ragged.csv --label c -- ragged.csv 'line 3' '2 cells, expected 3'
printf 'a,label\n1,x\n2,\n' >nolabel.csv
expect_refused nolabel.csv --label label -- nolabel.csv 'line 3' missing
expect_refused nolabel.csv -- nolabel.csv --label 'a, label'
expect_refused nolabel.csv --label lable -- nolabel.csv "'lable'" 'a, label'
printf 'a,label\n1,x\n"open,y\n' >open.csv
expect_refused open.csv --label label -- open.csv 'line 3' quote
printf '1,2\n3,4\n' >bare.csv
expect_exit 0 ddl-shard build bare.csv --label last $keep -o bare
expect_err '--no-header if it is data'

# Constant columns are found relative to their size and named; they stay unscaled.
printf 'a,big,small,label\n1,10000000,1e-9,x\n2,10000001,3e-9,y\n3,10000000,2e-9,x\n' >constant.csv
expect_exit 0 ddl-shard build constant.csv --label label $keep -o constant
expect_err "constant in train, so not scaled: 'big'"
expect_seen constant '[round(v, 3) for v in m["fields"][0]["normalisation"]["scale"]][:2]' '[1.225, 1.0]'

# Numbers are read the same under any locale.
expect_exit 0 env LC_ALL=de_DE.UTF-8 LC_NUMERIC=de_DE.UTF-8 ddl-shard build constant.csv --label label $keep -o german
cmp constant/train-00000.h5 german/train-00000.h5 || fail "the locale changed the numbers"

# Skipped lines, other separators, dropped columns.
printf 'made by someone\na;b;k\n1;2;x\n3;4;y\n' >semi.csv
expect_exit 0 ddl-shard build semi.csv --skip-lines 1 --delimiter ';' --label k --drop b $keep -o semi
expect_seen semi 'm["fields"][0]["columns"], x("train").tolist()' "(['a'], [[1.0], [3.0]])"
