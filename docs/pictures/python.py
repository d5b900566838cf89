"""Draws the pictures of docs/python.md. Each picture is made by the call that it illustrates.

    pip install matplotlib
    python docs/pictures/python.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

import trundle

# The pictures have no background, so the colours must be readable on white and on black.
INK = "#767676"
RED, GREEN, BLUE = "#d1495b", "#4c9f70", "#3d7ea6"
plt.rcParams.update(
    {
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "text.color": INK,
        "axes.titlecolor": INK,
        "axes.titlesize": 10,
        "image.interpolation": "nearest",
    }
)


def scene(height, width):
    """A sun over two hills, in red, green and blue."""
    y, x = np.mgrid[0:1 : height * 1j, 0:1 : width * 1j]
    sky = np.stack([0.95 - 0.45 * (1 - y), 0.60 + 0.12 * (1 - y), 0.45 + 0.45 * (1 - y)], axis=-1)
    layers = [
        ((x - 0.68) ** 2 * (width / height) ** 2 + (y - 0.34) ** 2 < 0.022, (0.99, 0.86, 0.35)),
        (y > 0.62 + 0.12 * np.sin(5 * x + 2.6), (0.32, 0.52, 0.42)),
        (y > 0.78 + 0.10 * np.sin(7 * x + 0.4), (0.15, 0.33, 0.31)),
    ]
    for where, colour in layers:
        sky[where] = colour
    return (sky * 255).astype(np.uint8)


def show(axes, picture, title, **options):
    axes.imshow(picture, **options)
    axes.set_title(title)
    axes.axis("off")


def save(figure, folder, name):
    path = folder / f"python-{name}.png"
    # The file does not contain the version of matplotlib, so that it is the same on every machine.
    options = {"transparent": True, "bbox_inches": "tight", "pad_inches": 0.05}
    figure.savefig(path, dpi=110, metadata={"Software": None}, **options)
    plt.close(figure)
    print(f"{path}: {path.stat().st_size} bytes")


def bytes_in_memory(axes, colours, title):
    """The first bytes of an image, drawn as squares."""
    for at, colour in enumerate(colours):
        axes.add_patch(Rectangle((at, 0), 0.9, 0.9, color=colour))
    axes.text(len(colours) + 0.2, 0.4, "...", ha="left", va="center", fontsize=12)
    axes.set(xlim=(0, len(colours) + 2), ylim=(0, 1), aspect="equal")
    axes.set_title(title)
    axes.axis("off")


def planes(folder):
    bgr = scene(96, 128)[None, ..., ::-1]
    chain = trundle.chain("flip(axes=[3])", "b h w c -> b c h w")
    red, green, blue = chain(bgr)[0]

    figure = plt.figure(figsize=(9, 2.4))
    grid = figure.add_gridspec(2, 5, height_ratios=(5, 1), width_ratios=(1, 0.1, 1, 1, 1), hspace=0.3)
    show(figure.add_subplot(grid[0, 0]), bgr[0, ..., ::-1], "b h w c: blue, green, red")
    for column, (plane, name, colour) in enumerate(
        [(red, "red", RED), (green, "green", GREEN), (blue, "blue", BLUE)]
    ):
        ramp = matplotlib.colors.LinearSegmentedColormap.from_list(name, ["black", colour, "white"])
        title = f"b c h w: {name}" if column == 0 else name
        show(figure.add_subplot(grid[0, 2 + column]), plane, title, cmap=ramp, vmin=0, vmax=255)
    bytes_in_memory(figure.add_subplot(grid[1, 0]), [BLUE, GREEN, RED] * 3, "in memory")
    after = figure.add_subplot(grid[1, 2:])
    bytes_in_memory(after, [RED] * 9 + [GREEN] * 9 + [BLUE] * 9, "in memory")
    save(figure, folder, "planes")


def spectrum(folder):
    picture = scene(256, 256).mean(axis=2).reshape(128, 2, 128, 2).mean(axis=(1, 3))
    taper = np.hanning(128)
    comes = np.log1p(np.abs(np.fft.fft2(picture * taper * taper[:, None])))
    comes = np.maximum(comes * 2, 8).round() / 2  # fewer shades make the file smaller

    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1))
    show(axes[0], picture, "the picture", cmap="gray")
    show(axes[1], comes, "np.fft.fft2", cmap="magma")
    show(axes[2], trundle.fftshift(comes), "trundle.fftshift", cmap="magma")
    save(figure, folder, "spectrum")


def windows(folder):
    features = scene(28, 28)[None]
    rolled = trundle.roll(features, (-3, -3), axis=(1, 2))
    chain = trundle.chain(
        "roll(shift=[-3, -3], axes=[1, 2])", "b (h p) (w q) c -> (b h w) p q c, p=7, q=7"
    )
    # Each window has a transparent margin. The windows are then combined to one picture.
    apart = np.zeros((16, 8, 8, 4), np.uint8)
    apart[:, :7, :7] = np.insert(chain(features), 3, 255, axis=-1)
    apart = trundle.rearrange(apart, "(h w) p q c -> (h p) (w q) c", h=4)[:-1, :-1]

    figure, axes = plt.subplots(1, 3, figsize=(9, 3.1))
    show(axes[0], features[0], "b h w c")
    show(axes[1], rolled[0], "rolled by (-3, -3)")
    show(axes[2], apart, "(b h w) p q c: 16 windows")
    for line in (6.5, 13.5, 20.5):
        axes[1].axhline(line, color="white", linewidth=1)
        axes[1].axvline(line, color="white", linewidth=1)
    save(figure, folder, "windows")


def sequences(folder):
    lengths = np.array([9, 4, 12, 7, 1])
    steps = np.arange(1, 13)
    batch = np.where(steps <= lengths[:, None], steps, 0)
    after = trundle.reverse_sequence(batch, lengths, axis=1, batch_axis=0)

    figure, axes = plt.subplots(1, 2, figsize=(9, 1.9))
    ramp = matplotlib.colormaps["viridis"]
    for panel, rows, title in zip(axes, (batch, after), ("batch", "trundle.reverse_sequence")):
        for (row, column), step in np.ndenumerate(rows):
            colour = ramp(0.15 + 0.75 * step / 12) if step else "#9a9a9a40"
            panel.add_patch(Rectangle((column, row), 0.92, 0.88, color=colour, linewidth=0))
            if step:
                ink = "white" if step < 8 else "black"
                middle = (column + 0.46, row + 0.46)
                panel.text(*middle, step, ha="center", va="center", fontsize=8, color=ink)
        panel.set(xlim=(0, 12), ylim=(5, 0), aspect="equal", title=title)
        panel.axis("off")
    save(figure, folder, "sequences")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for picture in (planes, spectrum, windows, sequences):
        picture(folder)


if __name__ == "__main__":
    main()
