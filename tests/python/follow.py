"""Follows a running simulation with one h5py file opened once in SWMR mode: follow.py FILE

Says when it has seen the file grow, until when the simulation continues, and when all is well.
"""

import sys
import time

import h5py
import numpy as np

deadline = time.monotonic() + 60
with h5py.File(sys.argv[1], "r", swmr=True) as f:
    print("following", flush=True)
    step = f["observables/temperature/step"]
    temperature = f["observables/temperature/value"]
    stress = f["observables/stress_tensor/value"]
    series = f["dynamics/A/mean_square_displacement/value"]
    complete, last = f["progress/complete"], f["progress/step"]
    lengths, values = set(), set()
    has_grown = False
    while not complete[()]:
        assert time.monotonic() < deadline, "the file stands still"
        for dataset in [complete, step, temperature, stress, series]:
            dataset.refresh()
        steps = step[:]
        np.testing.assert_array_equal(temperature[: len(steps)], 1 + steps / 1024)
        assert stress.shape[0] >= len(steps)
        lengths.add(len(steps))
        values.add(float(series[0]))
        if not has_grown and len(lengths) > 5 and len(values) > 5:
            has_grown = True
            print("it grows", flush=True)
    for dataset in [step, last]:
        dataset.refresh()
    assert len(step) == last[()], (len(step), last[()])
    assert has_grown, (lengths, values)


def open_finished(path):
    """Opens without SWMR, which works once the writer has closed the file: just after its last write."""
    while True:
        try:
            return h5py.File(path, "r")
        except OSError as error:
            assert "open for write" in str(error) and time.monotonic() < deadline, error
            time.sleep(0.01)


with open_finished(sys.argv[1]) as f:
    assert f["progress/complete"][()] == 1
print("ok")
