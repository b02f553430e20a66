#!/usr/bin/env bash
#SBATCH --job-name=supercool
#SBATCH --time=24:00:00
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=4
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@300
# Runs a configuration to its end in as many jobs as it takes: sbatch slurm.sh FILE.toml [DIRECTORY]
#
# Several tasks become ranks, on CPUs (sbatch --ntasks=32 --gres=none slurm.sh FILE.toml) or one for each GPU (sbatch
# --ntasks-per-node=4 --gres=gpu:4 slurm.sh FILE.toml: every rank should see all GPUs of its host, to reach their memory).
# supercool must then be built with `--features mpi` and the site's MPI library; `srun --mpi=list` names the plugins, of
# which MPI_PLUGIN is one.
#
# Five minutes before the job's time is over SLURM sends USR1 (--signal above), on pre-emption TERM. supercool then
# writes a checkpoint and ends with 75, or with 76 before it has begun, and the job puts itself into the queue again, unless
# three in a row have come no step further. Any other end is for you to see.
set -uo pipefail

# A signal may come before there is a process.
process=
signalled=
trap 'signalled=yes; [ -n "$process" ] && kill -USR1 "$process" 2>/dev/null' USR1 TERM

file=${1:?usage: sbatch slurm.sh FILE.toml [DIRECTORY]}
name=$(basename "$file" .toml)
directory=${2:-results/$name}
supercool=("${SUPERCOOL:-supercool}")
if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then
    # srun passes signals on to all ranks.
    supercool=(srun "--mpi=${MPI_PLUGIN:-pmix}" --kill-on-bad-exit=1 "${supercool[@]}")
fi

# Steps of the last checkpoint; nothing if there is none.
reached() {
    local last= step path
    for path in "$directory"/checkpoint-*.scp; do
        step=${path##*/checkpoint-}
        step=${step%.scp}
        [[ $step =~ ^[0-9]+$ ]] && [ "$step" -ge "${last:-0}" ] && last=$step
    done
    echo "$last"
}

before=$(reached)
if [ -n "$before" ]; then
    "${supercool[@]}" resume "$directory" --quiet &
else
    "${supercool[@]}" run "$file" --output "$directory" --quiet &
fi
process=$!
if [ -n "$signalled" ]; then
    # Not before it listens: until then the signal would end it.
    sleep 1
    kill -USR1 "$process" 2>/dev/null
fi

# A signal ends `wait` before the process has ended.
wait "$process"
status=$?
while kill -0 "$process" 2>/dev/null; do
    wait "$process"
    status=$?
done
if [ "$status" -gt 128 ]; then
    wait "$process"
    status=$?
fi

# By the signal itself, before it listened.
if [ -n "$signalled" ] && { [ "$status" -eq 138 ] || [ "$status" -eq 143 ]; }; then
    status=75
fi
if [ "$status" -ne 75 ] && [ "$status" -ne 76 ]; then
    exit "$status"
fi
# Jobs in a row that have come no step further.
stalled=$directory/.stalled
mkdir -p "$directory"
if [ "$(reached)" = "$before" ]; then
    count=$(($(cat "$stalled" 2>/dev/null || echo 0) + 1))
    echo "$count" >"$stalled"
    if [ "$count" -ge 3 ]; then
        rm -f "$stalled"
        echo "$directory: three jobs have come no step further than ${before:-the start}: is their time too short?" >&2
        exit 1
    fi
else
    rm -f "$stalled"
fi
for pause in 1 10 60; do
    scontrol requeue "$SLURM_JOB_ID" && exit 0
    sleep "$pause"
done
echo "$directory: the job could not be put into the queue again; sbatch it once more" >&2
exit 75
