"""Reads everything in HDF5 files: readable.py FILE..."""

import sys

import h5py


def read(_, item):
    for name in item.attrs:
        item.attrs[name]
    if isinstance(item, h5py.Dataset):
        item[()]


for path in sys.argv[1:]:
    try:
        with h5py.File(path, "r") as f:
            read("/", f)
            f.visititems(read)
    except Exception as error:
        sys.exit(f"{path}: {error}")
print("ok")
