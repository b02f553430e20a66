# Sourced by the other scripts: installs what the system lacks, on Debian and Ubuntu.

say() { printf '%s\n' "$*" >&2; }

# install_missing PACKAGE=CHECK...: CHECK is a command that succeeds where the package is not needed.
install_missing() {
    local missing=() entry
    for entry in "$@"; do
        bash -c "${entry#*=}" >/dev/null 2>&1 || missing+=("${entry%%=*}")
    done
    [ ${#missing[@]} -eq 0 ] && return
    if ! command -v apt-get >/dev/null; then
        say "These are missing here, by their names in Debian: ${missing[*]}"
        say "Please install them with your system's package manager and start again."
        exit 1
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "Missing here: ${missing[*]}. As root: apt-get install ${missing[*]}"
            exit 1
        fi
        as_root=(sudo)
    fi
    say "Installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
}

# What building with the feature "mpi" needs, and mpirun for its tests.
install_mpi() {
    install_missing \
        "libopenmpi-dev=command -v mpicc" \
        "openmpi-bin=command -v mpirun" \
        "libclang-dev=ls /usr/lib/llvm-*/lib/libclang.so* || ldconfig -p | grep -E 'libclang(-[0-9]+)?[.]so'"
}

# What building needs besides Rust: HDF5 is built from source, with CMake, and linked statically.
install_build_tools() {
    if ! command -v cargo >/dev/null && [ -f "$HOME/.cargo/env" ]; then
        . "$HOME/.cargo/env"
    fi
    if ! command -v cargo >/dev/null; then
        say "Rust is missing: see https://rustup.rs"
        exit 1
    fi
    install_missing \
        "build-essential=command -v cc && command -v c++ && command -v make" \
        "cmake=command -v cmake" \
        "pkg-config=command -v pkg-config"
}
