#!/bin/sh
# Builds the emulated GPU into a folder and prints what to set so that programs find it:
#   eval "$(tests/emulated_gpu/build.sh /tmp/emulated-gpu)"; EMULATED_GPUS=2 supercool doctor
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# What was compiled with another device.h is of no use.
rm -rf "$1/cache"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cxx=${CXX:-c++}
cp "$here/device.h" "$here/interface.h" "$folder"
$cxx -std=c++17 -O2 -g1 -Wall -fPIC -shared -pthread "$here/driver.cpp" "$here/memory.cpp" "$here/blocks.cpp" \
    -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so.1" -ldl
ln -sf libcuda.so.1 "$folder/libcuda.so"
$cxx -std=c++17 -O1 -Wall -fPIC -shared "$here/nvrtc.cpp" -o "$folder/libnvrtc.so" -ldl
cat <<END
export LD_LIBRARY_PATH='$folder'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export SUPERCOOL_NVRTC='$folder/libnvrtc.so'
export XDG_CACHE_HOME='$folder/cache'
END
