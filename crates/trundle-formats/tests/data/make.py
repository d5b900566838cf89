"""Creates the test files numpy/* and savez/* with numpy (2.4), and safetensors/* with safetensors (0.8)."""

import io
import pathlib
import warnings
import zipfile

import numpy as np
from safetensors.numpy import save_file

warnings.simplefilter("ignore")
folder = pathlib.Path(__file__).parent / "numpy"


def save(name, array):
    np.save(folder / f"{name}.npy", array)


save("rank_0", np.array(1.5))
save("one_axis", np.arange(3, dtype=">u2"))
save("zero_size", np.zeros((0,), np.int8))
save("zero_inner", np.zeros((7, 0, 123456789), np.complex64))
save("twelve_axes", np.arange(2, dtype=np.uint8).reshape((1,) * 11 + (2,)))
# Without padding, the header of this file already ends where data may begin.
save("full_padding", np.zeros((1, 1, 1, 1), np.dtype([("abcdefghijklmnopqrstuvwx", "<f4")])))
# Outside a structure, numpy would replace the type |S0 by |S1.
save("empty_bytes", np.zeros((2, 3), [("a", "S0")])["a"])
save("void", np.frombuffer(b"abcdef", "V3"))
save("dates", np.array(["2020-01-01", "NaT"], "datetime64[ns]"))
save("spans", np.array([3, -4], ">m8[25s]"))
save("extended", np.array([1], "<f16"))
save("nested", np.zeros((2,), [("a", [("b", "<i2"), ("c", "|S1")]), ("d", ">f8", (2, 1))]))
save("aligned", np.zeros((2,), np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True)))
save("titles", np.zeros((), [(("a \"title\"", "it's"), "<u4")]))
save("latin_1", np.zeros((1,), [("é", "<f4")]))
save("utf_8", np.zeros((1,), [("π\t\u2028", "<f4")]))
save("no_fields", np.zeros((2,), []))

ramp = np.arange(6, dtype="<f4").reshape(2, 3)
# numpy reserves digits in the header for the axis that may grow, here the last one. The size of this axis has more
# digits than the size of the first axis, so the choice of the axis affects the length of the header.
turned = np.asfortranarray(np.zeros((2, 100), [("a" * 29, "|u1")]))
np.save(folder.parent / "column_major.npy", turned)

folder = folder.parent / "savez"
several = {"ramp": ramp, "turned": np.asfortranarray(ramp.astype(">i2"))}
several["folder/π"] = np.array(["a", "bc"])
np.savez(folder / "stored.npz", **several)
np.savez_compressed(folder / "deflated.npz", zeros=np.zeros((100, 100)), **several)
np.savez(folder / "empty.npz")


class Pipe(io.RawIOBase):
    """An output that cannot seek, so that zipfile writes sizes and checksums after the data."""

    def __init__(self):
        self.written = bytearray()

    def writable(self):
        return True

    def write(self, piece):
        self.written += piece
        return len(piece)


pipe = Pipe()
with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        member = zipfile.ZipInfo(f"{method}.npy")
        member.compress_type = method
        with archive.open(member, "w", force_zip64=True) as file:
            np.save(file, ramp)
(folder / "piped.npz").write_bytes(pipe.written)

folder = folder.parent / "safetensors"
metadata = {"made": "by \"safetensors\"", "é": "\n"}
tensors = {"ramp": ramp, "a": np.arange(3, dtype="<i8"), "b": np.array(True)}
save_file(tensors, folder / "package.safetensors", metadata)
