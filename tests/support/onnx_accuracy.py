"""Evaluates a trained model.onnx with ONNX Runtime on a split of a data set, reading the shards with h5py and
applying the preprocessing that the model's metadata names: nothing of ddl is used.

usage: onnx_accuracy.py MODEL DATASET SPLIT [PREDICTIONS.csv]
Prints "accuracy 0.1234 N" for classification (or tokens), "rmse …" for regression. With a CSV of ddl-train --eval,
also holds each predicted class to ours and prints "agree N of N".
"""
import csv
import json
import os
import sys

import h5py
import hdf5plugin  # noqa: F401  registers filter 32015
import numpy as np
import onnxruntime


def stored(folder, manifest, split, name):
    parts = []
    for shard in manifest["shards"]:
        if shard["split"] == split:
            with h5py.File(os.path.join(folder, shard["file"]), "r") as file:
                parts.append(file[name][...])
    return np.concatenate(parts)


def model_input(field, values):
    if field["kind"] == "category":
        return values.astype(np.int32)
    if field["kind"] == "tokens":
        return values[:, :-1].astype(np.int32)
    values = values.astype(np.float32)
    norm = field.get("normalisation")
    if norm:
        shape = [-1] + [1] * (values.ndim - 2) if field["kind"] == "image" else [-1]
        mean = np.asarray(norm["mean"], np.float32).reshape(shape)
        scale = np.asarray(norm["scale"], np.float32).reshape(shape)
        return (values - mean) * scale
    return values / np.float32(255) if field["kind"] == "image" and field["dtype"] == "uint8" else values


def main():
    model, folder, split = sys.argv[1:4]
    with open(os.path.join(folder, "dataset.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    baked = "ddl.preprocessing_baked" in metadata or metadata.get("ddl.baked") == "true"
    feeds = {}
    for field in json.loads(metadata["ddl.preprocessing"])["inputs"]:
        values = stored(folder, manifest, split, field["name"])
        feeds[field["name"]] = values if baked and field["kind"] in ("image", "numeric") else model_input(field, values)
    output = session.run(None, feeds)[0]
    targets = next(f for f in manifest["fields"] if f["kind"] in ("label", "target", "tokens"))
    truth = stored(folder, manifest, split, targets["name"])
    if targets["kind"] == "target":
        error = output.reshape(truth.shape) - truth
        print(f"rmse {np.sqrt(np.mean(error.astype(np.float64) ** 2)):.6f} {len(truth)}")
        return
    if targets["kind"] == "tokens":
        truth = truth[:, 1:]
    predicted = output.argmax(axis=-1)
    print(f"accuracy {np.mean(predicted == truth):.4f} {truth.size}")
    if len(sys.argv) > 4:
        classes = json.loads(metadata["ddl.classes"])
        with open(sys.argv[4], newline="", encoding="utf-8") as file:
            ours = [row["predicted"] for row in csv.DictReader(file)]
        agree = sum(a == classes[b] for a, b in zip(ours, predicted))
        print(f"agree {agree} of {len(predicted)}")
        sys.exit(0 if agree == len(predicted) == len(ours) else 1)


main()
