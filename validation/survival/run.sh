#!/usr/bin/env bash
# Kills a run at a number of random moments (200 if not given) and compares what is left, and what comes out in the end, with
# a run that was left alone: run.sh [KILLS] [SEED]. Needs h5py and gsd (SUPERCOOL_PYTHON names a Python that has them).
set -euo pipefail
cd "$(dirname "$0")/../.."
export SUPERCOOL_KILLS="${1:-200}"
if [ $# -gt 1 ]; then export SUPERCOOL_KILL_SEED="$2"; fi
exec cargo test --locked --test run -- --nocapture --exact kill::a_run_that_is_killed_at_any_moment_goes_on_with_the_same_bits
