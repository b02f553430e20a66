#!/usr/bin/env bash
# Installs dist/supercool_md-*.whl, which scripts/wheel.sh builds, into a fresh environment and runs python/tests there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

wheel="$(ls dist/supercool_md-*.whl 2>/dev/null)" || { say "No wheel in dist: ./scripts/wheel.sh builds it"; exit 1; }
environment="$(mktemp -d)"
trap 'rm -rf "$environment"' EXIT
"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$PWD/$wheel[plot,pandas]" pytest \
    ase atooms freud-analysis gsd MDAnalysis scipy
"$environment/bin/supercool" --version
# From the folder of the tests: the module must be the installed one.
cd python/tests
"$environment/bin/python" -m pytest -p no:cacheprovider -q "$@"
