"""The command `supercool`."""

import signal
import sys

from . import _native, _nvrtc


def main():
    # The command catches signals itself and stops with a checkpoint; Python would raise KeyboardInterrupt afterwards.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _nvrtc.find()
    sys.exit(_native.main(sys.argv[1:]))
