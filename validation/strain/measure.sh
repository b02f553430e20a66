#!/bin/sh
# Steps of quasi-static strain per second, of all systems together: ./measure.sh SUPERCOOL ENGINE SYSTEMS...
# MODE=simple-shear: in place of pure shear. Two runs with strains of 0.005 and 0.025, whose times differ by those of 20 steps of each system.
set -eu
program=$1 engine=$2 mode=${MODE:-pure-shear}
shift 2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run() {
    begin=$(date +%s.%N)
    "$program" run "$here/glasses.toml" --engine "$engine" --set "ensemble.systems=$1" --set "stage.strain.strain.to=$2" \
        --set "stage.strain.strain.mode=\"$mode\"" \
        --set run.threads="${THREADS:-$(nproc)}" --set "output.directory=\"$folder/$1-$2\"" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    end=$(date +%s.%N)
    awk "BEGIN { print $end - $begin }"
}
# Kernels are compiled once.
run "$1" 0.001 >"$folder/first"
for systems in "$@"; do
    short=$(run "$systems" 0.005) long=$(run "$systems" 0.025)
    awk "BEGIN { printf \"%s, %s, %d systems: %.1f and %.1f s, %.1f strain steps/s in sum\n\", \"$engine\", \"$mode\", $systems, $short, $long, 20 * $systems / ($long - $short) }"
done
