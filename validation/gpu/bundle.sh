#!/usr/bin/env bash
# Builds the program and the tests that use a GPU and puts them, stripped, into a folder that check.sh takes on a machine
# with GPUs: bundle.sh DIR. The samples of berni go with them, if scripts/test.sh has fetched them.
set -euo pipefail
if [ $# -ne 1 ]; then
    echo "usage: $0 DIR" >&2
    exit 2
fi
mkdir -p "$1"
bundle="$(realpath "$1")"
cd "$(dirname "$0")/../.."

cargo build --locked --features supercool/mpi -p supercool
strip -o "$bundle/supercool" target/debug/supercool
tests=(cuda cuda_correlations cuda_minima reference simulation_box buckingham ranks_on_gpus)
# The lines of cargo that name what it has built: one JSON object each.
cargo test --no-run --locked --features supercool/mpi -p supercool "${tests[@]/#/--test=}" --message-format=json |
    sed -n 's/.*"kind":\["test"\].*"name":"\([a-z_]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
    while read -r name executable; do strip -o "$bundle/$name" "$executable"; done
for name in "${tests[@]}"; do
    [ -x "$bundle/$name" ] || { echo "$name was not built" >&2; exit 1; }
done
if [ -d target/berni ]; then cp -r target/berni "$bundle/"; fi
du -sh "$bundle"
