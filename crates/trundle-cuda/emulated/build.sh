#!/usr/bin/env bash
# Builds the emulated driver, as what a program looks for where NVIDIA's is installed:
#
#     crates/trundle-cuda/emulated/build.sh FOLDER
#     LD_LIBRARY_PATH=FOLDER target/debug/trundle bench --device cuda rolls
#
# driver.cpp says what it does, and by which variables it has more devices than one. CXX is the compiler, c++ unless it says so.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
"${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -Werror -fPIC -shared -Wl,-soname,libcuda.so.1 \
    -o "$1/libcuda.so.1" "$here/driver.cpp"
ln -sf libcuda.so.1 "$1/libcuda.so"
