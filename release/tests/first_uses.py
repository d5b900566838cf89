#!/usr/bin/env python3
"""Runs the first examples of README.md with the built program or package, in an empty folder.

    first_uses.py README.md --program COMMAND...     the shell: `trundle demo`, and the blocks marked `console`
    first_uses.py README.md --package                Python: the first block of Python

Needs numpy, which makes the inputs and reads the outputs.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

readme = pathlib.Path(sys.argv[1]).read_text()
command = [str(pathlib.Path(word).resolve()) if os.path.exists(word) else word for word in sys.argv[3:]]
volume = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
image = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)


def run(command):
    """Returns the output of a command, without differences between systems."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout.replace("\r\n", "\n").strip()


def shell(program):
    np.save("volume.npy", volume)
    np.save("image.npy", image)
    run([*program, "demo", "demo", "--size", "32", "--json"])
    commands = 0
    for block in blocks("console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = example.partition("\n")
            name, *arguments = shlex.split(command)
            assert name == "trundle", command
            printed = run([*program, *arguments])
            assert printed == expected.strip(), f"{command} printed\n{printed}\ninstead of\n{expected}"
            commands += 1
    assert commands >= 3, "README.md has fewer than three examples of the shell"
    assert np.array_equal(np.load("moved.npy"), volume.transpose(2, 0, 1))
    assert np.array_equal(np.load("chw.npy"), image[..., ::-1].transpose(2, 0, 1))


def package():
    import trundle

    names = {
        "images": np.arange(2 * 8 * 6 * 3, dtype=np.uint8).reshape(2, 8, 6, 3),
        "image": np.arange(64, dtype=np.float32).reshape(8, 8),
        "features": np.arange(2 * 14 * 14 * 4, dtype=np.float32).reshape(2, 14, 14, 4),
    }
    exec(blocks("python")[0], names)
    assert np.array_equal(names["planes"], names["images"][..., ::-1].transpose(0, 3, 1, 2))
    assert np.array_equal(names["spectrum"], np.fft.fftshift(np.fft.fft2(names["image"])))
    rolled = np.roll(names["features"], (-3, -3), (1, 2)).reshape(2, 2, 7, 2, 7, 4)
    assert np.array_equal(names["tokens"], rolled.transpose(0, 1, 3, 2, 4, 5).reshape(8, 7, 7, 4))
    # A store, whose codecs are written in C and C++.
    np.save("volume.npy", volume)
    for command in ("convert volume.npy -o volume.zarr --chunks 1,3,4 --verify", "convert volume.zarr -o back.npy"):
        assert trundle._trundle.run_program(["trundle", *command.split(), "--quiet"]) == 0, command
    assert np.array_equal(np.load("back.npy"), volume)
    print("trundle", trundle.__version__, "with numpy", np.__version__)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if sys.argv[2] == "--package":
        package()
    else:
        shell(command)
    os.chdir("/")
