#!/bin/sh
# Particle-steps per second of 8 systems of 1,000 particles in one run, on one thread and on all cores.
#   ./scripts/ensemble_speed.sh [STEPS]
set -eu
cd "$(dirname "$0")/.."
steps=${1:-2000}
program=${SUPERCOOL:-target/release/supercool}
[ -x "$program" ] || cargo build --release
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

rate() {
    cat > "$directory/job.toml" <<TOML
[system]
dimension = 3
density = 1.2
species = [{ name = "A", count = 800 }, { name = "B", count = 200 }]
initial = { lattice = "fcc", temperature = 1.5 }
[potential]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
[potential.pairs]
AA = { epsilon = 1.0, sigma = 1.0 }
AB = { epsilon = 1.5, sigma = 0.8 }
BB = { epsilon = 0.5, sigma = 0.88 }
[output]
directory = "$directory/threads-$1"
[run]
engine = "cpu"
precision = "fixed-point"
timestep = 0.004
threads = $1
[ensemble]
kind = "independent"
systems = 8
[[stage]]
name = "melt"
steps = $steps
observe = { thermodynamics = 100 }
TOML
    "$program" run "$directory/job.toml" --quiet 2> /dev/null |
        sed -n 's/.* steps in \([0-9.]*\) s after.*/\1/p' |
        awk -v steps="$steps" '{ print 8000 * steps / $1 }'
}

cores=$(nproc)
one=$(rate 1)
all=$(rate "$cores")
awk -v one="$one" -v all="$all" -v cores="$cores" 'BEGIN {
    printf "1 thread   %.3g particle-steps/s\n%d threads  %.3g particle-steps/s, %.2f times as many\n", one, cores, all, all / one
}'
