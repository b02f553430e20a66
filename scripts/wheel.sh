#!/usr/bin/env bash
# Builds the Python package, dist/supercool_md-*.whl: the module and the command for Python 3.10 and newer, on any Linux with glibc 2.17
# (of 2012) or newer. Without MPI.
# SUPERCOOL_PROFILE=dev builds with the profile of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

install_build_tools
install_missing "python3=command -v python3" "python3-venv=python3 -c 'import ensurepip, venv'"

tools="${SUPERCOOL_WHEEL_TOOLS:-target/wheel-tools}"
if [ ! -x "$tools/bin/maturin" ] || ! "$tools/bin/python" -c 'import ziglang' 2>/dev/null; then
    python3 -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir "maturin>=1.9.4,<2" "ziglang<0.18"
fi
# maturin looks for zig in the Python that is found first.
PATH="$(realpath "$tools")/bin:$PATH"
mkdir -p dist
rm -f dist/supercool_md-*.whl
# Zig's C compiler and linker take the C library of an old Linux, whatever this machine has. maturin ends with an error if the module
# needs anything newer than its tag says.
"$tools/bin/maturin" build --manifest-path python/Cargo.toml --locked --strip --zig --compatibility manylinux2014 \
    --profile "${SUPERCOOL_PROFILE:-release}" --interpreter python3 --out dist "$@"

wheel="$(ls dist/supercool_md-*.whl)"
megabytes=$(($(stat -c %s "$wheel") / 1000000))
say "$wheel: $megabytes MB"
if [ "$megabytes" -ge 40 ]; then
    say "That is larger than 40 MB: something is in it that should not be"
    exit 1
fi
