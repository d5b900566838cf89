#!/usr/bin/env bash
# Builds the emulated driver under the file name of NVIDIA's driver library:
#
#     crates/trundle-cuda/emulated/build.sh FOLDER
#     LD_LIBRARY_PATH=FOLDER target/debug/trundle bench --device cuda rolls
#
# driver.cpp documents the driver and its environment variables. CXX selects the compiler (default: c++).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
"${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -Werror -fPIC -shared -Wl,-soname,libcuda.so.1 \
    -o "$1/libcuda.so.1" "$here/driver.cpp"
ln -sf libcuda.so.1 "$1/libcuda.so"
