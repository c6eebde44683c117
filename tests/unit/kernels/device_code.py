"""The device library must hold machine code for every architecture it was configured for.

nvcc puts its output into fat binaries: a header of 16 bytes (magic 0xba55ed50, version, header
size, size of what follows), then entries whose header begins with: kind (2 bytes; 1: PTX, 2: ELF),
version (2), header size (4), payload size (8), compressed size (4), options (4), minor and major
version (2 each), architecture (4; 90 for sm_90). Read here because cuobjdump comes in a package of
its own.
"""

import os
import re
import struct
import sys
from collections import Counter
from pathlib import Path

MAGIC = struct.pack("<I", 0xBA55ED50)
PTX, ELF = 1, 2


def entries(data):
    """(kind, architecture) of every entry of every fat binary in the bytes."""
    at = data.find(MAGIC)
    while at >= 0:
        _, _, header, size = struct.unpack_from("<IHHQ", data, at)
        position, end = at + header, at + header + size
        if header != 16 or end > len(data):
            raise ValueError(f"a fat binary at byte {at} is longer than its file")
        while position + 32 <= end:
            kind, _, header, size = struct.unpack_from("<HHIQ", data, position)
            (architecture,) = struct.unpack_from("<I", data, position + 28)
            if kind not in (PTX, ELF) or header < 32 or position + header + size > end:
                raise ValueError(f"an entry at byte {position} cannot be read")
            yield kind, architecture
            position += header + size
        at = data.find(MAGIC, end)


def fat_binary(*kinds):
    """A fat binary with these entries and no code."""
    body = b"".join(
        struct.pack("<HHIQIIHHI", kind, 1, 32, 8, 0, 0, 0, 0, architecture) + bytes(8)
        for kind, architecture in kinds
    )
    return MAGIC + struct.pack("<HHQ", 1, 16, len(body)) + body


def self_test():
    data = b"archive" + fat_binary((ELF, 80), (PTX, 90)) + b"more" + fat_binary((ELF, 90)) + b"end"
    assert list(entries(data)) == [(ELF, 80), (PTX, 90), (ELF, 90)]
    assert list(entries(b"no device code here")) == []
    try:
        list(entries(fat_binary((ELF, 80))[:-9]))
        raise SystemExit("FAILED: a cut fat binary was read")
    except ValueError:
        pass


def main():
    self_test()
    library = os.environ.get("DDL_DEVICE_LIBRARY", "")
    if not library:
        print("skipped: configured without nvcc, there is no device code")
        return 77
    found = Counter(arch for kind, arch in entries(Path(library).read_bytes()) if kind == ELF)
    sources = len(list((Path(os.environ["DDL_SOURCE"]) / "kernels").glob("*.cu")))
    print(f"{Path(library).name}: " + ", ".join(f"{n} for sm_{a}" for a, n in sorted(found.items())))
    # "90-real", "90a"; words such as "native" stand for what nvcc finds: any code will do.
    wanted = re.findall(r"(?:^|:)(\d+)", os.environ["DDL_ARCHITECTURES"])
    missing = [name for name in wanted if found[int(name)] < sources]
    if missing or not found:
        print(f"FAILED: of {sources} files, code is missing for sm_" + ", sm_".join(missing))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
