#!/usr/bin/env python3
"""Test files and Zarr stores on good and faulty HTTP servers.

    pip install zarr==3.1.6 safetensors h5py
    crates/trundle-remote/tests/with_http.py target/release/trundle --count 40

The first component of a path selects the behaviour of the server. Results are compared with results from local files.
"""

import argparse
import gzip
import json
import os
import random
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import h5py
import numpy as np
import zarr
from safetensors.numpy import save_file

from server import Server

# Behaviours with which every read succeeds, and the elements are right.
GOOD = ["plain", "untagged", "undated", "cut", "failing", "redirect", "no-head", "signed", "late"]
GOOD += ["no-length", "weak", "forbidden-below"]


class Handler(BaseHTTPRequestHandler):
    """Serve the files of a folder with the behaviour that the path names."""

    protocol_version = "HTTP/1.1"
    folder = None
    rng = random.Random(1)
    # The number of requests. With `changing`, the file changes after `changes_after` requests.
    requests = 0
    # The number of requests that used this server as a proxy.
    proxied = 0
    # The number of endless answers that a client did not stop reading.
    endless = 0
    changes_after = 0
    # The target of redirects.
    elsewhere = "/plain"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer()

    def do_CONNECT(self):
        Handler.proxied += 1
        self.give(502)

    def do_GET(self):
        self.answer()

    def answer(self):
        Handler.requests += 1
        url = urlsplit(self.path)
        _, behaviour, name = unquote(url.path).split("/", 2)
        if behaviour == "no-head" and self.command == "HEAD":
            return self.give(405)
        if behaviour == "signed" and url.query != "key=a%2Fb":
            return self.give(403, b"<html>\n<p>signature</p></html>")
        if behaviour == "failing-always" or behaviour == "failing" and self.rng.randrange(3) == 0:
            return self.give(self.rng.choice([500, 502, 503, 429]), b"<html>later</html>")
        if behaviour == "redirect":
            return self.give(self.rng.choice([301, 302, 307, 308]), Location=f"{Handler.elsewhere}/{quote(name)}")
        if behaviour == "endless":
            self.send_response_only(404)
            self.end_headers()
            self.close_connection = True
            for _ in range(512):
                self.wfile.write(bytes(1 << 20))
            Handler.endless += 1
            return
        if behaviour == "forbidden-below" and name.rsplit("/", 1)[-1] in ("zarr.json", ".zarray", ".zgroup"):
            return self.give(403)
        if behaviour == "loop":
            return self.give(302, Location=self.path)
        if behaviour == "late":
            time.sleep(0.2)
        path = Handler.folder / name
        if not path.is_file():
            return self.give(404, b"<html>\n<p>not here</p></html>")
        if behaviour == "forbidden-method":
            return self.give(405)
        content, number = path.read_bytes(), 1
        # A client reads the index of a shard first, from the end of the file.
        if "/c/" in name and not (self.headers.get("Range") or "").startswith("bytes=-"):
            if behaviour == "shard-removed":
                return self.give(404)
            if behaviour == "shard-changed":
                content, number = bytes(255 - byte for byte in content), 2
        if behaviour.startswith("changing"):
            number = 1 if Handler.requests <= Handler.changes_after else 2
            if number == 2:
                middle = bytes(255 - byte for byte in content[4096 : 1 << 20])
                content = content[:4096] + middle + content[1 << 20 :]
                content += b"x" if behaviour == "changing-size" else b""
        headers = {"ETag": f'"{number}"', "Last-Modified": ["Mon, 01", "Tue, 02"][number - 1] + " Jan 2024 00:00:00 GMT"}
        if behaviour in ("untagged", "changing-time"):
            del headers["ETag"]
        if behaviour in ("undated", "changing-size", "weak"):
            headers = {"ETag": 'W/"1"'} if behaviour == "weak" else {}
        if behaviour == "compressed":
            content, headers["Content-Encoding"] = gzip.compress(content), "gzip"
        byte_range = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if not byte_range or behaviour in ("no-ranges", "no-ranges-cut", "no-length-no-ranges"):
            return self.give(200, content, is_cut=behaviour in ("cut-always", "no-ranges-cut"), **headers)
        start, end = byte_range.groups()
        if start:
            start, end = int(start), min(int(end or len(content)) + 1, len(content))
        else:
            start, end = max(0, len(content) - int(end)), len(content)
        if start >= len(content):
            return self.give(416)
        part = content[start:end]
        if behaviour == "shifted":
            start, end = start + 8, end + 8
        if behaviour == "short" and len(part) > 1:
            part = part[:-1]
        if behaviour == "long":
            part += b"x"
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        is_cut = behaviour == "cut-always" or behaviour == "cut" and self.rng.randrange(3) == 0
        return self.give(206, part, is_cut=is_cut, **headers)

    def give(self, status, content=b"", is_cut=False, **headers):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.path.startswith("/no-length") and self.command == "GET":
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(content[: len(content) // 2] if is_cut else content)
        if is_cut:
            self.close_connection = True


class Workdir:
    def __init__(self, program, folder, port):
        self.program, self.folder, self.port = program, Path(folder), port

    def url(self, behaviour, name):
        query = "?key=a%2Fb" if behaviour == "signed" else ""
        return f"http://127.0.0.1:{self.port}/{behaviour}/{name}{query}"

    def run(self, *arguments, expect=0, says="", **environment):
        own = {**os.environ, "HOME": str(self.folder), **environment}
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            if name not in environment:
                own.pop(name, None)
        command = [self.program, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, env=own, capture_output=True, text=True, timeout=300)
        if done.returncode != expect or says not in done.stderr:
            sys.exit(
                f"trundle {arguments}: exit code {done.returncode}, expected {expect} and {says!r}\n"
                f"{done.stdout}{done.stderr}"
            )
        return done.stdout

    def refused(self, *arguments, expect=1, says=""):
        """Run a command with the output `refused.npy` that must fail and leave nothing."""
        before = sorted(self.folder.iterdir())
        self.run(*arguments, "-o", "refused.npy", expect=expect, says=says)
        assert sorted(self.folder.iterdir()) == before, "an output is left"


def files(served):
    """Write files of all formats. Return their names, and the options with which trundle reads them."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 1 << 30, (300, 700, 3), dtype="i4"), rng.random((700, 300))
    np.save(served / "a.npy", a)
    np.save(served / "a b.npy", a)
    np.savez(served / "stored.npz", a=a, b=b)
    np.savez_compressed(served / "packed.npz", a=a, b=b)
    many = {f"layer.{number}": rng.random((7, 5)).astype("f4") for number in range(3000)}
    save_file({"a": a, "b": b}, served / "two.safetensors")
    save_file(many, served / "many.safetensors")
    shards = {f"part-{at}.safetensors": dict(list(many.items())[at::3]) for at in range(3)}
    for name, tensors in shards.items():
        save_file(tensors, served / name)
    weights = {tensor: name for name, tensors in shards.items() for tensor in tensors}
    index = {"metadata": {}, "weight_map": weights}
    (served / "model.safetensors.index.json").write_text(json.dumps(index))
    (served / "a.raw").write_bytes(a.tobytes())
    (served / "a.nhdr").write_text(
        "NRRD0004\ntype: int\ndimension: 3\nsizes: 3 700 300\nendian: little\nencoding: raw\ndata file: a.raw\n"
    )
    header = "NRRD0004\ntype: int\ndimension: 3\nsizes: 3 700 300\nendian: little\nencoding: gzip\n\n"
    (served / "a.nrrd").write_bytes(header.encode() + gzip.compress(a.tobytes(), 1))
    with h5py.File(served / "a.h5", "w") as file:
        file.create_dataset("packed", data=a, chunks=(64, 64, 3), compression="gzip", shuffle=True)
        file.create_dataset("plain", data=b)
    raw = ["--dtype", "i32", "--shape", "300,700,3"]
    names = ["a.npy", "a b.npy", "stored.npz", "packed.npz", "two.safetensors", "many.safetensors"]
    names += ["model.safetensors.index.json", "a.nhdr", "a.nrrd", "a.h5"]
    return [(name, []) for name in names] + [("a.raw", raw)]


def formats(workdir, served, rng, count):
    """Convert files of all formats from each server, and compare the outputs with outputs from local files."""
    cases = [(*file, behaviour) for file in files(served) for behaviour in GOOD]
    for name, options, behaviour in cases if count >= len(cases) else rng.sample(cases, count):
        local, remote = workdir.folder / "local.safetensors", workdir.folder / "remote.safetensors"
        url = workdir.url(behaviour, name.replace(" ", "%20"))
        verify = rng.choice([[], ["--verify"]])
        workdir.run("convert", served / name, *options, "-o", local)
        workdir.run("convert", url, *options, "-o", remote, *verify, *rng.choice([[], ["--max-mem", "16M"]]))
        assert local.read_bytes() == remote.read_bytes(), (name, behaviour)
        local.unlink()
        remote.unlink()


def movements(workdir, served, rng, count):
    """Move tensors that are larger than the memory, some of them in numbered tasks."""
    array = np.arange(3_000_000, dtype="u4").reshape(300, 100, 100)
    np.save(served / "large.npy", array)
    for _ in range(count):
        order, behaviour = rng.sample(range(3), 3), rng.choice(GOOD)
        shift, axis = rng.randint(-90, 90), rng.randrange(3)
        chain = f"transpose({','.join(map(str, order))}) | roll(shift={shift}, axes={axis})"
        url, expected = workdir.url(behaviour, "large.npy"), np.roll(array.transpose(order), shift, axis)
        if behaviour == "undated" or rng.randrange(3):
            limit = rng.choice(["8M", "24M", "1G"])
            workdir.run("apply", url, chain, "-o", "moved.npy", "--max-mem", limit, "--force", "--verify")
            moved = np.load(workdir.folder / "moved.npy")
        else:
            shutil.rmtree(workdir.folder / "moved.zarr", ignore_errors=True)
            (workdir.folder / "plan.json").unlink(missing_ok=True)
            dry = ["apply", url, chain, "-o", "moved.zarr", "--tasks", "plan.json", "--task-size", "4M"]
            tasks = int(re.search(r"(\d+) tasks", workdir.run("plan", *dry))[1])
            workdir.run("task", "plan.json", *map(str, range(tasks)))
            workdir.run("finish", "plan.json")
            moved = zarr.open_array(workdir.folder / "moved.zarr")[...]
        assert np.array_equal(moved, expected), (chain, behaviour)


def requests(workdir):
    """Check that headers take few requests."""
    for name, most in [("a.npy", 1), ("many.safetensors", 1), ("stored.npz", 4), ("a.h5", 4)]:
        before = Handler.requests
        workdir.run("info", workdir.url("plain", name))
        assert Handler.requests - before <= most, (name, Handler.requests - before)
    before = Handler.requests
    workdir.run("transpose", workdir.url("plain", "large.npy"), "-o", "moved.npy", "--force")
    assert Handler.requests - before <= 12, Handler.requests - before


def refusals(workdir):
    """Check that no faulty server gives a wrong element: each is an error, and leaves no output."""
    transpose = ["transpose", "--order", "2,1,0"]
    for behaviour in ("changing", "changing-time", "changing-size"):
        for after in (1, 2, 3):
            Handler.requests, Handler.changes_after = 0, after
            url = workdir.url(behaviour, "large.npy")
            workdir.refused(*transpose, url, "--max-mem", "8M", says="changed while it was read")
    Handler.requests, Handler.changes_after = 0, 10**9
    url = workdir.url("changing", "large.npy")
    workdir.run("plan", *transpose, url, "-o", "changed.zarr", "--tasks", "changed.json", "--task-size", "4M")
    Handler.changes_after = 0
    workdir.run("task", "changed.json", "0", expect=1, says="has changed since")
    for behaviour in ("undated", "weak"):
        tasks = [workdir.url(behaviour, "large.npy"), "-o", "moved.zarr", "--tasks", "plan.json", "--force"]
        workdir.run("plan", *transpose, *tasks, expect=3, says="the ETag or the time")
    for behaviour, expect, says in [
        ("shifted", 1, "Requested"),
        ("short", 1, "the answer has"),
        ("long", 1, "the answer has"),
        ("cut-always", 1, "cut off"),
        ("no-ranges-cut", 1, "does not send parts"),
        ("compressed", 1, "Content-Encoding: gzip"),
        ("loop", 1, "too many redirects"),
        ("forbidden-method", 1, "405"),
        ("missing/x", 1, "does not exist"),
        ("failing-always", 1, "after 10 retries"),
    ]:
        workdir.refused(*transpose, workdir.url(behaviour, "a.npy"), expect=expect, says=says)
    workdir.refused(*transpose, workdir.url("plain", "none.npy"), says="does not exist")
    workdir.refused(*transpose, workdir.url("signed", "a.npy").split("?")[0], says="403 Forbidden\n")
    workdir.refused(*transpose, "http://127.0.0.1:9/a.npy", says="refused")
    workdir.refused(*transpose, "http:///a.npy", says="has no server")
    shutil.copy(Handler.folder / "a.npy", Handler.folder / "unnamed")
    workdir.run("info", workdir.url("forbidden-below", "unnamed"))
    workdir.refused(*transpose, workdir.url("plain", "a%2Fb.npy"), says="%2F")
    workdir.refused(*transpose, workdir.url("plain", "a.npy#b"), says="`#`")
    workdir.refused(*transpose, "http://user:secret@127.0.0.1:9/a.npy", says="http://***@127.0.0.1:9/a.npy: cannot open: contains a user")
    for scheme in ("HTTP", "s3a", "file"):
        workdir.refused(*transpose, f"{scheme}://h/a.npy", expect=3, says=f"the scheme {scheme}:// is unknown")
    workdir.refused(*transpose, workdir.url("no-length-no-ranges", "a.npy"), says="does not state the size")
    workdir.refused(*transpose, workdir.url("endless", "a.npy"), says="does not exist")
    assert Handler.endless == 0, "an error document was read to its end"
    proxy = {"ALL_PROXY": f"http://127.0.0.1:{workdir.port}", "AWS_EC2_METADATA_DISABLED": "false"}
    workdir.run("info", "s3://b/a.npy", expect=1, says="no credentials", **proxy)
    assert Handler.proxied == 0, "a proxy was asked for credentials"
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}
    workdir.run("info", "s3://b/a.npy", expect=1, says="does not exist", AWS_ENDPOINT_URL=workdir.url("plain", "none"), **keys)
    for name in ("y.npy", "y.zarr", "y"):
        to = ["--to", "zarr"] if name == "y" else []
        before = Handler.requests
        output = workdir.url("plain", name)
        workdir.run(*transpose, workdir.url("plain", "a.npy"), "-o", output, *to, expect=3, says="HTTP servers are only read")
        assert Handler.requests - before <= 1
    workdir.run("clean", workdir.url("plain", "x"), expect=1, says="HTTP servers have no unfinished stores")


def without_ranges(workdir, served):
    """Check that a file is read as a stream if the server does not send parts of it."""
    array = np.load(served / "a.npy")
    workdir.run("transpose", workdir.url("no-ranges", "a.npy"), "--order", "2,0,1", "-o", "moved.npy", "--force")
    assert np.array_equal(np.load(workdir.folder / "moved.npy"), array.transpose(2, 0, 1))
    workdir.run("info", workdir.url("no-ranges", "two.safetensors"))
    workdir.refused("convert", workdir.url("no-ranges", "stored.npz"), "--tensor", "a", "--only", expect=3, says="not a stream")
    workdir.refused("convert", workdir.url("no-ranges", "a.h5"), "--tensor", "plain", "--only", expect=3, says="not a stream")


def stores(workdir, served):
    """Move Zarr stores of both versions, with and without consolidated metadata."""
    array = np.arange(60 * 50, dtype="f4").reshape(60, 50)
    for version in (2, 3):
        for is_listed in (False, True):
            name = f"v{version}{'-listed' if is_listed else ''}.zarr"
            root = zarr.open_group(served / name, mode="w", zarr_format=version, attributes={"title": "all"})
            inner = root.create_group("a/b")
            for group, member in [(root, "x"), (inner, "y")]:
                shards = {"shards": (40, 20)} if version == 3 else {}
                made = group.create_array(member, shape=array.shape, chunks=(20, 10), dtype="f4", fill_value=7, **shards)
                # The other chunks are missing.
                made[:40] = array[:40]
            if is_listed:
                zarr.consolidate_metadata(root.store)
    expected = np.where(np.arange(60)[:, None] < 40, array, 7).T
    for behaviour in GOOD:
        for version in (2, 3):
            shutil.rmtree(workdir.folder / "y.zarr", ignore_errors=True)
            url = workdir.url(behaviour, f"v{version}-listed.zarr")
            # A server that refuses HEAD does not tell whether an object exists.
            if behaviour == "no-head":
                workdir.run("info", url, expect=1, says="405")
                continue
            refusal = {"no-length": "does not state the size", "forbidden-below": "403"}.get(behaviour)
            if refusal:
                workdir.run("info", url, expect=1, says=refusal)
                continue
            workdir.run("transpose", url, "-o", "y.zarr", "--order", "1,0")
            written = zarr.open_group(workdir.folder / "y.zarr", mode="r")
            assert written.attrs["title"] == "all"
            assert np.array_equal(written["x"][...], expected) and np.array_equal(written["a/b/y"][...], expected)
    shape = {"shape": array.shape, "chunks": (20, 10), "shards": (40, 20)}
    made = zarr.create_array(served / "shards.zarr", dtype="f4", compressors=None, fill_value=7, **shape)
    made[...] = array
    for behaviour in ("shard-removed", "shard-changed"):
        says = f"{behaviour.removeprefix('shard-')} while it was read"
        workdir.refused("transpose", workdir.url(behaviour, "shards.zarr"), expect=3, says=says)
    for version in (2, 3):
        whole = workdir.url("plain", f"v{version}.zarr")
        workdir.run("info", whole, expect=1, says="no consolidated metadata")
        workdir.run("transpose", f"{whole}/a/b/y", "-o", "y.npy", "--force")
        assert np.array_equal(np.load(workdir.folder / "y.npy"), expected)
    for behaviour, expect, says in [
        ("no-ranges", 3, "does not send parts of files"),
        ("cut-always", 1, "cut off"),
        ("compressed", 1, "Content-Encoding"),
    ]:
        workdir.refused("transpose", f"{workdir.url(behaviour, 'v3-listed.zarr')}/x", expect=expect, says=says)
    workdir.run("info", workdir.url("plain", "none.zarr"), expect=1, says="zarr.json, .zarray and .zgroup are missing")


def encrypted(workdir, served):
    """Check certificates, and that no redirect leaves the encryption."""
    made = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 -subj /CN=localhost"
    extensions = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]
    command = [*made.split(), *extensions]
    try:
        subprocess.run(command, cwd=workdir.folder, check=True, capture_output=True)
    except FileNotFoundError:
        print("skipped: without openssl, there is no certificate for a server")
        return
    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(workdir.folder / "certificate.pem", workdir.folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"https://localhost:{server.server_port}"
    transpose = ["transpose", "--order", "2,1,0", "-o", "encrypted.npy"]
    workdir.run(*transpose, f"{base}/plain/a.npy", expect=1, says="certificate")
    workdir.run(*transpose, f"{base}/plain/a.npy", expect=1, says="cannot read SSL_CERT_FILE", SSL_CERT_FILE="none.pem")
    workdir.run(*transpose, f"{base}/plain/a.npy", "--verify", SSL_CERT_FILE="certificate.pem")
    array = np.load(served / "a.npy")
    assert np.array_equal(np.load(workdir.folder / "encrypted.npy"), array.transpose())
    Handler.elsewhere = f"http://127.0.0.1:{workdir.port}/plain"
    workdir.run("info", f"{base}/redirect/a.npy", expect=1, says="https", SSL_CERT_FILE="certificate.pem")
    Handler.elsewhere = "/plain"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    given = parser.parse_args()
    print(f"seed {given.seed}")
    warnings.simplefilter("ignore", zarr.errors.ZarrUserWarning)
    rng = Handler.rng = random.Random(given.seed)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as served:
        Handler.folder = Path(served)
        workdir = Workdir(str(Path(given.program).resolve()), folder, server.server_port)
        formats(workdir, Path(served), rng, given.count)
        movements(workdir, Path(served), rng, max(4, given.count // 4))
        requests(workdir)
        without_ranges(workdir, Path(served))
        stores(workdir, Path(served))
        encrypted(workdir, Path(served))
        refusals(workdir)
    print(f"{given.count} files, and servers with every fault")


main()
