#!/usr/bin/env bash
# Builds the emulated driver, and the emulated NVRTC in FOLDER/nvrtc, under the file names of NVIDIA's libraries:
#
#     crates/trundle-cuda/emulated/build.sh FOLDER
#     LD_LIBRARY_PATH=FOLDER TRUNDLE_NVRTC=FOLDER/nvrtc target/debug/trundle bench --device cuda rolls
#
# driver.cpp documents the driver and its environment variables. CXX selects the compiler (default: c++).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/nvrtc"
compile() { "${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -Werror -fPIC -shared "$@"; }
compile -Wl,-soname,libcuda.so.1 -o "$1/libcuda.so.1" "$here/driver.cpp" -ldl
ln -sf libcuda.so.1 "$1/libcuda.so"
compile -DHERE="\"$here\"" -o "$1/nvrtc/libnvrtc.so.12" "$here/nvrtc.cpp"
