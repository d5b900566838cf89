"""Image libraries. They transpose matrices, and move channels of images."""

import ctypes
from ctypes import c_int, c_void_p
from pathlib import Path

import numpy as np

from .chain import Matrices, Planes, Unsupported, merged, run_shape
from .shared import Stepwise, Workers, function, load

# For smaller matrices, Python's calls would take most of the time.
LEAST_BYTES = 4096


class Pictures(Stepwise):
    """Functions that move one matrix or one image, called by `Workers`."""

    def __init__(self, threads):
        super().__init__(threads)
        self.workers = Workers(threads)

    def prepare(self, operators, x):
        planes = Planes.of(operators, x)
        out = np.empty(run_shape(operators, x.shape), x.dtype)
        calls = planes and self.channels(planes, x, out)
        if not calls:
            return super().prepare(operators, x)
        move = self.workers.run(calls)

        def run():
            move()
            return out

        return run

    def step(self, name, arguments, named, x, out):
        if name == "transpose":
            matrices = Matrices.of(arguments, x)
            if matrices.count > 1 and x.nbytes < LEAST_BYTES * matrices.count:
                raise Unsupported
            return self.workers.run(self.transposes(matrices, x, out))
        if name == "flip" and x.ndim == 2:
            return self.workers.run(self.flips(tuple(sorted(named["axes"])), x, out))
        raise Unsupported

    def channels(self, planes, x, out):
        """Returns the calls; None if the library has no such function."""
        raise NotImplementedError

    def transposes(self, matrices, x, out):
        raise NotImplementedError

    def flips(self, axes, x, out):
        """Reverses the rows of a matrix (0,), its columns (1,), or both."""
        raise NotImplementedError


class OpenCV(Pictures):
    """`transpose` for matrices, `transposeND` for other tensors, `flip`, `split` and `merge`."""

    name = "OpenCV"

    TYPES = ("uint8", "uint16", "float32", "float64")
    # The limits of `transpose`: bytes per element, and numbers per element.
    MOST_BYTES, MOST_NUMBERS = 32, 4
    # Exists since version 5.
    MOST_AXES = 10
    FLIPS = {(0,): 0, (1,): 1, (0, 1): -1}

    def __init__(self, threads):
        super().__init__(threads)
        import cv2

        self.cv2 = cv2
        cv2.setNumThreads(threads)

    def step(self, name, arguments, named, x, out):
        if x.dtype.name not in self.TYPES:
            raise Unsupported
        try:
            return super().step(name, arguments, named, x, out)
        except Unsupported:
            if name != "transpose":
                raise
        order, sizes = merged(arguments, x.shape)
        if len(order) > self.MOST_AXES:
            raise Unsupported
        source = self.cv2.Mat(x.reshape(sizes), wrap_channels=False)
        target = out.reshape([sizes[axis] for axis in order])
        target = self.cv2.Mat(target, wrap_channels=False)
        return lambda: self.cv2.transposeND(source, order, target)

    def channels(self, planes, x, out):
        if x.dtype.name not in self.TYPES:
            return None
        pictures, flat = (out, x) if not planes.split else (x, out)
        pictures = pictures.reshape(planes.count, 1, planes.pixels, planes.channels)
        flat = flat.reshape(planes.count, planes.channels, 1, planes.pixels)
        if planes.is_reversed:
            flat = flat[:, ::-1]
        if planes.split:
            return [(self.cv2.split, (each, list(to))) for each, to in zip(pictures, flat)]
        return [(self.cv2.merge, (list(each), to)) for each, to in zip(flat, pictures)]

    def transposes(self, matrices, x, out):
        numbers = matrices.width // x.itemsize
        if matrices.width > self.MOST_BYTES or numbers > self.MOST_NUMBERS:
            raise Unsupported
        x = x.reshape(matrices.count, matrices.rows, matrices.columns, numbers)
        out = out.reshape(matrices.count, matrices.columns, matrices.rows, numbers)
        return [(self.cv2.transpose, each) for each in zip(x, out)]

    def flips(self, axes, x, out):
        return [(self.cv2.flip, (x, self.FLIPS[axes], out))]


def addresses(planes, x, out):
    """Yields the address of each image, and of its planes in the order of the channels."""
    pictures, flat = (x, out) if planes.split else (out, x)
    size = planes.pixels * x.itemsize
    for picture in range(planes.count):
        at = picture * planes.channels * size
        each = [flat.ctypes.data + at + channel * size for channel in range(planes.channels)]
        yield pictures.ctypes.data + at, each[::-1] if planes.is_reversed else each


def bands(matrices, x, out, threads):
    """Yields the source address, destination address and number of rows of each call.

    If there are fewer matrices than threads, each matrix is divided into bands of rows.
    """
    count, rows, width = matrices.count, matrices.rows, matrices.width
    band = rows if count >= threads else -(-rows // threads)
    for matrix in range(count):
        at = matrix * rows * matrices.columns
        for row in range(0, rows, band):
            source = x.ctypes.data + (at + row * matrices.columns) * width
            target = out.ctypes.data + (at + row) * width
            yield source, target, min(band, rows - row)


class Size(ctypes.Structure):
    """`IppiSize`."""

    _fields_ = [("width", c_int), ("height", c_int)]


class Ipp(Pictures):
    """`ippiTranspose`, `ippiMirror`, and `ippiCopy` from pixels to planes and from planes to pixels."""

    name = "IPP"

    # The types used for transposes, by the number of bytes per element.
    ELEMENTS = {
        1: "8u_C1", 2: "16u_C1", 3: "8u_C3", 4: "32f_C1", 6: "16u_C3", 8: "32fc_C1",
        12: "32f_C3", 16: "32f_C4",
    }  # fmt: skip
    TYPES = {1: "8u", 2: "16u", 4: "32f"}
    # `IppiAxis`: the axis of the mirror.
    FLIPS = {(0,): 0, (1,): 1, (0, 1): 2}

    def __init__(self, threads):
        super().__init__(threads)
        function(load("ippcore"), "ippInit")()
        # The dispatcher does not work in pip packages.
        has_avx512 = "avx512bw" in Path("/proc/cpuinfo").read_text()
        self.library = load("ippik0" if has_avx512 else "ippil9")

    def function(self, name, *more):
        types = (c_void_p, c_int, c_void_p, c_int, Size, *more)
        return function(self.library, name, *types)

    def channels(self, planes, x, out):
        count = planes.channels
        if count not in (3, 4) or x.itemsize not in self.TYPES:
            return None
        ways = (f"C{count}P{count}R", f"P{count}C{count}R")
        copy = self.function(f"ippiCopy_{self.TYPES[x.itemsize]}_{ways[not planes.split]}")
        size, row = Size(planes.pixels, 1), planes.pixels * x.itemsize
        calls = []
        for picture, flat in addresses(planes, x, out):
            sides = [(picture, count * row), ((c_void_p * count)(*flat), row)]
            source, target = sides if planes.split else sides[::-1]
            calls.append((copy, (*source, *target, size)))
        return calls

    def transposes(self, matrices, x, out):
        if matrices.width not in self.ELEMENTS:
            raise Unsupported
        move = self.function(f"ippiTranspose_{self.ELEMENTS[matrices.width]}R")
        columns, width = matrices.columns, matrices.width
        steps = columns * width, matrices.rows * width
        return [
            (move, (source, steps[0], target, steps[1], Size(columns, rows)))
            for source, target, rows in bands(matrices, x, out, self.threads)
        ]

    def flips(self, axes, x, out):
        if x.itemsize not in self.TYPES:
            raise Unsupported
        mirror = self.function(f"ippiMirror_{self.TYPES[x.itemsize]}_C1R", c_int)
        step, size = x.strides[0], Size(x.shape[1], x.shape[0])
        return [(mirror, (x.ctypes.data, step, out.ctypes.data, step, size, self.FLIPS[axes]))]


class Libyuv(Pictures):
    """`TransposePlane`, `MirrorPlane`, and functions that split or merge pixels of two to four bytes."""

    name = "libyuv"

    TRANSPOSES = {"uint8": "TransposePlane", "uint16": "TransposePlane_16"}
    PIXELS = {2: ("UV", (0, 1)), 3: ("RGB", (0, 1, 2)), 4: ("ARGB", (2, 1, 0, 3))}

    def __init__(self, threads):
        super().__init__(threads)
        self.library = load("yuv")

    def function(self, name, planes):
        """Returns a function of this many planes or images, followed by the sizes."""
        return function(self.library, name, *[c_void_p, c_int] * planes, c_int, c_int)

    def channels(self, planes, x, out):
        if planes.channels not in self.PIXELS or x.itemsize != 1:
            return None
        name, order = self.PIXELS[planes.channels]
        way = "Split" if planes.split else "Merge"
        move = self.function(f"{way}{name}Plane", planes.channels + 1)
        calls = []
        for picture, flat in addresses(planes, x, out):
            arguments = [each for channel in order for each in (flat[channel], planes.pixels)]
            at = 0 if planes.split else len(arguments)
            arguments[at:at] = [picture, planes.pixels * planes.channels]
            calls.append((move, (*arguments, planes.pixels, 1)))
        return calls

    def transposes(self, matrices, x, out):
        if matrices.width != x.itemsize or x.dtype.name not in self.TRANSPOSES:
            raise Unsupported
        move = self.function(self.TRANSPOSES[x.dtype.name], 2)
        columns, steps = matrices.columns, (matrices.columns, matrices.rows)
        return [
            (move, (source, steps[0], target, steps[1], columns, rows))
            for source, target, rows in bands(matrices, x, out, self.threads)
        ]

    def flips(self, axes, x, out):
        if axes != (1,) or x.itemsize != 1:
            raise Unsupported
        rows, columns = x.shape
        arguments = (x.ctypes.data, columns, out.ctypes.data, columns, columns, rows)
        return [(self.function("MirrorPlane", 2), arguments)]
