"""The bar for the quickstart: scikit-learn's MLPClassifier of the same family on the same split.

usage: HDF5_PLUGIN_PATH=… sklearn_bar.py DATASET [SEEDS]
Run by hand (needs python3-sklearn and h5py); its result is quoted in tests/programs/chain/quickstart.sh.
Two hidden layers of 128 and 64 with ReLU, SGD with momentum 0.9, batch 32, inputs standardised as dataset.json says;
each seed trains for 30 epochs with learning rate 0.1 falling as scikit-learn's "invscaling" does not suit momentum, so
the best of the constant rates 0.1, 0.03 and 0.01 on the val split is taken.
"""
import json
import os
import sys
import warnings

import h5py
import numpy as np
import sklearn
from sklearn.neural_network import MLPClassifier


def split(folder, manifest, name):
    x, y = [], []
    for shard in manifest["shards"]:
        if shard["split"] == name:
            with h5py.File(os.path.join(folder, shard["file"]), "r") as file:
                x.append(file["x"][...])
                y.append(file["y"][...])
    x, y = np.concatenate(x).astype(np.float32), np.concatenate(y)
    field = next(f for f in manifest["fields"] if f["name"] == "x")
    norm = field.get("normalisation")
    if norm:
        shape = [-1] + [1] * (x.ndim - 2)
        x = (x - np.reshape(norm["mean"], shape)) * np.reshape(norm["scale"], shape)
    return x.reshape(len(x), -1), y


def main():
    folder = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with open(os.path.join(folder, "dataset.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    train, val, test = (split(folder, manifest, name) for name in ("train", "val", "test"))
    warnings.filterwarnings("ignore")  # 30 epochs are meant to be 30 epochs
    figures = []
    for seed in range(seeds):
        models = [
            MLPClassifier((128, 64), solver="sgd", learning_rate_init=rate, momentum=0.9, nesterovs_momentum=False,
                          alpha=0, batch_size=32, max_iter=30, random_state=seed).fit(*train)
            for rate in (0.1, 0.03, 0.01)
        ]
        best = max(models, key=lambda model: model.score(*val))
        figures.append(best.score(*test))
        print(f"seed {seed}: test accuracy {figures[-1]:.4f}")
    print(f"scikit-learn {sklearn.__version__}: mean {np.mean(figures):.4f}, min {min(figures):.4f}, max {max(figures):.4f}")


main()
