#!/bin/sh
# A sweep as an array of Slurm jobs, each of which runs one shard of it:
#
#   sbatch examples/slurm/sweep.sh JOB.json
#
# All of them write to one folder that every node sees. Jobs that were killed or ran out of time can be submitted again: finished items
# are skipped, and the one that was running continues from its last checkpoint. How far the sweep is:
#
#   npx warploom run JOB.json --results "$HOME/warploom-results" --status
#
#SBATCH --job-name=warploom
#SBATCH --array=1-8
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@60
set -eu
# SLURM_ARRAY_TASK_ID counts from 1 here, as --shard does.
${WARPLOOM:-npx warploom} run "$1" --results "${RESULTS:-$HOME/warploom-results}" --keep-going --json \
  --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
