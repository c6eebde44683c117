"""Reads a data set as anyone would, with h5py alone. EXPRESSION is printed; in it, `x`, `y`, … are
functions: x("train") gives all values of the field x of a split. `m` is dataset.json.

  look.py DATASET EXPRESSION
"""
import json
import os
import sys

import numpy as np

try:
    import hdf5plugin  # noqa: F401
except ImportError:
    pass  # then HDF5_PLUGIN_PATH must name our own plugin
import h5py


def reader(folder, manifest, field):
    def values(split):
        parts = []
        for shard in manifest["shards"]:
            if shard["split"] == split:
                with h5py.File(os.path.join(folder, shard["file"]), "r") as file:
                    parts.append(file[field][...])
        return np.concatenate(parts)

    return values


def main():
    folder, expression = sys.argv[1:3]
    with open(os.path.join(folder, "dataset.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    names = {name: reader(folder, manifest, name) for name in [f["name"] for f in manifest["fields"]] + ["id"]}
    result = eval(expression, {"np": np, "m": manifest, "h5py": h5py, "folder": folder, **names})
    print(result.tolist() if isinstance(result, np.ndarray) else result)


main()
