#!/usr/bin/env bash
# What GPUs must show, on a machine with GPUs: check.sh BUNDLE OUTPUT [PART...], with the folder of bundle.sh.
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"

parts=(
    "tests:           tests of one GPU (test files cuda, cuda_correlations, cuda_minima, reference, simulation_box, buckingham)"
    "memcheck:        compute-sanitizer on runs that use every kernel of one GPU"
    "racecheck:       the same with its other tool"
    "stages:          1,000 stages in one run: the GPU's memory must not grow"
    "speed:           steps per second of one GPU, by size and precision"
    "smooth:          smooth truncation beside shifted, skin given"
    "many-systems:    particle-steps per second of many systems in one run, by size and thermostat"
    "exact:           the suite exact, of full size"
    "ranks:           tests of ranks on two GPUs and more (test file ranks_on_gpus)"
    "ranks-memcheck:  compute-sanitizer on two ranks"
    "ranks-racecheck: the same with its other tool"
    "scaling:         weak and strong scaling on 1, 2, 4 GPUs (validation/scaling)"
    "hundred-million: 100,000,000 particles on all GPUs, with a trajectory frame and a checkpoint"
)
if [ $# -lt 2 ]; then
    echo "usage: $0 BUNDLE OUTPUT [PART...]"
    printf '  %s\n' "${parts[@]}"
    exit 2
fi
bundle="$(realpath "$1")" && mkdir -p "$2" && output="$(realpath "$2")" || exit 2
shift 2
supercool="$bundle/supercool"
if [ ! -x "$supercool" ]; then
    echo "$supercool: no such program; bundle.sh makes such a folder" >&2
    exit 2
fi
gpus="$(nvidia-smi --list-gpus 2>/dev/null | wc -l)"
if [ "$gpus" -eq 0 ]; then
    echo "nvidia-smi names no GPU" >&2
    exit 2
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$root" || exit 2
# Tests start the program from where it was built.
mkdir -p target/debug
if [ -e target/debug/supercool ] && [ ! -e target/debug/supercool.of-bundle ]; then
    echo "target/debug/supercool, which tests start, was built here: run this in a checkout in which nothing was built" >&2
    exit 2
fi
touch target/debug/supercool.of-bundle
cmp -s "$supercool" target/debug/supercool || cp "$supercool" target/debug/supercool

# A configuration of this folder in a precision; those with everything in two or three dimensions.
configure() { # NAME PRECISION
    local system="s/DIMENSION/3/; s/OF_A/1600/; s/OF_B/400/"
    case "$1" in
        *_2d) system="s/DIMENSION/2/; s/OF_A/1300/; s/OF_B/700/" ;;
        # One block a system, one lane a particle; and several of both.
        many_systems) system="s/SYSTEMS/132/; s/THREADS/1/" ;;
        few_systems) system="s/SYSTEMS/3/; s/THREADS/8/" ;;
    esac
    local template="${1%_[23]d}"
    sed "s/PRECISION/$2/; $system" "$here/${template/few_/many_}.toml" >"$output/$1-$2.toml"
    echo "$output/$1-$2.toml"
}

# Every test in a process of its own, some of them at once: most of their time the compiler works for them.
run_tests() { # AT_ONCE NAME...
    local at_once="$1"
    shift
    mkdir -p "$output/tests"
    for name in "$@"; do "$bundle/$name" --list --format terse | sed -n "s/^\(.*\): test$/$name \1/p"; done |
        SUPERCOOL_BERNI="$bundle/berni" xargs -P "$at_once" -L 1 "$here/one_test.sh" "$bundle" "$output/tests"
}

sanitize() { # TOOL RANKS CONFIGURATION:PRECISION...
    local tool="$1" ranks="$2" failed=0 launcher=()
    shift 2
    if [ "$ranks" -gt 1 ]; then launcher=(mpirun --bind-to none -n "$ranks"); fi
    for case in "$@"; do
        local file
        file="$(configure "${case%:*}" "${case#*:}")"
        echo "-- $tool, $ranks ranks, $case"
        "${launcher[@]}" compute-sanitizer --tool "$tool" --error-exitcode 9 "$supercool" run "$file" --quiet --force \
            --output "$output/results/$tool-${case/:/-}" || failed=1
    done
    return $failed
}

bench() { # PARTICLES PRECISION OPTION...
    local particles="$1" precision="$2"
    shift 2
    "$supercool" bench --engine cuda --particles "$particles" --precision "$precision" "$@" --json |
        python3 -c 'import json, sys
for row in json.load(sys.stdin):
    options = " ".join([row["thermostat"], *sys.argv[1:]])
    print("|", row["particles"], "|", row["precision"], "|", options, "|", round(row["steps_per_second"], 1), "|", flush=True)' "$@"
}

part_tests() { run_tests 12 cuda cuda_correlations cuda_minima reference simulation_box buckingham; }
one_gpu=(lanes:fixed-point lanes:double-single everything_3d:fixed-point everything_2d:fixed-point many_systems:fixed-point
    few_systems:double-single)
part_memcheck() { sanitize memcheck 1 "${one_gpu[@]}"; }
part_racecheck() { sanitize racecheck 1 "${one_gpu[@]}"; }

part_stages() {
    local file watcher ended
    file="$(configure stages fixed-point)"
    for stage in $(seq 1000); do
        local thermostat
        thermostat="$(sed -n "$((stage % 5 + 1))p" "$here/thermostats.txt")"
        printf '\n[[stage]]\nname = "stage-%d"\nsteps = 200\nobserve = { thermodynamics = 50 }\n%s\n' "$stage" "$thermostat"
        if [ $((stage % 5)) -eq 0 ]; then printf '[[stage.correlation]]\nevery = 5\nwavenumbers = [7.25]\n'; fi
    done >>"$file"
    nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits --id=0 --loop-ms=200 >"$output/memory.csv" &
    watcher=$!
    "$supercool" run "$file" --quiet --force --output "$output/results/stages"
    ended=$?
    kill "$watcher"
    python3 - "$output/memory.csv" <<'PYTHON' && return $ended
import sys
used = [int(line) for line in open(sys.argv[1]) if line.strip()]
# Without what comes before the first stage and after the last.
used = used[len(used) // 10 : -3]
half = len(used) // 2
print(f"MiB of the GPU: {min(used)} to {max(used)}, {len(used)} samples; last half at most {max(used[half:])}")
sys.exit(max(used[half:]) > max(used[:half]) + 16)
PYTHON
}

part_speed() {
    echo "| particles | precision | options | steps/s |"
    echo "| --- | --- | --- | --- |"
    local failed=0
    for particles in 1000 4000 16384 50000 256000 1000000 4000000; do
        for precision in fixed-point double-single; do bench "$particles" "$precision" || failed=1; done
    done
    for particles in 50000 1000000; do
        for precision in single double; do bench "$particles" "$precision" || failed=1; done
    done
    for precision in fixed-point double-single; do
        bench 64000 "$precision" --model lj-fluid || failed=1
        bench 2097152 "$precision" --model lj-nve || failed=1
    done
    bench 50000000 fixed-point --melt-steps 300 --equilibration-steps 200 --steps 200 || failed=1
    return $failed
}

part_many-systems() {
    echo "| particles | precision | options | steps/s |"
    echo "| --- | --- | --- | --- |"
    local failed=0 thermostats=none,andersen,langevin,bussi,nose-hoover
    for case in "250 2112" "500 1056" "1000 528" "2000 528" "4000 264" "10000 264"; do
        read -r particles systems <<<"$case"
        bench "$particles" fixed-point --systems "$systems" --steps $((2500000 / particles)) --thermostat $thermostats || failed=1
    done
    return $failed
}

part_smooth() {
    echo "| particles | precision | options | steps/s |"
    echo "| --- | --- | --- | --- |"
    local failed=0
    for case in "50000 0.5 40000" "256000 0.4 12000" "1000000 0.42 2500"; do
        read -r particles skin steps <<<"$case"
        for precision in fixed-point double-single; do
            for truncation in shifted smooth; do
                bench "$particles" "$precision" --truncation "$truncation" --skin "$skin" --steps "$steps" || failed=1
            done
        done
    done
    return $failed
}

part_exact() { "$supercool" validate exact --full --output "$output/results/validation"; }

# Without a C++ compiler the tests leave out emulated GPUs, which are for machines without real ones.
part_ranks() { CXX=none run_tests 1 ranks_on_gpus; }
two_ranks=(ranks:fixed-point ranks:double-single)
part_ranks-memcheck() { sanitize memcheck 2 "${two_ranks[@]}"; }
part_ranks-racecheck() { sanitize racecheck 2 "${two_ranks[@]}"; }
part_scaling() {
    local counts=(1)
    for count in 2 4; do if [ "$gpus" -ge "$count" ]; then counts+=("$count"); fi; done
    python3 validation/scaling/scaling.py "$supercool" --gpus "${counts[@]}" --output "$output/scaling.json"
}
part_hundred-million() {
    mpirun --bind-to none -n "$gpus" "$supercool" run "$(configure hundred_million double-single)" --quiet --force \
        --output "$output/results/hundred-million" && ls -l "$output/results/hundred-million"
}

known="$(printf '%s\n' "${parts[@]}" | sed 's/:.*//')"
if [ $# -eq 0 ]; then
    mapfile -t chosen < <(if [ "$gpus" -ge 2 ]; then echo "$known"; else echo "$known" | sed '/^ranks\|^scaling\|^hundred/d'; fi)
else
    chosen=("$@")
fi
for part in "${chosen[@]}"; do
    if ! grep -qx -- "$part" <<<"$known"; then
        echo "$part: no such part; without parts this script says which there are" >&2
        exit 2
    fi
done

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
failures=0
for part in "${chosen[@]}"; do
    SECONDS=0
    if "part_$part" >"$output/$part.log" 2>&1; then verdict=ok; else verdict=FAILED failures=$((failures + 1)); fi
    grep '^test .*, [0-9]* s$\|ERROR SUMMARY\|RACECHECK SUMMARY\|^|\|^MiB\|FAILED\|panicked\|hold' "$output/$part.log"
    echo "$part: $verdict, $SECONDS s" | tee -a "$output/summary"
done
exit $((failures > 0))
