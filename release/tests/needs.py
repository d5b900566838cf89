#!/usr/bin/env python3
"""Checks that a program or a library needs only libraries that every system of its target has.

    needs.py TARGET OLDEST FILE      (OLDEST: the oldest version of glibc or macOS on which it must work)

Prints the libraries that the file needs. Checks the signature of files for macOS on aarch64.
"""

import hashlib
import re
import struct
import sys

target, oldest, path = sys.argv[1:]
oldest = tuple(map(int, oldest.split(".")))
# Python's own library is already loaded when an interpreter loads an extension module.
SYSTEM = {
    "linux-gnu": r"(ld-linux-[\w-]+|lib(c|m|pthread|dl|rt|util))\.so\.\d",
    "linux-musl": r"libc\.so",
    "windows": r"(?i)(api-ms-win-[\w-]+|kernel32|ntdll|ws2_32|userenv|bcrypt|bcryptprimitives|advapi32|dbghelp|crypt32|secur32"
    r"|msvcrt|user32|shell32|ole32|oleaut32|python3)\.dll",
    "apple": r"/usr/lib/lib(System\.B|charset\.1|iconv\.2|objc\.A)\.dylib|/System/Library/Frameworks/\w+\.framework/.*",
}


def elf():
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    with open(path, "rb") as file:
        for section in ELFFile(file).iter_sections():
            if isinstance(section, DynamicSection):
                for tag in section.iter_tags():
                    if tag.entry.d_tag == "DT_NEEDED":
                        yield tag.needed
                    elif tag.entry.d_tag == "DT_SONAME":
                        print("its name is", tag.soname)
            elif isinstance(section, GNUVerNeedSection):
                for _, versions in section.iter_versions():
                    for version in versions:
                        number = version.name.removeprefix("GLIBC_")
                        if number != version.name and tuple(map(int, number.split("."))) > oldest:
                            sys.exit(f"{path} needs glibc {number}")


def windows():
    import pefile

    for entry in pefile.PE(path).DIRECTORY_ENTRY_IMPORT:
        yield entry.dll.decode()


def apple():
    from macholib.MachO import MachO
    from macholib.mach_o import LC_BUILD_VERSION, LC_CODE_SIGNATURE, LC_ID_DYLIB, LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB
    from macholib.mach_o import LC_VERSION_MIN_MACOSX

    for header in MachO(path).headers:
        if target.startswith("aarch64") and not any(load.cmd == LC_CODE_SIGNATURE for load, _, _ in header.commands):
            sys.exit(f"{path} is not signed: macOS does not run it")
        for load, command, data in header.commands:
            if load.cmd in (LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB):
                yield data.rstrip(b"\0").decode()
            elif load.cmd == LC_ID_DYLIB:
                print("its name is", name := data.rstrip(b"\0").decode())
                if not name.startswith("@rpath/"):
                    sys.exit(f"{path} is named {name}: programs would look for it there")
            elif load.cmd == LC_CODE_SIGNATURE:
                check_signature(command.dataoff)
            elif load.cmd in (LC_BUILD_VERSION, LC_VERSION_MIN_MACOSX):
                least = command.minos if load.cmd == LC_BUILD_VERSION else command.version
                needed = (int(least) >> 16, int(least) >> 8 & 255)
                print(f"needs macOS {needed[0]}.{needed[1]}")
                if needed > oldest:
                    sys.exit(f"{path} needs macOS {needed[0]}.{needed[1]}")


def check_signature(place):
    """Checks the hash of each page. If one differs, macOS ends the program when it reads the page."""
    with open(path, "rb") as file:
        data = file.read()
    (blobs,) = struct.unpack_from(">I", data, place + 8)
    offsets = dict(struct.iter_unpack(">II", data[place + 12 : place + 12 + 8 * blobs]))
    directory = place + offsets[0]
    hashes, _, _, pages, signed, size, kind, _, shift = struct.unpack_from(">IIIIIBBBB", data, directory + 16)
    if signed != place or kind != 2 or pages != -(-signed >> shift):
        sys.exit(f"{path} is signed up to byte {signed} instead of {place}, in {pages} pages, by hashes of kind {kind}")
    for page in range(pages):
        start = directory + hashes + size * page
        expected = data[start : start + size]
        found = hashlib.sha256(data[page << shift : min((page + 1) << shift, signed)]).digest()
        if found != expected:
            sys.exit(f"the signature of {path} is wrong in page {page}")
    print("signed:", pages, "pages")


system = next(pattern for key, pattern in SYSTEM.items() if key in target)
read = windows if "windows" in target else apple if "apple" in target else elf
for library in read():
    print("needs", library)
    if not re.fullmatch(system, library):
        sys.exit(f"{path} needs {library}, which is not part of every system")
