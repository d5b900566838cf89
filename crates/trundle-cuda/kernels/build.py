#!/usr/bin/env python3
"""Compiles the kernels to PTX, or checks that the checked-in PTX is up to date.

    python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-nvcc-cu12==12.9.86
    .venv/bin/python crates/trundle-cuda/kernels/build.py           # writes kernels.ptx
    .venv/bin/python crates/trundle-cuda/kernels/build.py --check   # compares, and checks registers with ptxas

Needs no GPU and no driver. Without the compiler it prints a note and exits with 77 (skipped).
"""

import argparse
import ctypes
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent

# Other compiler versions generate different PTX from the same sources.
PACKAGE = "nvidia-cuda-nvrtc-cu12"
VERSION = "12.9.86"
SKIPPED = 77

# PTX for one compute capability also runs on all later ones. Turing is the oldest supported. Compiling for 9.0 gives the
# same text, because no kernel uses newer features.
CAPABILITY = "75"

# Capabilities checked with ptxas: the oldest, and H100.
CODE_OF = ["75", "90"]

# Drivers refuse PTX that is newer than they are, so the compiler's version is replaced by the PTX version of CUDA 11.8,
# the oldest with compute capability 9.0. ptxas confirms that it suffices.
PTX_VERSION = "7.8"

# Register limits per thread, by capability and kernel name prefix. A multiprocessor has 65536 registers for blocks of
# 256 threads: five blocks fit with 48 registers per thread, four with 64, three with 80. kernels.cu has the launch
# bounds. A device with at most 1024 threads cannot use more than four blocks.
REGISTERS = {
    ("75", "gather"): 80,
    ("75", "runs"): 80,
    ("75", "tiles"): 64,
    ("90", "gather_16"): 64,
    ("90", "gather_1"): 80,
    ("90", "gather_2"): 80,
    ("90", "gather"): 64,
    ("90", "runs_16"): 64,
    ("90", "runs_1"): 80,
    ("90", "runs_2"): 80,
    ("90", "runs"): 64,
    ("90", "tiles"): 48,
}


def package_folder(name):
    """Returns the folder of one of NVIDIA's wheels, which share a namespace package."""
    nvidia = importlib.util.find_spec("nvidia")
    places = list(nvidia.submodule_search_locations) if nvidia else []
    for place in places:
        if (folder := pathlib.Path(place) / name).is_dir():
            return folder
    return None


def version_of(package):
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


class Compiler:
    """NVRTC, called through its C functions."""

    def __init__(self, library):
        self.library = ctypes.CDLL(str(library))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.nvrtcGetErrorString(status).decode())

    def text(self, program, function):
        size = ctypes.c_size_t()
        self.check(getattr(self.library, f"nvrtcGet{function}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.library, f"nvrtcGet{function}")(program, text))
        return text.value.decode()

    def ptx(self, files, capability):
        program = ctypes.c_void_p()
        headers = [name for name in files if name != "kernels.cu"]
        strings = ctypes.c_char_p * len(headers)
        self.check(
            self.library.nvrtcCreateProgram(
                ctypes.byref(program),
                files["kernels.cu"].encode(),
                b"kernels.cu",
                len(headers),
                strings(*(files[name].encode() for name in headers)),
                strings(*(name.encode() for name in headers)),
            )
        )
        options = [f"--gpu-architecture=compute_{capability}".encode(), b"--std=c++17"]
        status = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.text(program, "ProgramLog")
        if log:
            print(log, file=sys.stderr)
        self.check(status)
        return tidied(self.text(program, "PTX"))


def tidied(ptx):
    """Removes the compiler's build numbers from the PTX and sets a version that older drivers accept."""
    body = ptx[ptx.index(".version") :]
    body = re.sub(r"^\.version .*$", f".version {PTX_VERSION}", body, count=1, flags=re.M)
    # A hint about the used bytes of a load, unknown to older versions.
    body = re.sub(r'^\s*\.pragma "used_bytes_mask.*\n', "", body, flags=re.M)
    lines = (line.strip() for line in body.splitlines())
    return "// Made by build.py of kernels.cu. Do not edit.\n" + "\n".join(line for line in lines if line) + "\n"


def files():
    return {path.name: path.read_text() for path in sorted(FOLDER.iterdir()) if path.suffix in (".h", ".cu")}


def check_registers(ptxas, path, capability):
    """Checks that no kernel exceeds its register limit or spills."""
    with tempfile.TemporaryDirectory() as folder:
        command = [ptxas, "--verbose", f"--gpu-name=sm_{capability}", "-o", f"{folder}/kernels.cubin", path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"ptxas refuses {path.name}: {result.stderr}")
    kernels = re.findall(
        r"Function properties for (\w+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores.*\n.*Used (\d+) registers", result.stderr
    )
    if not kernels:
        sys.exit(f"ptxas does not report registers: {result.stderr}")
    for name, stack, spilled, registers in kernels:
        most = next(most for (of, begin), most in REGISTERS.items() if of == capability and name.startswith(begin))
        print(f"sm_{capability} {name}: {registers} registers of {most}, {stack} bytes of stack, {spilled} spilled")
        if int(registers) > most or int(stack) or int(spilled):
            sys.exit(f"{name} for sm_{capability} takes {registers} registers, {stack} bytes of stack and spills {spilled}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="write nothing, and fail where something differs")
    check = arguments.parse_args().check
    folder = package_folder("cuda_nvrtc")
    if version_of(PACKAGE) != VERSION or folder is None:
        print(f"skipped: the kernels are compiled by {PACKAGE} {VERSION}, and there is {version_of(PACKAGE) or 'none'}")
        sys.exit(SKIPPED)
    library = next(path for path in sorted((folder / "lib").iterdir()) if path.name.startswith("libnvrtc.so"))
    compiler, texts = Compiler(library), files()
    nvcc = package_folder("cuda_nvcc")
    path, ptx = FOLDER / "kernels.ptx", compiler.ptx(texts, CAPABILITY)
    if not check:
        path.write_text(ptx)
    elif not path.exists() or path.read_text() != ptx:
        sys.exit(f"{path.name} is not what the kernels compile to: run {pathlib.Path(__file__).name} without --check")
    if nvcc is None or not (ptxas := nvcc / "bin" / "ptxas").exists():
        print("skipped: no ptxas to ask about registers (nvidia-cuda-nvcc-cu12)")
        return
    for capability in CODE_OF:
        check_registers(ptxas, path, capability)


if __name__ == "__main__":
    main()
