"""Write datasets whose chunks are encoded by filters of plugins. h5py lacks these plugins, so numcodecs encodes the
chunks, and h5py writes the encoded chunks."""

import struct

import h5py
import numcodecs
import numpy as np

# netCDF4 contains some of the plugins, and h5py would load them.
while h5py.h5pl.size():
    h5py.h5pl.remove(0)

BLOSC, LZ4, BITSHUFFLE, ZSTD = ALL = 32001, 32004, 32008, 32015


def lz4_block(data):
    # numcodecs writes the size before the block.
    return numcodecs.LZ4().encode(data)[4:]


def zstd(data):
    return numcodecs.Zstd(3).encode(data)


def in_blocks(data, bytes_of_block, pack):
    blocks = [data[at : at + bytes_of_block] for at in range(0, len(data), bytes_of_block)]
    return b"".join(struct.pack(">I", len(packed)) + packed for packed in map(pack, blocks))


def lz4(data, bytes_of_block):
    """Encode data like the filter LZ4."""
    def pack(block):
        packed = lz4_block(block)
        return packed if len(packed) < len(block) else block

    return struct.pack(">QI", len(data), bytes_of_block) + in_blocks(data, bytes_of_block, pack)


def bitshuffle(data, width, elements_of_block, pack):
    """Encode data like the filter bitshuffle. `pack` compresses a block, if it is not None."""
    def shuffled(block):
        bits = np.unpackbits(np.frombuffer(block, "u1").reshape(-1, width), axis=1, bitorder="little")
        return np.packbits(bits.T, bitorder="little").tobytes()

    bytes_of_block = elements_of_block * width
    whole = len(data) - len(data) % (8 * width)
    if pack is None:
        blocks = [data[at : min(at + bytes_of_block, whole)] for at in range(0, whole, bytes_of_block)]
        return b"".join(map(shuffled, blocks)) + data[whole:]
    blocks = in_blocks(data[:whole], bytes_of_block, lambda block: pack(shuffled(block)))
    return struct.pack(">QI", len(data), bytes_of_block) + blocks + data[whole:]


def filters(rng, width):
    """Return for each filter its id, its parameters, and a function that encodes a chunk."""
    block = rng.choice([8, 16, 128, 1024])
    usual = max(8192 // width // 8 * 8, 128)
    found = [
        (ZSTD, (3,), lambda chunk: zstd(chunk.tobytes())),
        (LZ4, (block,), lambda chunk: lz4(chunk.tobytes(), block)),
        (LZ4, (), lambda chunk: lz4(chunk.tobytes(), 1 << 30)),
        (BITSHUFFLE, (0, 4, width), lambda chunk: bitshuffle(chunk.tobytes(), width, usual, None)),
        (BITSHUFFLE, (0, 4, width, block, 0), lambda chunk: bitshuffle(chunk.tobytes(), width, block, None)),
        (BITSHUFFLE, (0, 4, width, 0, 2), lambda chunk: bitshuffle(chunk.tobytes(), width, usual, lz4_block)),
        (BITSHUFFLE, (0, 4, width, block, 3, 5), lambda chunk: bitshuffle(chunk.tobytes(), width, block, zstd)),
    ]
    for code, name in enumerate(["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"]):
        shuffle = rng.randrange(3)
        if name in numcodecs.blosc.list_compressors():
            codec = numcodecs.Blosc(name, rng.randint(0, 9), shuffle)
            found.append((BLOSC, (2, 2, width, 0, 5, shuffle, code), codec.encode))
    return found


def dataset(group, name, values, chunks, chosen, **options):
    """Write a dataset with one of the filters, after shuffle if `options` contain it."""
    number, parameters, encode = chosen
    made = group.create_dataset(
        name, shape=values.shape, dtype=values.dtype, chunks=chunks, compression=number, compression_opts=parameters,
        allow_unknown_filter=True, **options,
    )
    for index in np.ndindex(*(-(-size // chunk) for size, chunk in zip(values.shape, chunks))):
        begin = [at * chunk for at, chunk in zip(index, chunks)]
        part = values[tuple(slice(at, at + chunk) for at, chunk in zip(begin, chunks))]
        whole = np.zeros(chunks, values.dtype)
        whole[tuple(map(slice, part.shape))] = part
        if options.get("shuffle"):
            whole = np.frombuffer(numcodecs.Shuffle(values.dtype.itemsize).encode(whole.tobytes()), "u1")
        made.id.write_direct_chunk(begin, encode(whole))
