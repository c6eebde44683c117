# Inputs by hand for the tests of ddl-plan: a data set of which only the manifest is read, and a cluster
# of two workers, the first twice as fast. Source it after lib.sh.
mkdir data
cat >data/dataset.json <<'JSON'
{"format": "ddl-dataset", "version": 1, "name": "digits", "task": "classification",
 "fields": [{"name": "x", "kind": "image", "dtype": "uint8", "shape": [1, 8, 8]},
            {"name": "y", "kind": "label", "dtype": "int64", "shape": []}],
 "classes": ["a", "b", "c"], "splits": [{"name": "train", "samples": 1000}],
 "shards": [{"file": "train-00000.h5", "split": "train", "samples": 1000, "bytes": 1,
             "xxh3_128": "00000000000000000000000000000000"}]}
JSON
cat >cluster.json <<'JSON'
{"format": "ddl-cluster", "version": 1,
 "nodes": [{"host": "one"}, {"host": "two"}],
 "workers": [{"rank": 0, "node": 0, "fp32_flops_per_second": {"median": 4e10}},
             {"rank": 1, "node": 1, "fp32_flops_per_second": {"median": 2e10}}],
 "link_classes": [{"level": "network", "latency_seconds": {"median": 1e-4},
                   "bandwidth_bytes_per_second": {"median": 1e8}}]}
JSON
# shown EXPRESSION FILE: a value of a JSON file, `d` in Python.
shown() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[2])); print(eval(sys.argv[1]))' "$@"; }
is() { local found; found=$(shown "$1" "$2") && [ "$found" = "$3" ] || fail "$2: $1 is $found, expected $3"; }
