#!/usr/bin/env python3
"""Move a data set by axis names and compare the result with xarray's.

    pip install zarr==3.1.6 xarray==2026.9.0
    crates/trundle-zarr/tests/with_xarray.py target/release/trundle
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

# The small limits below apply to the data that are moved, not to the memory of the program itself.
os.environ["TRUNDLE_OWN_MEMORY"] = "0"

CHAIN = "time lat lon -> lat lon time | roll(shift=720, dim=lon) | flip(dim=lat)"

CHUNKS = ["--chunks", "lat=24,lon=48,time=-1", "--shards", "lat=48"]


def data_set():
    """Return a data set with coordinates, bounds, a mask, texts, and variables with and without an axis of longitudes."""
    chance = np.random.default_rng(7)
    lat, lon, time = np.linspace(90, -90, 73), np.arange(0, 360, 0.25), np.arange(5)
    grid = (time.size, lat.size, lon.size)
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), chance.normal(size=grid).astype("f4"), {"units": "K"}),
            "land": (("lat", "lon"), chance.integers(0, 2, grid[1:]).astype("i2")),
            "profile": (("time", "lon"), chance.normal(size=(grid[0], grid[2]))),
            "lat_bnds": (("lat", "bnds"), chance.normal(size=(grid[1], 2))),
            "notes": ("kind", np.array(["of ä", ""], dtype=object), {"n": 1}),
        },
        coords={"time": time, "lat": lat, "lon": lon, "crs": 7, "kind": np.array(["ä", "b c"], dtype=object)},
        attrs={"title": "as of the weather"},
    )


def check(program, folder, version):
    """Move the data set in a store of this version of Zarr, and compare the result with xarray's."""
    source, out = folder / f"x{version}.zarr", folder / f"y{version}.zarr"
    data_set().to_zarr(source, zarr_format=version, consolidated=False)
    arguments = ["apply", str(source), CHAIN, "-o", str(out), *CHUNKS, "--max-mem", "8M", "--verify"]
    subprocess.run([program, *arguments, "--quiet"], check=True)
    ds = xr.open_zarr(source, consolidated=False)
    moved = xr.open_zarr(out, consolidated=False)
    expected = ds.roll(lon=720, roll_coords=True).isel(lat=slice(None, None, -1))
    expected = expected.transpose("lat", "lon", "time", ...)
    if not moved.identical(expected):
        sys.exit(f"version {version}: xarray has\n{expected}\nand the program made\n{moved}")
    for name in expected.variables:
        if moved[name].dims != expected[name].dims:
            sys.exit(f"version {version}: {name} has axes {moved[name].dims}")
    # Texts move like numbers, also to netCDF and back.
    turned, there = folder / f"turned{version}.zarr", folder / f"there{version}.nc"
    chain = "flip(dim=kind) | roll(shift=3, dim=lon)"
    for path, to in [(source, turned), (source, there), (there, folder / f"back{version}.zarr")]:
        arguments = ["apply", str(path), chain] if path == source else ["convert", str(path)]
        subprocess.run([program, *arguments, "-o", str(to), "--max-mem", "32M", "--verify", "--quiet"], check=True)
        if to.suffix == ".zarr":
            found = xr.open_zarr(to, consolidated=False)
            expected = ds.roll(lon=3, roll_coords=True).isel(kind=slice(None, None, -1))
            if not found.identical(expected):
                sys.exit(f"version {version}: xarray has\n{expected}\nand the program made\n{found} in {to}")
    place = {"lat": 47.5, "lon": 190.25, "time": 3}
    if moved.t2m.sel(place) != ds.t2m.sel(place):
        sys.exit(f"version {version}: another number at {place}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    program = str(parser.parse_args().program.resolve())
    warnings.filterwarnings("ignore", module="zarr")
    with tempfile.TemporaryDirectory() as folder:
        for version in (2, 3):
            check(program, Path(folder), version)
    print(f"a data set moved by names equals the result of xarray {xr.__version__}")


if __name__ == "__main__":
    main()
