"""The codec for zarr-python, compared with zarr-python's own."""

import itertools

import numpy as np
import pytest

import trundle

zarr = pytest.importorskip("zarr", minversion="3")

OURS = "trundle.codecs.TransposeCodec"
THEIRS = "zarr.codecs.transpose.TransposeCodec"
TYPES = ["bool", "u1", ">i2", "f2", "f4", "i8", "c16", "M8[ns]", "U5", "i4,f8"]


@pytest.fixture(params=["BatchedCodecPipeline", "FusedCodecPipeline"], autouse=True)
def pipeline(request):
    if not hasattr(zarr.core.codec_pipeline, request.param):
        pytest.skip(f"zarr-python {zarr.__version__} has no {request.param}")
    with zarr.config.set({"codec_pipeline.path": f"zarr.core.codec_pipeline.{request.param}"}):
        yield


def stored(codec, array, order, **options):
    """The contents of a store written with this codec, and the array as read by each codec."""
    memory = {}
    with zarr.config.set({"codecs.transpose": codec}):
        store = zarr.create_array(
            zarr.storage.MemoryStore(memory),
            shape=array.shape,
            dtype=array.dtype,
            filters=[zarr.registry.get_codec_class("transpose")(order=order)],
            fill_value=np.zeros((), array.dtype)[()],
            **options,
        )
        store[...] = array
    objects = {key: value.to_bytes() for key, value in memory.items()}
    read = []
    for reader in (OURS, THEIRS):
        with zarr.config.set({"codecs.transpose": reader}):
            again = zarr.open_array(zarr.storage.MemoryStore(memory), mode="r")
            read.append((type(again.metadata.codecs[0]).__module__, again[...], again[1:3]))
    return objects, read


@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_both_codecs_store_the_same_bytes(dtype, order):
    array = np.random.default_rng(3).integers(0, 2, (6, 7, 9)).astype(dtype)
    options = {"chunks": (4, 3, 5), "compressors": None}
    ours, theirs = stored(OURS, array, order, **options), stored(THEIRS, array, order, **options)
    assert ours[0] == theirs[0]
    for _, read in (ours, theirs):
        assert [module for module, _, _ in read] == ["trundle.codecs", "zarr.codecs.transpose"]
        for _, whole, part in read:
            np.testing.assert_array_equal(whole, array)
            np.testing.assert_array_equal(part, array[1:3])


def test_shards():
    array = np.arange(6 * 8 * 10, dtype="f4").reshape(6, 8, 10)
    options = {"chunks": (2, 4, 5), "shards": (6, 8, 5)}
    ours = stored(OURS, array, (2, 0, 1), **options)
    assert ours[0] == stored(THEIRS, array, (2, 0, 1), **options)[0]
    for _, whole, part in ours[1]:
        np.testing.assert_array_equal(whole, array)
        np.testing.assert_array_equal(part, array[1:3])


def test_chunks_of_different_sizes():
    if "rectilinear_chunks" not in zarr.config.get("array"):
        pytest.skip(f"zarr-python {zarr.__version__} has only chunks of one size")
    array = np.arange(6 * 7 * 9, dtype="i2").reshape(6, 7, 9)
    options = {"chunks": [[1, 5], [4, 3], [2, 2, 5]], "compressors": None}
    with zarr.config.set({"array.rectilinear_chunks": True}):
        ours = stored(OURS, array, (1, 2, 0), **options)
        assert ours[0] == stored(THEIRS, array, (1, 2, 0), **options)[0]
    for _, whole, part in ours[1]:
        np.testing.assert_array_equal(whole, array)
        np.testing.assert_array_equal(part, array[1:3])


def test_trundle_moves_the_chunks(monkeypatch):
    moved = []
    transpose = trundle.transpose
    monkeypatch.setattr(trundle, "transpose", lambda x, axes: moved.append(x.shape) or transpose(x, axes))
    array = np.arange(24, dtype="f4").reshape(4, 6)
    with zarr.config.set({"codecs.transpose": OURS}):
        filters = [zarr.registry.get_codec_class("transpose")(order=(1, 0))]
        store = zarr.create_array(zarr.storage.MemoryStore(), data=array, chunks=(4, 3), filters=filters)
        assert moved == [(4, 3)] * 2
        np.testing.assert_array_equal(store[...], array)
    assert moved == [(4, 3)] * 2 + [(3, 4)] * 2


def test_variable_length_strings_are_left_to_zarr():
    # zarr-python does not read these texts back correctly, so both codecs only have to agree.
    array = np.array([["a", "bcd"], ["", "ef"], ["x" * 40, "y"]], dtype=object)
    read = []
    for codec in (OURS, THEIRS):
        with zarr.config.set({"codecs.transpose": codec}):
            transpose = zarr.registry.get_codec_class("transpose")(order=(1, 0))
            options = {"shape": array.shape, "dtype": str, "chunks": (2, 2)}
            store = zarr.create_array(zarr.storage.MemoryStore(), filters=[transpose], **options)
            store[...] = array
            read.append(store[...].tolist())
    assert read[0] == read[1]


def test_zarr_uses_its_own_codec_by_default():
    assert zarr.registry.get_codec_class("transpose").__module__ == "zarr.codecs.transpose"
