"""Files of HDF5, open only while something is read: a run can go on writing them."""

import contextlib
import time

#: The writer has the file for milliseconds.
_ATTEMPTS, _PAUSE = 20, 0.05
#: Seconds.
_PATIENCE = 2.0


@contextlib.contextmanager
def reading(path):
    """The file, of a run that goes on or was killed, too."""
    file = _opened(path)
    try:
        yield file
    finally:
        file.close()


def read(path, take):
    """What `take` gets from the file: anew where the writer was at work on what it came to. Of a damaged file HDF5 reads for long before it
    gives up: once is enough."""
    end = time.monotonic() + _PATIENCE
    for attempt in range(1, _ATTEMPTS + 1):
        with reading(path) as file:
            try:
                return take(file)
            except (OSError, RuntimeError):
                if attempt == _ATTEMPTS or time.monotonic() > end:
                    raise
        time.sleep(_PAUSE)


def _opened(path):
    import h5py

    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return h5py.File(path, "r")
        except OSError:
            # Where no writer has it, it is damaged: HDF5 would open it so, and be long in reading.
            is_marked = _is_marked_open(path)
            if not is_marked and attempt == _ATTEMPTS:
                raise
        if is_marked:
            try:
                return h5py.File(path, "r", swmr=True)
            except OSError:
                if attempt == _ATTEMPTS:
                    raise
        time.sleep(_PAUSE)


def _is_marked_open(path):
    """Whether the superblock (version 3, where SWMR exists) says that a writer has the file open."""
    with open(path, "rb") as file:
        start = file.read(12)
    return len(start) == 12 and start[8] == 3 and start[11] != 0


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
