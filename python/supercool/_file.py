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
    for attempt in range(_ATTEMPTS):
        for swmr in (False, True):
            try:
                return h5py.File(path, "r", swmr=swmr)
            except OSError:
                if swmr and attempt + 1 == _ATTEMPTS:
                    raise
        time.sleep(_PAUSE)


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
