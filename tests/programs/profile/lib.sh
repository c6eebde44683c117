# Shared by the tests of ddl-profile: source it. Work in a fresh folder with a small data set "data".
. "$DDL_SOURCE/tests/support/lib.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

{ echo a,b,c,label; for i in $(seq 1 80); do echo "$((i % 7)),$((i % 5 - 2)).5,$((i * 37 % 11)),k$((i % 3))"; done; } >table.csv
ddl-shard build table.csv --label label -o data >built 2>/dev/null || fail "no data set to measure with"

# check_cluster FILE: valid against the published schema; prints what the Python expression in $2 says of it.
check_cluster() {
  /usr/bin/python3 - "$1" "$DDL_SOURCE/lib/ddl/artifact/schemas/ddl-cluster.schema.json" "$2" <<'PYTHON'
import json, sys
import jsonschema
cluster = json.load(open(sys.argv[1]))
jsonschema.validate(cluster, json.load(open(sys.argv[2])))
def walk(value):
    if isinstance(value, dict):
        if "median" in value and value.get("samples", 1) > 0:
            assert 0 < value["low"] <= value["median"] <= value["high"], value
        for one in value.values():
            walk(one)
    elif isinstance(value, list):
        for one in value:
            walk(one)
walk(cluster)
print(eval(sys.argv[3], {"c": cluster}))
PYTHON
}
