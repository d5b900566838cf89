#!/usr/bin/env python3
"""Compiles generated kernels with NVRTC, and prints their registers and the widths of their accesses.

    TRUNDLE_WRITE_KERNELS=FOLDER cargo test -p trundle-gpu texts_are_written
    .venv/bin/python crates/trundle-cuda/kernels/specialised.py FOLDER           # prints a table
    .venv/bin/python crates/trundle-cuda/kernels/specialised.py FOLDER --write   # writes it to specialised.txt
    .venv/bin/python crates/trundle-cuda/kernels/specialised.py FOLDER --check   # compares it with specialised.txt

Needs the packages of build.py, no GPU and no driver. Without them it prints a note and exits with 77 (skipped).
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter

from build import CODE_OF, PACKAGE, SKIPPED, VERSION, Compiler, package_folder, version_of

TABLE = pathlib.Path(__file__).resolve().parent / "specialised.txt"


def accesses(ptx, kind, bits):
    """The number of global accesses by width in bytes: `16 x 2`."""
    found = Counter()
    for vector, width in re.findall(rf"\b{kind}\.global(?:\.nc)?(?:\.L2::\w+)?(\.v[24])?\.[bus](\d+)", ptx):
        found[int(width) // bits * int(vector[2:] or 1)] += 1
    return ", ".join(f"{bytes_} x {count}" for bytes_, count in sorted(found.items(), reverse=True))


def registers(ptxas, ptx, capability):
    """Registers of a kernel. Fails if it spills."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "moved.ptx"
        path.write_text(ptx)
        command = [ptxas, "--verbose", f"--gpu-name=sm_{capability}", "-o", f"{folder}/moved.cubin", path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"ptxas refuses a kernel: {result.stderr}")
    stack, spilled = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", result.stderr).groups()
    if int(stack) or int(spilled):
        sys.exit(f"a kernel takes {stack} bytes of stack and spills {spilled}: {ptx[:500]}")
    return int(re.search(r"Used (\d+) registers", result.stderr)[1])


def rows(folder, compiler, ptxas):
    for path in sorted(folder.glob("*.cu")):
        text = path.read_text()
        counts = []
        for capability in CODE_OF:
            ptx = compiler.ptx({"kernels.cu": text}, capability)
            counts.append(str(registers(ptxas, ptx, capability)))
        reads, writes = accesses(ptx, "ld", 8), accesses(ptx, "st", 8)
        is_stream = ": stream" in text.partition("\n")[0]
        if is_stream and not (reads.startswith("16 x") and writes.startswith("16 x")):
            sys.exit(f"{path.name} reads {reads} and writes {writes}, and no vectors of 16 bytes")
        title = text.partition("\n")[0].removeprefix("// ")
        yield f"{title}; registers {' and '.join(counts)}; reads {reads}; writes {writes}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--write", action="store_true", help="write the table")
    arguments.add_argument("--check", action="store_true", help="fail if the table differs")
    given = arguments.parse_args()
    folder, nvcc = package_folder("cuda_nvrtc"), package_folder("cuda_nvcc")
    if version_of(PACKAGE) != VERSION or folder is None or nvcc is None:
        print(f"skipped: the kernels are compiled by {PACKAGE} {VERSION}, and there is {version_of(PACKAGE) or 'none'}")
        sys.exit(SKIPPED)
    library = next(path for path in sorted((folder / "lib").iterdir()) if path.name.startswith("libnvrtc.so"))
    made = []
    for row in rows(given.folder, Compiler(library), nvcc / "bin" / "ptxas"):
        print(row, flush=True)
        made.append(row + "\n")
    if given.write:
        TABLE.write_text("".join(made))
    elif given.check and TABLE.read_text() != "".join(made):
        sys.exit(f"{TABLE.name} differs: run {pathlib.Path(__file__).name} with --write, and read the difference")


if __name__ == "__main__":
    main()
