"""Raw files for the tests of ddl-shard.

  make.py png FILE WIDTH HEIGHT KIND [VALUE]   KIND: grey, rgb, rgba, grey16 (a ramp over x), palette
  make.py npy FILE EXPRESSION                  what numpy saves of an expression with np
  make.py idx FILE EXPRESSION                  the same as IDX
"""
import struct
import sys
import zlib

import numpy as np


def write_png(path, width, height, kind, value):
    depth, colour = {"grey": (8, 0), "rgb": (8, 2), "rgba": (8, 6), "grey16": (16, 0), "palette": (8, 3)}[kind]
    rows = b""
    for _ in range(height):
        rows += b"\0"
        for x in range(width):
            if kind == "grey16":
                rows += struct.pack(">H", x * 257)
            elif kind == "palette":
                rows += bytes([x % 2])
            else:
                rows += bytes(value)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)))
        if kind == "palette":
            file.write(chunk(b"PLTE", bytes(value)))
        file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_idx(path, array):
    kinds = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
    with open(path, "wb") as file:
        file.write(struct.pack(">HBB", 0, kinds[array.dtype.name], array.ndim))
        file.write(struct.pack(f">{array.ndim}I", *array.shape))
        file.write(array.astype(array.dtype.newbyteorder(">")).tobytes())


def main():
    what, path = sys.argv[1:3]
    if what == "png":
        width, height, kind = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
        write_png(path, width, height, kind, [int(v) for v in sys.argv[6].split(",")] if len(sys.argv) > 6 else [])
    else:
        array = eval(sys.argv[3], {"np": np})
        if what == "npy":
            np.save(path, array, allow_pickle=True)
        else:
            write_idx(path, array)


main()
