#!/usr/bin/env bash
# Builds supercool, runs a Kob-Andersen liquid at two temperatures and plots what caging looks like: 1,372 particles of the 4,000 of the
# configuration, for some minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

results=results/kob_andersen
if [ -e "$results" ]; then
    say "$results/ is already there: move it away, or: target/release/supercool plot $results/*.h5"
    exit 1
fi
install_build_tools
cargo build --release --locked
target/release/supercool run configs/kob_andersen.toml \
    --set system.species.A.count=1097 --set system.species.B.count=275
target/release/supercool plot "$results/hot.h5" "$results/cold.h5" --output "$results/caging.svg" \
    --quantities mean-square-displacement,self-intermediate-scattering-function
target/release/supercool plot "$results/hot.h5" "$results/cold.h5" --output "$results/all.svg"
target/release/supercool info "$results/cold.h5"
say "Results and plots are in $results/"
