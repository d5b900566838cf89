"""Draws the picture of docs/zarr.md, which is made by the move that it illustrates.

    pip install matplotlib
    python docs/pictures/zarr.py [FOLDER]
"""

import os
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import numpy as np
from matplotlib import pyplot as plt

import trundle

# The picture has no background, so the colours must be readable on white and on black.
INK = "#767676"
plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "axes.titlesize": 9})


def field():
    """A map from south to north, warm at the equator, with waves and a spot at Greenwich, 50 degrees north."""
    lat, lon = np.mgrid[-90:90:181j, 0:359:360j]
    warm = 30 * np.cos(np.radians(lat)) ** 2 + 4 * np.sin(np.radians(3 * lon + lat)) * np.cos(np.radians(lat))
    distance = np.hypot(lat - 50, (lon + 180) % 360 - 180)
    return (warm - 25 * (distance < 12)).astype(np.float32)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent).absolute()
    before = field()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        np.save("before.npy", before)
        trundle.zarr.apply("before.npy", "roll(shift=[180], axes=[1]) | flip(axes=[0])", "after.npy")
        after = np.load("after.npy")
        os.chdir(folder)
    figure, both = plt.subplots(1, 2, figsize=(7.6, 2.3))
    for axes, picture, title, ticks in [
        (both[0], before, "before: 0 to 360, the south first", ["0", "90", "180", "270", "360"]),
        (both[1], after, "after: 180 to 360, 0 to 180, the north first", ["180", "270", "0", "90", "180"]),
    ]:
        axes.imshow(picture, cmap="viridis", aspect="auto", interpolation="nearest")
        axes.set_title(title, color=INK)
        axes.set_xticks([0, 90, 180, 270, 359], ticks)
        axes.set_yticks([])
        axes.tick_params(colors=INK, length=3)
        for spine in axes.spines.values():
            spine.set_color(INK)
    # The file does not contain the version of matplotlib, so that it is the same on every machine.
    options = {"transparent": True, "bbox_inches": "tight", "pad_inches": 0.05}
    figure.savefig(folder / "zarr-longitudes.png", dpi=110, metadata={"Software": None}, **options)


if __name__ == "__main__":
    main()
