#!/usr/bin/env bash
# Mean-square displacement and F_s(q = 7.25) of the Kob-Andersen liquid at T = 0.8, 0.6, 0.5 and 0.45, as one
# figure: results/four_temperatures/curves.svg, and fits.svg with the fits of `supercool analyze`.
#
#   validation/four_temperatures/run.sh [PARTICLES [SHRINK]]
#
# 8,000 particles if not said; SHRINK divides all numbers of steps, to try it (1000 takes a minute on two
# cores). In full it is 1e8 steps: for a GPU. At T = 0.45 the liquid has 8e4 units of time to equilibrate and is
# measured over 2e5: several relaxation times and more. After a stop the same command continues where it was.
set -euo pipefail
cd "$(dirname "$0")/../.."

particles=${1:-8000}
shrink=${2:-1}
for number in "$particles" "$shrink"; do
    if ! [[ $number =~ ^[1-9][0-9]*$ ]]; then
        echo "PARTICLES and SHRINK are positive integers, not $number" >&2
        exit 2
    fi
done
supercool=${SUPERCOOL:-target/release/supercool}
results=${RESULTS:-results/four_temperatures}
here=validation/four_temperatures
if [ -z "${SUPERCOOL:-}" ]; then
    cargo build --release --locked
fi
mkdir -p "$results"

# Intervals divide every stage: steps are multiples of 500, and 2,000 at least.
steps() {
    local steps=$(($1 / shrink / 500 * 500))
    echo $((steps < 2000 ? 2000 : steps))
}

# Temperature, steps to cool, to equilibrate and to measure, finest interval of the correlations.
jobs="
0.8    200000   500000  2000000  5
0.6    500000  1000000  5000000  5
0.5   1000000  2500000 10000000 10
0.45  2000000 20000000 50000000 25
"
files=()
seed=1
while read -r temperature cool equilibrate production every; do
    [ -n "$temperature" ] || continue
    directory=$results/T$temperature
    toml=$results/T$temperature.toml
    if [ -e "$toml" ]; then
        echo "T = $temperature: going on in $directory"
    fi
    sed -e "s/@T@/$temperature/g" -e "s/@SEED@/$seed/" \
        -e "s/@A@/$((particles - particles / 5))/" -e "s/@B@/$((particles / 5))/" \
        -e "s/@MELT@/$(steps 50000)/" -e "s/@COOL@/$(steps "$cool")/" \
        -e "s/@EQUILIBRATE@/$(steps "$equilibrate")/" -e "s/@PRODUCTION@/$(steps "$production")/" \
        -e "s/@EVERY@/$every/" "$here/template.toml" >"$toml.new"
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
    files+=("$directory/T$temperature.h5")
    seed=$((seed + 1))
done <<<"$jobs"

"$supercool" plot "${files[@]}" --output "$results/curves.svg" \
    --quantities mean-square-displacement,self-intermediate-scattering-function
"$supercool" analyze "${files[@]}" --csv "$results/fits.csv" --plot "$results/fits.svg"
echo "Figures: $results/curves.svg, $results/fits.svg"
