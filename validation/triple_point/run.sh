#!/usr/bin/env bash
# Diffusion and viscosity of the Lennard-Jones liquid near its triple point, from several independent runs: a table
# of `supercool analyze` with jackknife errors, results/triple_point/fits.csv and fits.svg. What is expected and what
# was found stands in README.md.
#
#   validation/triple_point/run.sh [RUNS [SHRINK [PARTICLES [CUTOFF]]]]
#
# JOBS in the environment: the number of runs at once, which a GPU does in less time together.
# 8 runs of 2,048 particles with cutoff 2.5 if not said; SHRINK divides all numbers of steps, to try it (50, with
# 256 particles, takes a minute on two cores). In full it is 2.3e7 steps: for a GPU. After a stop the same command continues
# where it was.
set -euo pipefail
cd "$(dirname "$0")/../.."

runs=${1:-8}
shrink=${2:-1}
particles=${3:-2048}
cutoff=${4:-2.5}
jobs=${JOBS:-1}
for number in "$runs" "$shrink" "$particles" "$jobs"; do
    if ! [[ $number =~ ^[1-9][0-9]*$ ]]; then
        echo "RUNS, SHRINK, PARTICLES and JOBS are positive integers, not $number" >&2
        exit 2
    fi
done
if ! [[ $cutoff =~ ^[0-9]+\.[0-9]+$ ]]; then
    echo "CUTOFF is a decimal number such as 2.5, not $cutoff" >&2
    exit 2
fi
supercool=${SUPERCOOL:-target/release/supercool}
results=${RESULTS:-results/triple_point}
here=validation/triple_point
if [ -z "${SUPERCOOL:-}" ]; then
    cargo build --release --locked
fi
mkdir -p "$results"

# Intervals divide every stage: steps are multiples of 1,000, and 2,000 at least.
steps() {
    local steps=$(($1 / shrink / 1000 * 1000))
    echo $((steps < 2000 ? 2000 : steps))
}

run() {
    local seed=$1 directory toml
    directory=$results/run$seed
    toml=$results/run$seed.toml
    if [ -e "$toml" ]; then
        echo "run $seed: going on in $directory"
    fi
    sed -e "s/@SEED@/$seed/g" -e "s/@PARTICLES@/$particles/" -e "s/@CUTOFF@/$cutoff/" \
        -e "s/@MELT@/$(steps 20000)/" -e "s/@COOL@/$(steps 100000)/" \
        -e "s/@EQUILIBRATE@/$(steps 250000)/" -e "s/@PRODUCTION@/$(steps 2500000)/" \
        "$here/template.toml" >"$toml.new"
    if [ -e "$toml" ] && ! cmp -s "$toml" "$toml.new"; then
        echo "$directory holds another job than this one: move it away, or set RESULTS" >&2
        rm "$toml.new"
        exit 1
    fi
    mv "$toml.new" "$toml"
    if compgen -G "$directory/checkpoint-*" >/dev/null; then
        "$supercool" resume "$directory"
    else
        "$supercool" run "$toml" --output "$directory" --force
    fi
}

files=()
for seed in $(seq "$runs"); do
    run "$seed" &
    files+=("$results/run$seed/run$seed.h5")
    if [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; then
        wait -n
    fi
done
for job in $(jobs -p); do
    wait "$job"
done

"$supercool" analyze "${files[@]}" --csv "$results/fits.csv" --plot "$results/fits.svg"
echo "Table: $results/fits.csv; figure: $results/fits.svg"
