#!/usr/bin/env bash
# Runs all tests, those with h5py, MDAnalysis, pyh5md and gsd, those of ranks started by mpirun and those of the Python package
# included. With words they go to `cargo test`, and the package is left out.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

install_build_tools
install_mpi
install_missing "python3=command -v python3" "python3-venv=python3 -c 'import ensurepip, venv'"

requirements=tests/python/requirements.txt
if ! cmp -s "$requirements" .venv/installed.txt; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir -r "$requirements"
    cp "$requirements" .venv/installed.txt
fi
# The samples of berni are not kept here, for their licence: see tests/data/README.md.
if [ ! -e target/berni/kob_andersen.xyz ]; then
    .venv/bin/python tests/python/berni_samples.py target/berni
fi

# CI: a test that needs Python or the samples and does not find them fails instead of being skipped.
export CI="${CI:-true}"
export SUPERCOOL_PYTHON="$PWD/.venv/bin/python"
export SUPERCOOL_BERNI="$PWD/target/berni"
# The CUDA kernels are compiled in the tests, which needs NVRTC but no GPU.
SUPERCOOL_NVRTC="$(find "$PWD/.venv" -name 'libnvrtc.so.1*' | head -n 1)"
export SUPERCOOL_NVRTC
cargo test --workspace --locked --features supercool/mpi "$@"

# The Python package, not as a wheel (scripts/test_wheel.sh) but of what is compiled already: built with one of the tests, it has
# the same features.
if [ $# -eq 0 ]; then
    cargo build --workspace --locked --features supercool/mpi --lib --test documents
    built="${CARGO_TARGET_DIR:-target}"
    package="$built/python"
    rm -rf "$package"
    mkdir -p "$package"
    cp -r python/supercool "$package"
    cp "$built/debug/lib_native.so" "$package/supercool/_native.abi3.so"
    package="$(realpath "$package")"
    cd python/tests
    PYTHONPATH="$package" "$SUPERCOOL_PYTHON" -m pytest -p no:cacheprovider -q
fi
