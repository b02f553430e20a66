#!/usr/bin/env bash
# Reads a number of mutated inputs of each kind (a million if not given): fuzz.sh [CASES] [FIRST] [KIND...], kinds being
# configurations checkpoints gsd_files xyz_files lammps_dumps lammps_data_files hdf5_files. The same numbers give the same inputs.
set -euo pipefail
cd "$(dirname "$0")/../.."
export SUPERCOOL_FUZZ_CASES="${1:-1000000}" SUPERCOOL_FUZZ_FIRST="${2:-0}"
shift "$(($# < 2 ? $# : 2))"
exec cargo test --locked --test fuzz -- --nocapture "$@"
