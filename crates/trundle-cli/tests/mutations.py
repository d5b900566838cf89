#!/usr/bin/env python3
"""Runs the program on mutated files of every input format.

    crates/trundle-cli/tests/mutations.py target/release/trundle --count 2000

Every command must succeed (exit code 0), report wrong usage (2) or refuse the file (3). Exit code 1 is allowed only for
system errors. A command has 1 GiB of address space and 20 s, and must not end with a panic or a signal. Otherwise, the
command is printed and its files are kept. The printed seed reproduces the files.
"""

import argparse
import gzip
import io
import json
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

ADDRESS_SPACE = 1 << 30
SECONDS = 20
HDF5_FILES = pathlib.Path(__file__).resolve().parents[2] / "trundle-hdf5/tests/files"
HEADS = pathlib.Path(__file__).resolve().parents[3] / "docs/examples/heads.onnx"
DATA = pathlib.Path(__file__).resolve().parents[2] / "trundle-formats/tests/data"


# Files from the folders of tests, and files that this script makes.


def files(ending):
    found = sorted(DATA.rglob(f"*.{ending}"))
    return [path.read_bytes() for path in found if path.stat().st_size < 1 << 16]


def varint(number):
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    """A varint, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def value_info(name, sizes):
    shape = b"".join(field(1, field(1, size)) for size in sizes)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def int_list(name, numbers):
    return field(5, field(1, name) + field(20, 7) + b"".join(field(8, n) for n in numbers))


def node(kind, inputs, outputs, attributes=b""):
    names = b"".join(field(1, name) for name in inputs)
    return field(1, names + b"".join(field(2, name) for name in outputs) + field(4, kind) + attributes)


def initializer(name, numbers):
    raw = struct.pack(f"<{len(numbers)}q", *numbers)
    return field(5, field(1, len(numbers)) + field(2, 7) + field(8, name) + field(9, raw))


def external(name, sizes, location, offset, length):
    entries = [("location", location), ("offset", str(offset)), ("length", str(length))]
    data = b"".join(field(13, field(1, key) + field(2, value)) for key, value in entries)
    return field(5, b"".join(field(1, n) for n in sizes) + field(2, 1) + field(8, name) + data + field(14, 1))


def onnx(graph):
    return field(1, 8) + field(7, graph + field(2, "g")) + field(8, field(1, "") + field(2, 17))


def onnx_models():
    rolled = (
        node("Slice", ["x", "b", "e", "a"], ["tail"])
        + node("Slice", ["x", "z", "b", "a"], ["head"])
        + node("Concat", ["tail", "head"], ["rolled"], field(5, field(1, "axis") + field(3, 1) + field(20, 2)))
        + node("Transpose", ["rolled"], ["turned"], int_list("perm", [2, 0, 1]))
        + node("Reshape", ["turned", "s"], ["y"])
        + initializer("b", [3]) + initializer("e", [8]) + initializer("z", [0])
        + initializer("a", [1]) + initializer("s", [4, -1])
        + field(11, value_info("x", [2, 8, 4])) + field(12, value_info("y", [4, 16]))
    )
    weights = (
        node("Concat", ["x", "w"], ["both"], field(5, field(1, "axis") + field(3, 0) + field(20, 2)))
        + node("Transpose", ["both"], ["y"], int_list("perm", [1, 0]))
        + external("w", [3, 4], "model.data", 0, 48)
        + field(11, value_info("x", [2, 4])) + field(12, value_info("y", [4, 5]))
    )
    split = (
        node("Split", ["x"], ["l", "r"], field(5, field(1, "axis") + field(3, 1) + field(20, 2)))
        + node("Concat", ["r", "l"], ["c"], field(5, field(1, "axis") + field(3, 1) + field(20, 2)))
        + node("Tile", ["c", "t"], ["y"]) + initializer("t", [1, 2])
        + field(11, value_info("x", [2, 8])) + field(12, value_info("y", [2, 16]))
    )
    return [onnx(graph) for graph in (rolled, weights, split)]


def openvino_model():
    def layer(number, kind, data, inputs, outputs):
        ports = "".join(f'<port id="{port}"/>' for port in range(inputs))
        out = f'<output><port id="{inputs}"/></output>' if outputs else ""
        within = f"<input>{ports}</input>" if inputs else ""
        name = f"n{number}" if number else "x"
        return f'<layer id="{number}" name="{name}" type="{kind}" version="opset7">{data}{within}{out}</layer>'

    def constant(number, offset, count):
        data = f'<data element_type="i64" shape="{count}" offset="{offset}" size="{8 * count}"/>'
        return layer(number, "Const", data, 0, 1)

    layers = [
        layer(0, "Parameter", '<data shape="2,8,4" element_type="f32"/>', 0, 1),
        constant(1, 0, 2), constant(2, 16, 2), layer(3, "Roll", "", 3, 1),
        constant(4, 32, 3), layer(5, "Transpose", "", 2, 1), layer(6, "Result", "", 1, 0),
    ]
    edges = [(0, 0, 3, 0), (1, 0, 3, 1), (2, 0, 3, 2), (3, 3, 5, 0), (4, 0, 5, 1), (5, 2, 6, 0)]
    edges = "".join(
        f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in edges
    )
    xml = f'<?xml version="1.0"?><net name="m" version="11"><layers>{"".join(layers)}</layers><edges>{edges}</edges></net>'
    return xml.encode(), struct.pack("<7q", 3, -1, 1, 2, 2, 0, 1)


# Mutations.

NUMBERS = [0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
TEXTS = ["0", "-1", "1", "7", "255", "65536", "4294967296", "9223372036854775807", "18446744073709551616", "1e9", "x", ""]


def mutated(content, chance):
    content = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 6])):
        size = len(content)
        at = chance.randrange(size) if size else 0
        # Most mutations are where headers and the directories of archives are.
        if size > 300 and chance.random() < 0.7:
            at = chance.choice([chance.randrange(300), size - 1 - chance.randrange(300)])
        kind = chance.randrange(9)
        if kind == 0 and size:
            content[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and size:
            content[at] = chance.randrange(256)
        elif kind == 2:
            width = chance.choice([1, 2, 4, 8])
            number = chance.choice(NUMBERS) & ((1 << 8 * width) - 1)
            content[at : at + width] = number.to_bytes(width, chance.choice(["little", "big"]))
        elif kind == 3:
            del content[at:]
        elif kind == 4:
            del content[at : at + chance.randrange(1, 20)]
        elif kind == 5:
            content[at:at] = content[at : at + chance.randrange(1, 64)] * chance.choice([1, 1, 2, 100])
        elif kind == 6:
            other = chance.randrange(size) if size else 0
            content[at : at + 8] = content[other : other + 8]
        elif kind == 7:
            content += bytes(chance.randrange(256) for _ in range(chance.randrange(1, 40)))
        else:
            digits = [i for i, byte in enumerate(content[:4000]) if 48 <= byte < 58]
            if digits:
                at = chance.choice(digits)
                end = at
                while end < len(content) and 48 <= content[end] < 58:
                    end += 1
                content[at:end] = chance.choice(TEXTS).encode()
    return bytes(content)


def rezipped(content, chance):
    """Mutates members of an archive and packs them again, with correct checksums."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w") as new:
        for member in archive.infolist():
            data = archive.read(member)
            data = mutated(data, chance) if chance.random() < 0.8 else data
            new.writestr(member.filename, data, chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    return out.getvalue()


# Commands and formats.


def tensor_commands(name):
    ending = pathlib.Path(name).suffix
    # Read-only formats are converted to .npz, without tensors that cannot be read.
    is_written = ending in (".npy", ".npz", ".safetensors", ".zarr")
    chosen, out = ([], "out" + ending) if is_written else (["--tensor", "*", "--only"], "out.npz")
    return [
        ["info", name],
        ["plan", "flip", name, "--axes", "0", *chosen],
        ["cmp", name, name],
        ["transpose", name, "-o", out, *chosen, "--force", "--quiet", "--verify"],
    ]


def model_commands(name):
    return [["plan", name], ["run", name, "--input", "x=x.npy", "--out-dir", "outputs", "--force", "--quiet"]]


def npy(sizes):
    count = 1
    for size in sizes:
        count *= size
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(sizes)}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(4 * count)


def safetensors():
    tensors = [("a", "F32", [3, 4], 48), ("b.w", "BF16", [2, 2, 5], 40), ("c", "U8", [7], 7)]
    entries, at = ['"__metadata__":{"format":"pt"}'], 0
    for name, dtype, sizes, size in tensors:
        entries.append(f'"{name}":{{"dtype":"{dtype}","shape":{sizes},"data_offsets":[{at},{at + size}]}}')
        at += size
    header = ("{" + ",".join(entries) + "}").encode()
    return struct.pack("<Q", len(header)) + header + bytes(range(at))


def gguf():
    """Two plain tensors around a quantised one, and metadata of several types."""
    def text(content):
        return struct.pack("<Q", len(content)) + content.encode()

    words = struct.pack("<IQ", 8, 2) + text("a") + text("bc")
    pairs = [("general.alignment", 4, struct.pack("<I", 32)), ("name", 8, text("x")), ("words", 9, words)]
    tensors = [("a", [3, 4], 0, 0), ("q", [32, 2], 8, 64), ("b.w", [7], 24, 160)]
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    out += b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs)
    for name, sizes, kind, at in tensors:
        out += text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, at)
    return out + bytes(-len(out) % 32) + bytes(range(167))


def nrrd(encoding="raw", data_file=None):
    lines = ["NRRD0004", "# made here", "type: short", "dimension: 3", "sizes: 5 4 3", "endian: big"]
    lines += [f"encoding: {encoding}", "space dimension: 3", "byte skip: 2", "key:=a value"]
    lines += [f"data file: {data_file}"] if data_file else []
    data = b"" if data_file else bytes(range(122))
    return "\n".join(lines).encode() + b"\n\n" + (gzip.compress(data) if encoding == "gzip" else data)


def nifti(version):
    """Scaled 16-bit integers with the shape [4, 3, 2]."""
    header = bytearray(352 if version == 1 else 544)
    if version == 1:
        struct.pack_into("<i", header, 0, 348)
        struct.pack_into("<8h", header, 40, 3, 2, 3, 4, 1, 1, 1, 1)
        struct.pack_into("<2h", header, 70, 4, 16)
        struct.pack_into("<3f", header, 108, 352, 2, -1)
        header[344:348] = b"n+1\0"
    else:
        struct.pack_into(">i8s2h8q", header, 0, 540, b"n+2\0\r\n\x1a\n", 4, 16, 3, 2, 3, 4, 1, 1, 1, 1)
        struct.pack_into(">q2d", header, 168, 544, 2, -1)
    return bytes(header) + bytes(range(48))


def tiff(layout, order="<", description=None):
    """Pages of 5 x 7 integers of 16 bits: strips of deflate with a predictor, or tiles of LZW or PackBits."""
    pages, data, values = 3, bytearray(), struct.pack(order + "35H", *range(0, 3500, 100))
    lzw = bytes([128, 0, 64, 32]) * 200
    parts = {
        "plain": [values[:28], values[28:56], values[56:]],
        "deflate": [zlib.compress(values[at : at + 28]) for at in (0, 28, 56)],
        "lzw": [lzw],
        "packbits": [b"\x81\x05" * 4],
    }[layout]
    is_tiled, begin = layout in ("lzw", "packbits"), 8
    codes = {"plain": 1, "deflate": 8, "lzw": 5, "packbits": 32773}
    directories = []
    for number in range(pages):
        offsets = []
        for part in parts:
            offsets.append(begin + len(data))
            data += part
        lengths = [len(part) for part in parts]
        fields = [(256, 3, [7]), (257, 3, [5]), (258, 3, [16]), (259, 3, [codes[layout]]), (262, 3, [1])]
        if description and number == 0:
            fields.append((270, 2, list(description.encode() + b"\0")))
        if is_tiled:
            fields += [(322, 3, [16]), (323, 3, [16]), (324, 4, offsets), (325, 4, lengths)]
        else:
            fields += [(273, 4, offsets), (278, 3, [2]), (279, 4, lengths)]
            fields += [(317, 3, [2])] if layout == "deflate" else []
        directories.append(fields)
    first = begin + len(data)
    out = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + "HI", 42, first) + data
    for number, fields in enumerate(directories):
        end = len(out) + 2 + 12 * len(fields) + 4
        head, tail = struct.pack(order + "H", len(fields)), b""
        for tag, kind, own in fields:
            packed = struct.pack(f"{order}{len(own)}{ {2: 'B', 3: 'H', 4: 'I'}[kind] }", *own)
            at = packed.ljust(4, b"\0") if len(packed) <= 4 else struct.pack(order + "I", end + len(tail))
            tail += packed if len(packed) > 4 else b""
            head += struct.pack(order + "HHI", tag, kind, len(own)) + at
        following = end + len(tail) if number + 1 < pages else 0
        out += head + struct.pack(order + "I", following) + tail
    return bytes(out)


def tiffs():
    pixels = 'DimensionOrder="XYZCT" SizeX="7" SizeY="5" SizeZ="3" SizeC="1" SizeT="1"'
    ome = f'<OME><Image Name="a"><Pixels {pixels}><TiffData IFD="0" PlaneCount="3"/></Pixels></Image></OME>'
    described = [ome, "ImageJ=1.54\nimages=3\nslices=3\n", '{"shape": [3, 5, 7]}', None]
    plain = [tiff("plain", chance, text) for chance in "<>" for text in described]
    return plain + [tiff(layout, order, ome) for layout in ("deflate", "lzw", "packbits") for order in "<>"]


def state_dict(mutate, chance):
    """Tensors with and without a storage class and in any order, a number and a list. Either the pickle or the archive
    is mutated."""
    def text(content):
        return b"X" + struct.pack("<I", len(content)) + content.encode()

    def ints(*numbers):
        return b"(" + b"".join(b"K" + bytes([number]) for number in numbers) + b"t"

    def tensor(key, kind, sizes, strides):
        storage = b"(" + text("storage") + b"ctorch\n" + kind + b"\n" + text(key) + text("cpu") + b"K\x40tQ"
        hooks = b"\x89ccollections\nOrderedDict\n)R"
        return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x01" + ints(*sizes) + ints(*strides) + hooks + b"tR"

    pickle = b"\x80\x02}q\x00(" + text("a") + tensor("0", b"FloatStorage", [3, 4], [4, 1])
    pickle += text("b") + b"](" + tensor("1", b"ByteStorage", [2, 5], [5, 1]) + b"K\x07e"
    untyped = tensor("1", b"ByteStorage", [2, 3], chance.choice([[1, 2], [6, 2], [0, 1]]))
    untyped = untyped.replace(b"ctorch\nByteStorage", b"ctorch.storage\nUntypedStorage").replace(b"_v2", b"_v3")
    pickle += text("d") + untyped[:-2] + b"ctorch\n" + chance.choice([b"uint16", b"float8_e5m2"]) + b"\ntR"
    pickle += text("c") + b"h\x00u."
    # A dict that contains itself is refused, so it is rare.
    pickle = pickle if chance.random() < 0.05 else pickle.replace(b"h\x00u.", b"K\x00u.")
    is_pickle = chance.random() < 0.7
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x/data.pkl", mutate(pickle, chance) if is_pickle else pickle)
        archive.writestr("x/byteorder", b"little")
        archive.writestr("x/data/0", bytes(range(64)))
        archive.writestr("x/data/1", bytes(range(64)))
    return out.getvalue() if is_pickle else mutate(out.getvalue(), chance)


def zarr_store(chance):
    """A 3 x 5 array of 4-byte elements in chunks of 2 x 2 or of several sizes, with different codecs and types."""
    kind = chance.choice(["plain", "gzip", "filters", "structures", "uneven"])
    chain = [{"name": "bytes", "configuration": {"endian": "little"}}]
    if kind == "gzip":
        chain.append({"name": "gzip", "configuration": {"level": 1}})
    if kind == "filters":
        chain.insert(0, {"name": "numcodecs.delta", "configuration": {"dtype": "<f4"}})
        chain.append({"name": "numcodecs.crc32", "configuration": {"location": "end"}})
    array = {
        "zarr_format": 3, "node_type": "array", "shape": [3, 5], "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.5, "codecs": chain, "attributes": {"units": "m"},
    }
    chunk = struct.pack("<4f", 1, 2, 3, 4)
    if kind == "gzip":
        chunk = gzip.compress(chunk)
    if kind == "filters":
        chunk += struct.pack("<I", zlib.crc32(chunk))
    if kind == "structures":
        chain[0]["configuration"]["endian"] = chance.choice(["little", "big"])
        of_name = chance.random() < 0.5
        fields = [["a", "int16"], ["b", {"name": "raw_bytes", "configuration": {"length_bytes": 2}}]]
        named = [{"name": name, "data_type": data_type} for name, data_type in fields]
        configuration = {"fields": named if of_name else fields}
        array["data_type"] = {"name": "struct" if of_name else "structured", "configuration": configuration}
        array["fill_value"] = {"a": 7, "b": "AQI="} if of_name else "AQIDBA=="
    given = {f"x.zarr/c/{row}/{column}": chunk for row in range(2) for column in range(3)}
    if kind == "uneven":
        configuration = {"kind": "inline", "chunk_shapes": [[1, 2], [[2, 2], 1]]}
        array["chunk_grid"] = {"name": "rectilinear", "configuration": configuration}
        for name, data in given.items():
            row, column = map(int, name.split("/")[2:])
            given[name] = data[: 4 * (row + 1) * (2 if column < 2 else 1)]
    return {"x.zarr/zarr.json": json.dumps(array).encode(), **given}


def formats():
    """For each format, a function that returns the files and commands of one mutation."""
    singles = {ending: files(ending) for ending in ("npy", "npz", "safetensors")}
    singles["safetensors"] += [safetensors()] * len(singles["safetensors"])
    singles |= {"gguf": [gguf()], "nrrd": [nrrd(), nrrd("gzip")], "nii": [nifti(1), nifti(2)], "tif": tiffs()}
    singles["nii.gz"] = [gzip.compress(image) for image in singles["nii"]]
    models, (xml, weights) = onnx_models(), openvino_model()
    # A model that also computes, for `plan` and `fuse`.
    models.append(HEADS.read_bytes())
    shapes = [[2, 8, 4], [2, 4], [2, 8], [2, 49, 96]]

    def single(ending, mutate=mutated):
        def make(chance):
            name = f"x.{ending}"
            return {name: mutate(chance.choice(singles[ending]), chance)}, tensor_commands(name)

        return make

    detached = {"x.nhdr": nrrd("gzip", "x.raw.gz"), "x.raw.gz": gzip.compress(bytes(range(122)))}
    shards = {"a": "x-1.safetensors", "b.w": "x-1.safetensors", "c": "x-2.safetensors"}
    index = json.dumps({"metadata": {"total_size": 95}, "weight_map": shards}).encode()
    sharded = {"x.safetensors.index.json": index, **{name: safetensors() for name in shards.values()}}

    def several(files, read):
        """A file that names other files. One of them, mostly the first, is mutated."""
        def make(chance):
            other = chance.choice([read, read, *files])
            return {**files, other: mutated(files[other], chance)}, tensor_commands(read)

        return make

    def zipped(chance):
        image = mutated(chance.choice(singles["nii"]), chance)
        return {"x.nii.gz": gzip.compress(image)}, tensor_commands("x.nii.gz")

    def pt(chance):
        return {"x.pt": state_dict(mutated, chance)}, tensor_commands("x.pt")

    def onnx_file(chance):
        number = chance.randrange(len(models))
        model, data = models[number], bytes(range(48))
        if chance.random() < 0.2:
            data = mutated(data, chance)
        else:
            model = mutated(model, chance)
        given = {"model.onnx": model, "model.data": data, "x.npy": npy(shapes[number])}
        fuse = ["fuse", "model.onnx", "-o", "fused.onnx", "--force", "--quiet"]
        return given, [*model_commands("model.onnx"), fuse]

    def zarr(chance):
        name = chance.choice(["x.zarr/zarr.json", "x.zarr/zarr.json", "x.zarr/c/0/0", "x.zarr/c/1/2"])
        given = zarr_store(chance)
        given[name] = mutated(given[name], chance)
        return given, [
            ["info", "x.zarr"],
            ["plan", "flip", "x.zarr", "--axes", "0"],
            ["cmp", "x.zarr", "x.zarr"],
            ["transpose", "x.zarr", "-o", "out.npy", "--force", "--quiet", "--verify"],
        ]

    def zarr_zip(chance):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, data in zarr_store(chance).items():
                archive.writestr(name, data, chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
        mutate = chance.choice([mutated, rezipped])
        return {"x.zip": mutate(out.getvalue(), chance)}, tensor_commands("x.zip")

    def hdf5(chance):
        name = chance.choice(sorted(each.name for each in HDF5_FILES.iterdir()))
        given = mutated((HDF5_FILES / name).read_bytes(), chance)
        return {name: given}, [
            ["info", name],
            ["plan", "convert", name, "--tensor", "*", "--only", "-o", "out.npz"],
            ["convert", name, "--tensor", "*", "--only", "-o", "out.npz", "--force", "--quiet", "--verify"],
            ["convert", name, "--tensor", "*", "--only", "-o", "out.h5", "--force", "--quiet"],
        ]

    def ir(chance):
        one = chance.random() < 0.8
        given = {
            "model.xml": mutated(xml, chance) if one else xml,
            "model.bin": weights if one else mutated(weights, chance),
            "x.npy": npy([2, 8, 4]),
        }
        return given, model_commands("model.xml")

    return {
        **{ending: single(ending) for ending in singles},
        "npz, zipped again": single("npz", rezipped),
        "nii.gz, zipped again": zipped,
        "nhdr": several(detached, "x.nhdr"),
        "index": several(sharded, "x.safetensors.index.json"),
        "pt": pt,
        "zarr": zarr,
        "zarr, zipped": zarr_zip,
        "hdf5": hdf5,
        "onnx": onnx_file,
        "openvino": ir,
    }


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault(program, command, folder):
    """Runs a command. Returns the problem, or None, and the exit code."""
    environment = {**os.environ, "TRUNDLE_NUM_THREADS": "1", "RUST_BACKTRACE": "0"}
    try:
        run = subprocess.run(
            [program, *command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, preexec_fn=limits, check=False,
        )
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS} s", None
    stderr = run.stderr.decode(errors="replace")
    if "panicked at" in stderr:
        return f"panicked: {stderr[:400]}", run.returncode
    # Exceeding the memory limit is not a system error. The output of a valid model may be larger than the disk.
    is_system = "(os error " in stderr or " of disk space are needed, " in stderr
    if run.returncode in (0, 2, 3) or (run.returncode == 1 and is_system):
        return None, run.returncode
    return f"exit code {run.returncode}: {stderr[:400]}", run.returncode


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program")
    arguments.add_argument("--count", type=int, default=2000, help="files of each format")
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments.add_argument("--format", action="append", choices=list(formats()), help="test only this format; can be repeated")
    arguments.add_argument("--keep", default=None, help="the folder for files that cause a failure")
    given = arguments.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    print(f"seed {given.seed}", flush=True)
    keep = pathlib.Path(given.keep or tempfile.mkdtemp(prefix="trundle-mutations-"))
    faults = 0
    for name, make in formats().items():
        if given.format and name not in given.format:
            continue
        codes = {}
        for number in range(given.count):
            chance = random.Random(f"{given.seed} {name} {number}")
            contents, commands = make(chance)
            with tempfile.TemporaryDirectory() as folder:
                for file, content in contents.items():
                    path = pathlib.Path(folder) / file
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                for command in commands:
                    wrong, code = fault(program, command, folder)
                    codes[code] = codes.get(code, 0) + 1
                    if wrong:
                        faults += 1
                        kept = keep / f"{name.split(',')[0]}-{number}"
                        shutil.copytree(folder, kept, dirs_exist_ok=True)
                        print(f"{name} {number}: in {kept}, trundle {' '.join(command)}: {wrong}", flush=True)
        ended = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items(), key=str))
        print(f"{name}: {given.count} files, runs ended {ended}", flush=True)
    if faults:
        sys.exit(f"{faults} runs failed; run again with --seed {given.seed}")


if __name__ == "__main__":
    main()
