#!/usr/bin/env python3
"""Test files and stores in buckets on servers that fail one request in ten.

    pip install "moto[s3,server]==5.2.5" azure-storage-blob zarr==3.1.6
    npm install azurite
    crates/trundle-remote/tests/with_buckets.py target/release/trundle --count 40 --azurite node_modules/.bin/azurite-blob

A proxy between the program and the server answers 500 or 503, cuts bodies off, hangs up, or delays answers. moto
emulates S3, and Azurite emulates Azure. No emulator has the XML interface of Google Cloud Storage. It is similar to
S3's, so the proxy translates its headers for moto. The providers' Python clients copy the program's output into a
folder, where zarr-python reads it.
"""

import argparse
import http.client
import json
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, unquote

import boto3
import numpy as np
import requests
import zarr
from moto.server import ThreadedMotoServer

from server import Server

BUCKET = "trundle-tests"
AMAZON = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
# The account of every Azurite.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Proxy(BaseHTTPRequestHandler):
    """Pass requests on to a server, and make some of them fail."""

    protocol_version = "HTTP/1.1"
    server_address = None
    chance = random.Random(1)
    # One in `failing` requests fails; 0: no request fails.
    failing = 10
    failures = 0
    # The number of requests to copy an object on the server.
    copies = 0
    # Pairs of the beginnings of headers of the program and of the server.
    translated = []

    def log_message(self, *_):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fails = Proxy.failing and Proxy.chance.randrange(Proxy.failing) == 0
        kinds = ["500", "503"] if Proxy.failing == 1 else ["500", "503", "cut", "hang up", "late"]
        kind = Proxy.chance.choice(kinds) if fails else ""
        if fails:
            Proxy.failures += 1
        if kind in ("500", "503"):
            return self.give(int(kind), [], b"")
        connection = http.client.HTTPConnection(*Proxy.server_address, timeout=60)
        Proxy.copies += any(name.lower().endswith("-copy-source") for name in self.headers)
        headers = {self.translate(name): value for name, value in self.headers.items()}
        if self.headers.get("x-goog-if-generation-match") == "0":
            headers["If-None-Match"] = "*"
        path, mark, query = self.path.partition("?")
        if Proxy.translated:
            path = quote(unquote(path))
            # moto requires credentials, but does not check the signature.
            headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            who = "Credential=key/20240101/us-east-1/s3/aws4_request"
            headers["Authorization"] = f"AWS4-HMAC-SHA256 {who}, SignedHeaders=host, Signature=0"
        connection.request(self.command, path + mark + query, body, headers)
        got = connection.getresponse()
        content = got.read()
        connection.close()
        if kind == "hang up":
            # The server has already handled the request.
            self.close_connection = True
            return None
        if kind == "late":
            time.sleep(0.3)
        self.give(got.status, got.getheaders(), content, kind == "cut" and len(content) > 1)
        return None

    def translate(self, name, is_answer=False):
        for own, other in Proxy.translated:
            begin, new = (other, own) if is_answer else (own, other)
            if name.lower().startswith(begin):
                return new + name[len(begin) :]
        return name

    def give(self, status, headers, content, is_cut=False):
        self.send_response_only(status)
        for name, value in headers:
            name = self.translate(name, is_answer=True)
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = len(content)
        if self.command == "HEAD":
            length = next((value for name, value in headers if name.lower() == "content-length"), 0)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content[: len(content) // 2] if is_cut else content)
        if is_cut:
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer


class Amazon:
    """The buckets of moto. They stand for Google's buckets, too."""

    def __init__(self, port):
        self.client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def make(self, bucket):
        self.client.create_bucket(Bucket=bucket)

    def put(self, key, content, bucket=BUCKET):
        self.client.put_object(Bucket=bucket, Key=key, Body=content)

    def get(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def delete(self, key):
        self.client.delete_object(Bucket=BUCKET, Key=key)

    def keys(self, prefix):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return sorted(each["Key"] for page in pages for each in page.get("Contents", []))


class Azure:
    """The containers of Azurite."""

    def __init__(self, port):
        from azure.storage.blob import BlobServiceClient

        self.client = BlobServiceClient(f"http://127.0.0.1:{port}/{ACCOUNT}", credential=ACCOUNT_KEY)

    def make(self, bucket):
        self.client.create_container(bucket)

    def put(self, key, content, bucket=BUCKET):
        self.client.get_blob_client(bucket, key).upload_blob(content, overwrite=True)

    def get(self, key):
        return self.client.get_blob_client(BUCKET, key).download_blob().readall()

    def delete(self, key):
        self.client.get_blob_client(BUCKET, key).delete_blob()

    def keys(self, prefix):
        return sorted(self.client.get_container_client(BUCKET).list_blob_names(name_starts_with=prefix))


class Workdir:
    """A bucket, a folder, and the program under test."""

    def __init__(self, program, folder, scheme, bucket, environment):
        self.program, self.folder = program, Path(folder)
        self.scheme, self.bucket, self.environment = scheme, bucket, environment

    def url(self, key, bucket=BUCKET):
        return f"{self.scheme}://{bucket}/{key}"

    def start(self, *arguments, **environment):
        own = {**os.environ, **self.environment, "HOME": str(self.folder), **environment}
        own = {name: value for name, value in own.items() if value is not None}
        command = [self.program, *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments, expect=0, says="", **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=300)
        if process.returncode != expect or says not in err:
            sys.exit(f"trundle {arguments}: exit code {process.returncode}, expected {expect} and {says!r}\n{out}{err}")
        return out

    def keys(self, prefix):
        return self.bucket.keys(prefix)

    def upload(self, store, prefix):
        for path in sorted(store.rglob("*")):
            if path.is_file():
                self.bucket.put(f"{prefix}/{path.relative_to(store)}", path.read_bytes())

    def download(self, prefix):
        """Download the store at a prefix and open it with zarr-python."""
        store = Path(tempfile.mkdtemp(dir=self.folder))
        for key in self.keys(f"{prefix}/"):
            path = store / key[len(prefix) + 1 :]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.bucket.get(key))
        return zarr.open(str(store), mode="r")


def some_store(chance, folder):
    """Write a random store with zarr-python. Return its path and its contents."""
    rank = chance.randint(1, 3)
    shape = [chance.randint(1, [200, 30, 14][rank - 1]) for _ in range(rank)]
    array = (np.arange(np.prod(shape)) * 7 % 251).astype(chance.choice(["u1", ">i4", "f8", "<i2"])).reshape(shape)
    chunks = [chance.randint(max(1, size // 4), size) for size in shape]
    shards = [chunk * chance.randint(1, 3) for chunk in chunks] if chance.random() < 0.4 else None
    version = 3 if shards else chance.choice([2, 3])
    path = folder / f"{chance.getrandbits(64):x}.zarr"
    made = zarr.create_array(
        str(path), shape=shape, chunks=chunks, shards=shards, dtype=array.dtype, zarr_format=version, fill_value=0
    )
    # A chunk full of the fill value has no object.
    if chance.random() < 0.3:
        array[: max(1, shape[0] // 2)] = 0
    made[...] = array
    return path, array


def some_movement(chance, array):
    order = chance.sample(range(array.ndim), array.ndim)
    shift, axis = chance.randint(-9, 9), chance.randrange(array.ndim)
    flipped = chance.randrange(array.ndim)
    chain = f"transpose({','.join(map(str, order))}) | roll(shift={shift}, axes={axis}) | flip(axes={flipped})"
    return chain, np.flip(np.roll(array.transpose(order), shift, axis), flipped)


def random_stores(workdir, chance, count):
    for number in range(count):
        local, array = some_store(chance, workdir.folder)
        workdir.upload(local, f"in/{number}.zarr")
        chain, expected = some_movement(chance, array)
        source, target = workdir.url(f"in/{number}.zarr"), workdir.url(f"out/{number}.zarr")
        chunks = ",".join(str(chance.randint(max(1, size // 3), size)) for size in expected.shape)
        workdir.run("apply", source, chain, "-o", target, "--chunks", chunks, *chance.choice([[], ["--verify"]]))
        written = workdir.download(f"out/{number}.zarr")
        if written[...].dtype != expected.dtype.newbyteorder("<") or not np.array_equal(written[...], expected):
            sys.exit(f"{chain} of {local} does not give numpy's result")
        left = [key for key in workdir.keys(f"out/{number}.zarr") if "trundle" in key]
        if left:
            sys.exit(f"{target}: {left} is left")


def check_appends(workdir, chance, kills):
    """Append to stores, also with runs that are killed: the array is always the old or the new one."""
    refused, begun, finished = 0, 0, 0
    for number in range(kills):
        rows, columns = [chance.randint(1, 40) for _ in range(2)], chance.randint(1, 9)
        array = np.arange(sum(rows) * columns, dtype="i4").reshape(-1, columns)
        version, url = chance.choice([2, 3]), workdir.url(f"append{number}.zarr")
        local = workdir.folder / f"append{number}.zarr"
        chunks = (chance.randint(1, 3), chance.randint(1, columns))
        old = zarr.create_array(
            str(local), shape=(rows[0], columns), chunks=chunks, dtype="i4", fill_value=0, zarr_format=version
        )
        old[...] = array[: rows[0]]
        workdir.upload(local, local.name)
        np.save(workdir.folder / "new.npy", array[rows[0] :])
        append = ["convert", "new.npy", "-o", url, "--append", "0", *chance.choice([[], ["--verify"]])]
        is_unchanged = lambda: np.array_equal(workdir.download(local.name)[...], array[: rows[0]])
        process = workdir.start(*append)
        note = f"{local.name}/.trundle-append"
        while process.poll() is None and note not in workdir.keys(local.name):
            time.sleep(0.005)
        time.sleep(chance.choice([0, chance.uniform(0, 0.3)]))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if note in workdir.keys(local.name):
            is_old = is_unchanged()
            workdir.run(*append, expect=1, says="--resume continues it, if no other run is active")
            assert is_old == is_unchanged()
            workdir.run(*append, "--resume")
            begun += 1
        elif is_unchanged():
            workdir.run(*append, "--resume", expect=3, says="nothing to resume")
            workdir.run(*append)
            refused += 1
        else:
            workdir.run(*append, "--resume", expect=3, says="nothing to resume")
            finished += 1
        assert np.array_equal(workdir.download(local.name)[...], array)
        assert not [key for key in workdir.keys(local.name) if "trundle" in key]
        array[: len(array) - rows[0]] = array[rows[0] :]
        workdir.run("convert", "new.npy", "-o", url, "--region", f"0=0:{rows[1]}")
        assert np.array_equal(workdir.download(local.name)[...], array)
    print(f"killed appends: {refused} before they began, {begun} while they ran, {finished} after they had finished")


def groups(workdir):
    """Move nested groups and check their attributes."""
    root = zarr.open_group(str(workdir.folder / "g.zarr"), mode="w", attributes={"title": "all"})
    inner = root.create_group("a/b", attributes={"of": "b"})
    for name in ("x", "y"):
        inner.create_array(name, shape=(4, 6), chunks=(2, 3), dtype="f4")[...] = np.arange(24).reshape(4, 6)
    workdir.upload(workdir.folder / "g.zarr", "g.zarr")
    workdir.run("transpose", workdir.url("g.zarr"), "-o", workdir.url("h.zarr"), "--order", "1,0")
    written = workdir.download("h.zarr")
    assert written.attrs["title"] == "all" and written["a/b"].attrs["of"] == "b"
    assert np.array_equal(written["a/b/y"][...], np.arange(24).reshape(4, 6).T)


def copies(workdir):
    """Check that S3 and GCS copy encoded chunks that do not change, but only within a bucket."""
    array = np.arange(60, dtype="u2").reshape(6, 10)
    made = zarr.create_array(str(workdir.folder / "c.zarr"), shape=(6, 10), chunks=(2, 5), dtype="u2", fill_value=0)
    array[2:4, 5:] = 0
    made[...] = array
    workdir.upload(workdir.folder / "c.zarr", "c.zarr")
    source, before = workdir.url("c.zarr"), Proxy.copies
    workdir.run("roll", source, "--shift", "2", "--axes", "0", "-o", workdir.url("d.zarr"))
    if workdir.scheme == "az":
        # Azure may confirm a copy that is not finished.
        assert Proxy.copies == before
    else:
        # The program copies no chunks that were never written, but repeats a copy if the server's answer is lost.
        assert Proxy.copies - before >= 5, Proxy.copies - before
    assert np.array_equal(workdir.download("d.zarr")[...], np.roll(array, 2, 0))
    assert len(workdir.keys("d.zarr/")) == 6
    workdir.run("transpose", source, "--metadata-only", "-o", workdir.url("e.zarr"))
    assert np.array_equal(workdir.download("e.zarr")[...], array.T)
    copied = Proxy.copies
    workdir.run("convert", source, "-o", "c2.zarr")
    assert np.array_equal(zarr.open_array(workdir.folder / "c2.zarr")[...], array)
    workdir.run("convert", "c2.zarr", "-o", workdir.url("f.zarr"))
    workdir.bucket.make(f"{BUCKET}-2")
    workdir.run("convert", source, "-o", workdir.url("f.zarr", f"{BUCKET}-2"))
    workdir.run("cmp", "c2.zarr", workdir.url("f.zarr", f"{BUCKET}-2"))
    assert Proxy.copies == copied
    workdir.bucket.delete("c.zarr/c/0/1")
    workdir.run("convert", source, "-o", workdir.url("g2.zarr"))
    assert len(workdir.keys("g2.zarr/")) == 5


def check_undecoded(workdir):
    """Check that chunks which cannot be decoded are copied, but not if they exceed the memory."""
    root = zarr.open_group(str(workdir.folder / "s.zarr"), mode="w")
    root.create_array("v", shape=(4,), chunks=(2,), dtype="u1")[...] = np.arange(4)
    names = root.create_array("names", shape=(4,), chunks=(1,), dtype=str)
    names[...] = np.array(["a", "bc", "", "d" * 1000], dtype=object)
    workdir.upload(workdir.folder / "s.zarr", "s.zarr")
    source, copy = workdir.url("s.zarr"), workdir.url("s2.zarr")
    workdir.run("convert", source, "-o", copy, "--verify")
    workdir.run("convert", copy, "-o", "s3.zarr", "--verify")
    workdir.run("convert", "s3.zarr", "-o", workdir.url("s.zarr", f"{BUCKET}-2"), "--verify")
    workdir.run("convert", workdir.url("s.zarr", f"{BUCKET}-2"), "-o", workdir.url("s4.zarr"), "--verify")
    for prefix in ("s2.zarr", "s4.zarr"):
        assert list(workdir.download(prefix)["names"][...]) == list(names[...])
    workdir.bucket.put("s.zarr/names/c/0", bytes(40 << 20))
    (workdir.folder / "s3.zarr/names/c/0").write_bytes(bytes(40 << 20))
    for source, target in [(source, "x.zarr"), ("s3.zarr", workdir.url("x.zarr"))]:
        limited = ["convert", source, "-o", target, "--max-mem"]
        workdir.run(*limited, "32M", expect=3, says='a chunk of "names", which goes through memory')
        workdir.run(*limited, "128M", "--verify")


def files(workdir, chance):
    """Read single files in a bucket, and check that none is written or may change."""
    array = np.arange(900_000, dtype="i4").reshape(90, 100, 100)
    np.save(workdir.folder / "f.npy", array)
    np.savez(workdir.folder / "f.npz", a=array, b=array[0])
    for name in ("f.npy", "f.npz"):
        workdir.bucket.put(f"files/{name}", (workdir.folder / name).read_bytes())
    file = workdir.url("files/f.npy")
    for _ in range(4):
        order = chance.sample(range(3), 3)
        limit = chance.choice([[], ["--max-mem", "8M"]])
        moved = ["-o", "moved.npy", "--force", "--order", ",".join(map(str, order)), "--verify", *limit]
        workdir.run("transpose", file, *moved)
        assert np.array_equal(np.load(workdir.folder / "moved.npy"), array.transpose(order))
    workdir.run("convert", workdir.url("files/f.npz"), "-o", workdir.url("files/f.zarr"))
    assert np.array_equal(workdir.download("files/f.zarr")["a"][...], array)
    workdir.run("convert", file, "-o", workdir.url("files/y.npy"), expect=3, says="only Zarr stores are written")
    workdir.run("plan", "flip", file, "--axes", "0", "-o", "f.zarr", "--tasks", "f.json", "--task-size", "1M")
    workdir.run("task", "f.json", "0")
    workdir.bucket.put("files/f.npy", (workdir.folder / "f.npy").read_bytes()[:-4] + b"else")
    workdir.run("task", "f.json", "1", expect=1, says="has changed since")


def refusals(workdir):
    np.save(workdir.folder / "x.npy", np.arange(24).reshape(4, 6))
    there, gone = workdir.url("h.zarr"), workdir.url("none.zarr")
    refused = [
        (["info", gone], 1, "zarr.json, .zarray and .zgroup are missing"),
        (["info", workdir.url("none.npy")], 1, "does not exist"),
        (["info", workdir.url("none")], 1, "does not exist"),
        (["info", "s3://"], 1, "has no bucket name"),
        (["transpose", "x.npy", "-o", workdir.url("y.npy")], 3, "only Zarr stores are written"),
        (["transpose", "x.npy", "-o", there], 2, "overwrites stores in local folders only"),
        (["transpose", "x.npy", "-o", there, "--force"], 2, "overwrites stores in local folders only"),
        (["transpose", "x.npy", "-o", workdir.url("in"), "--to", "zarr"], 2, "is a folder but not a Zarr store"),
        (["transpose", "x.npy", "-o", "s3://no-such-bucket/y.zarr"], 1, "NoSuchBucket"),
        (["info", "s3://no-such-bucket/y.zarr"], 1, "NoSuchBucket"),
    ]
    for arguments, expect, says in refused:
        workdir.run(*arguments, expect=expect, says=says)
    without = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
    workdir.run("info", there, expect=1, says="no credentials", **without)
    workdir.run("info", there, expect=1, says='AWS_PROFILE is "none"', AWS_PROFILE="none", **without)
    (workdir.folder / ".aws").mkdir()
    (workdir.folder / ".aws/credentials").write_text("[lab]\naws_access_key_id=a\naws_secret_access_key=b\n")
    workdir.run("info", there, AWS_PROFILE="lab", **without)
    Proxy.failing = 1
    begin = time.monotonic()
    workdir.run("info", there, expect=1, says="after 10 retries")
    Proxy.failing = 0
    print(f"a server that always fails is given up after {time.monotonic() - begin:.0f} s")


def unfinished(workdir):
    """Check that a failed or stopped run leaves no objects, and that --force and `clean` remove a killed run's."""
    shape = (1100, 4)
    array = np.arange(4400, dtype="i4").reshape(shape) + 1
    path = workdir.folder / "many.zarr"
    zarr.create_array(str(path), shape=shape, chunks=(1, 4), dtype="i4")[...] = array
    (path / "c/1099/0").write_bytes(b"torn")
    target = workdir.url("many.zarr")
    # There are more keys than a request can list.
    flip = ["flip", "many.zarr", "-o", target, "--axes", "1"]
    workdir.run(*flip, "--codec", "zstd:1", expect=3, says="c/1099/0")
    assert workdir.keys("many.zarr") == [], workdir.keys("many.zarr")[:3]
    zarr.create_array(str(path), shape=shape, chunks=(1, 4), dtype="i4", overwrite=True)[...] = array

    def start_and_stop(number):
        process = workdir.start(*flip)
        while len(workdir.keys("many.zarr")) < 20:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait() == -number, process.returncode

    start_and_stop(signal.SIGINT)
    assert workdir.keys("many.zarr") == [], workdir.keys("many.zarr")[:3]
    start_and_stop(signal.SIGKILL)
    text = workdir.run("clean", target)
    assert f"{target}: unfinished or still being written (a bucket cannot tell)" in text, text
    assert workdir.keys("many.zarr")
    text = workdir.run("clean", target, "--force")
    assert " removed" in text and workdir.keys("many.zarr") == [], text
    text = workdir.run("clean", target)
    assert "nothing to clean" in text, text
    start_and_stop(signal.SIGKILL)
    left = workdir.keys("many.zarr")
    assert 1 < len(left) < 1100 and not any(key.endswith("zarr.json") for key in left), left[:5]
    # This chunk of another job must not appear in the new store.
    workdir.bucket.put("many.zarr/c/0/1", b"stale")
    workdir.run("info", target, expect=1, says="zarr.json, .zarray and .zgroup are missing")
    workdir.run(*flip, expect=1, says="--force removes it and starts over")
    workdir.run(*flip, "--force")
    assert np.array_equal(workdir.download("many.zarr")[...], array[:, ::-1])
    assert len(workdir.keys("many.zarr")) == 1101


def tasks(workdir, chance, kills):
    """Check a job whose tasks run in random order, each of them twice, after a process was killed."""
    local, shape = workdir.folder / "t.zarr", (64, 48, 40)
    array = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    zarr.create_array(str(local), shape=shape, chunks=(16, 12, 10), dtype="i4")[...] = array
    workdir.upload(local, "t.zarr")
    source, chain = workdir.url("t.zarr"), "transpose(2, 0, 1) | roll(shift=5, axes=0)"
    expected = np.roll(array.transpose(2, 0, 1), 5, 0)
    for number in range(kills):
        target = workdir.url(f"tasks{number}.zarr")
        plan = workdir.folder / f"plan{number}.json"
        dry = ["apply", source, chain, "-o", target, "--chunks", "10,16,12"]
        workdir.run("plan", *dry, "--tasks", plan.name, "--task-size", "64K")
        workdir.run("info", target, expect=1, says="zarr.json, .zarray and .zgroup are missing")
        count = 4
        numbers = [number for number in range(count) for _ in range(2)]
        chance.shuffle(numbers)
        workdir.run("finish", plan.name, expect=1)
        killed = workdir.start("task", plan.name, *map(str, numbers))
        time.sleep(chance.uniform(0.02, 0.4))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        both = [workdir.start("task", plan.name, *map(str, numbers[at::2])) for at in (0, 1)]
        for process in both:
            _, err = process.communicate(timeout=300)
            assert process.returncode == 0, err
        workdir.run("task", plan.name, *map(str, range(count)))
        workdir.run("finish", plan.name)
        assert np.array_equal(workdir.download(f"tasks{number}.zarr")[...], expected)
        assert not [key for key in workdir.keys(f"tasks{number}.zarr") if "trundle" in key]
        # A task that runs after the job was finished changes nothing.
        workdir.run("task", plan.name, "0")
        workdir.run("finish", plan.name)
    print(f"{kills} stores written by tasks, with one process killed for each")


def main():
    # If a shell started the tests with SIGINT ignored, child processes would also ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--azurite", help="the program azurite-blob; without it, Azure is not tested")
    parser.add_argument("--kills", type=int, help="runs of tasks that are killed")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    given = parser.parse_args()
    print(f"seed {given.seed}")
    chance = Proxy.chance = random.Random(given.seed)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    proxy = Server(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    amazon, endpoint = server.get_host_and_port(), f"http://127.0.0.1:{proxy.server_port}"
    service = {"gcs_base_url": endpoint, "disable_oauth": True}
    service |= {"client_email": "", "private_key": "", "private_key_id": ""}
    google = {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(service)}
    microsoft = {"AZURE_STORAGE_USE_EMULATOR": "true", "AZURITE_BLOB_STORAGE_URL": endpoint}
    stores = [("s3", amazon, Amazon, {**AMAZON, "AWS_ENDPOINT_URL": endpoint}), ("gs", amazon, Amazon, google)]
    azurite = None
    if given.azurite:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [given.azurite, "--blobPort", str(port), "--inMemoryPersistence", "--silent"]
        command += ["--skipApiVersionCheck", "--disableTelemetry"]
        azurite = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while socket.socket().connect_ex(("127.0.0.1", port)):
            time.sleep(0.1)
        stores.append(("az", ("127.0.0.1", port), Azure, microsoft))
    try:
        for scheme, Proxy.server_address, bucket, environment in stores:
            if scheme == "gs":
                # moto has the same buckets for both.
                requests.post(f"http://{amazon[0]}:{amazon[1]}/moto-api/reset", timeout=60)
            Proxy.translated = [("x-goog-", "x-amz-")] if scheme == "gs" else []
            Proxy.failures = Proxy.copies = 0
            own = bucket(Proxy.server_address[1])
            own.make(BUCKET)
            with tempfile.TemporaryDirectory() as folder:
                workdir = Workdir(str(Path(given.program).resolve()), folder, scheme, own, environment)
                count = given.count if scheme == "s3" else max(2, given.count // 4)
                random_stores(workdir, chance, count)
                tasks(workdir, chance, given.kills or max(2, count // 8))
                check_appends(workdir, chance, given.kills or max(4, count // 4))
                groups(workdir)
                copies(workdir)
                check_undecoded(workdir)
                files(workdir, chance)
                if scheme == "s3":
                    refusals(workdir)
                unfinished(workdir)
            print(f"{scheme}: {Proxy.failures} requests failed, and no result was wrong")
    finally:
        server.stop()
        if azurite:
            azurite.terminate()


main()
