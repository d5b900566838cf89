"""Tries the page and the documents in Chromium, against numpy and the program. `web/test` sets up what this needs."""

import argparse
import functools
import html
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import brotli
import numpy as np
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PAGE = Path(__file__).parent.parent / "target/page"
SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desktop": (1440, 900)}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
TYPES = {"u8": "uint8", "i32": "int32", "f16": "float16", "f32": "float32", "f64": "float64"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=PAGE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def numpy_of(preset, x):
    """Returns numpy's result for an example, without trundle."""
    def patches(x):
        h, w, c = x.shape
        return x.reshape(h // 2, 2, w // 2, 2, c).transpose(0, 2, 1, 3, 4).reshape(-1, 4 * c)

    def heads(x):
        b, s, e = x.shape
        return x.reshape(b, s, 4, e // 4).transpose(0, 2, 1, 3)

    def im2col(x):
        seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
        c, h, w = seen.shape[:3]
        return seen.transpose(0, 3, 4, 1, 2).reshape(c * 9, h * w)

    def shuffled(x):
        b, c, h, w = x.shape
        return x.reshape(b, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(b, c // 4, 2 * h, 2 * w)

    def reversed_rows(x):
        y = x.copy()
        for row, length in enumerate([8, 3, 5, 10, 6]):
            y[row, :length] = x[row, :length][::-1]
        return y

    def bits(x):
        return x[[int(f"{at:04b}"[::-1], 2) for at in range(16)]]

    return {
        "Swin windows": lambda x: np.roll(x, (-2, -2), (1, 2)).reshape(1, 2, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4, 5).reshape(4, 4, 4, 2),
        "HWC to CHW": lambda x: x[..., ::-1].transpose(2, 0, 1),
        "NHWC to NCHW": lambda x: x.transpose(0, 3, 1, 2),
        "Patches": patches,
        "Attention heads": heads,
        "im2col": im2col,
        "Pixel shuffle": shuffled,
        "fftshift": np.fft.fftshift,
        "Longitudes to -180..180": lambda x: np.roll(x, 8, axis=1)[::-1],
        "Reverse padded sequences": reversed_rows,
        "Time-major batches": lambda x: x.transpose(1, 0, 2),
        "Bit reversal": bits,
    }[preset](x)


class Tests:
    def __init__(self, page, url, folder):
        self.page, self.url, self.folder, self.faults = page, url, folder, []
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: line.type == "error" and self.errors.append(line.text))
        page.on("request", lambda request: request.url.startswith((url, "data:")) or self.errors.append(f"requested {request.url}"))

    def check(self, is_right, what):
        if not is_right:
            self.faults.append(what)
            print(f"  WRONG: {what}")

    def no_errors(self, where):
        self.check(not self.errors, f"{where}: {self.errors}")
        self.errors.clear()

    def open(self, state=""):
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}{state}")
        self.page.wait_for_selector("html[data-ready]")

    def presets(self):
        return self.page.eval_on_selector_all("#presets button span", "all => all.map((one) => one.textContent)")

    def choose(self, preset):
        self.page.locator("#presets button", has_text=re.compile(f"^{re.escape(preset)}$")).click()

    def state(self):
        kept = urllib.parse.parse_qs(urllib.parse.urlparse(self.page.url).fragment)
        axes = [axis.rpartition(":") for axis in kept["shape"][0].split(",")]
        names, shape = [name for name, _, _ in axes], [int(size) for _, _, size in axes]
        return kept["chain"][0], names, shape, kept["dtype"][0]

    def is_accessible(self, where):
        """Checks that axe finds no serious fault in the open page."""
        for fault in Axe().run(self.page).response["violations"]:
            if fault["impact"] in ("serious", "critical"):
                self.check(False, f"{where}: axe: {fault['id']}: {fault['help']}: {[node['target'] for node in fault['nodes']]}")

    def is_within(self):
        """Returns whether everything fits the width of the window."""
        return self.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def write_store(folder, names, array):
    """Writes a Zarr store, because its axes have names."""
    path = folder / "x.zarr"
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": array.shape, "data_type": array.dtype.name, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": array.shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        **({"dimension_names": names} if any(names) else {}), "attributes": {},
    }))
    chunk = path.joinpath("c", *["0"] * array.ndim)
    chunk.parent.mkdir(parents=True, exist_ok=True)
    chunk.write_bytes(array.tobytes())
    return path


def program_plan(path, chain):
    """Returns the move in memory that `trundle plan --verbose` prints, for the machine that the page assumes."""
    plain = {**os.environ, "TRUNDLE_SIMD": "portable", "TRUNDLE_TUNING": "off", "TRUNDLE_NUM_THREADS": "1"}
    command = [os.environ["TRUNDLE"], "plan", "apply", path, chain, "--verbose", "--row-major", "--threads", "1"]
    text = subprocess.run(command, env=plain, check=True, capture_output=True, text=True).stdout
    return re.search(r"^(?:\d+ pass(?:es)? over memory|\d+ moves?, ).*?(?=^tuning: )", text, re.M | re.S)[0].strip()


def test_plans_and_partners(test):
    """Each example shows the program's plan, lights the same partners as numpy, and runs when it is copied."""
    page = test.page
    test.open()
    test.check(len(test.presets()) == 12, "not twelve examples")
    for preset in test.presets():
        test.choose(preset)
        chain, names, shape, dtype = test.state()
        count = int(np.prod(shape))
        numbered = np.arange(count).reshape(shape)
        expected = numpy_of(preset, numbered)
        array = numbered.astype(TYPES[dtype])
        plan = program_plan(write_store(Path(tempfile.mkdtemp(dir=test.folder)), names, array), chain)
        test.check(page.inner_text("#plan").strip() == plan, f"{preset}: the plan is not the program's:\n{plan}\n---\n{page.inner_text('#plan')}")
        test.check(str(list(expected.shape)) in page.inner_text("#verdict"), f"{preset}: not {expected.shape}")
        partners(test, preset, expected.reshape(-1), count)
        snippets(test, preset, array, expected.astype(TYPES[dtype]))
        test.no_errors(preset)


def centres(page, side):
    """Returns the positions of the elements of one side in the window."""
    return page.evaluate("""(which) => {
        const { picture } = window.trundlePage;
        const [inner, place] = [picture.root.getBoundingClientRect(), picture.places[which]];
        return Array.from(place.x, (x, at) => [
            inner.left + picture.root.clientLeft + x + place.size[at] / 2 - 0.5,
            inner.top + picture.root.clientTop + place.y[at] + place.size[at] / 2 - 0.5]);
    }""", ["source", "result"].index(side))


def partners(test, preset, expected, count):
    """Points at elements of both sides, and checks with numpy which elements of the other side are lit."""
    page = test.page
    page.evaluate("scrollTo(0, 0)")
    random = np.random.default_rng(0)
    for side, size in [("source", count), ("result", len(expected))]:
        page.locator(f"#{side} .tensor").scroll_into_view_if_needed()
        places = centres(page, side)
        test.check(len(places) == size, f"{preset}: {len(places)} elements of the {side}, not {size}")
        for at in {0, size - 1, *random.integers(size, size=6).tolist()}:
            page.mouse.move(*places[at])
            source = at if side == "source" else int(expected[at])
            wanted = sorted(np.flatnonzero(expected == source).tolist())
            lit = page.eval_on_selector_all("#links .ring[data-side=result]", "all => all.map((one) => Number(one.dataset.at))")
            own = page.eval_on_selector_all("#links .ring[data-side=source]", "all => all.map((one) => Number(one.dataset.at))")
            test.check(sorted(lit) == wanted, f"{preset}: {side} {at} lights {lit} of the result, not {wanted}")
            test.check(own == [source], f"{preset}: {side} {at} lights {own} of the source, not {source}")
        words = page.inner_text("#readout")
        test.check("byte" in words and "→" in words, f"{preset}: the readout says {words!r}")


def snippets(test, preset, array, expected):
    """Runs the copied texts of the shell and of Python."""
    page = test.page
    folder = Path(tempfile.mkdtemp(dir=test.folder))
    np.save(folder / "x.npy", array)
    page.get_by_role("tab", name="shell").click()
    path = f"{Path(os.environ['TRUNDLE']).parent}:{os.environ['PATH']}"
    ran = subprocess.run(["sh", "-ec", page.inner_text("#code")], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    is_right = ran.returncode == 0 and np.array_equal(np.load(folder / "y.npy"), expected)
    test.check(is_right, f"{preset}: the shell's text gives something else: {ran.stderr}")
    page.get_by_role("tab", name="Python").click()
    if not test.has_package:
        return
    given = {}
    exec(page.inner_text("#code"), given)
    test.check(np.array_equal(given["y"], expected), f"{preset}: Python's text gives something else")


def test_sizes(test, pictures):
    """Each example at each size, in light and dark: nothing is cut off, nothing jumps, and axe finds no serious fault."""
    page = test.page
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ["light", "dark"]:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            test.open()
            for preset in test.presets():
                if scheme == "dark" and not pictures:
                    continue
                test.choose(preset)
                test.check(test.is_within(), f"{name}, {scheme}, {preset}: wider than the window")
                drawn = page.evaluate("window.trundlePage.picture.places.every((place) => Math.min(...place.size) >= 3)")
                test.check(drawn, f"{name}, {preset}: elements under 3 pixels")
                if pictures:
                    page.screenshot(path=Path(pictures) / f"{preset.split()[0]}-{name}-{scheme}.png", full_page=True)
            test.is_accessible(f"{name}, {scheme}")
            test.no_errors(f"{name}, {scheme}")
    page.set_viewport_size({"width": 1440, "height": 900})


def test_keyboard_and_stages(test):
    page = test.page
    test.open("#" + urllib.parse.urlencode({"chain": "roll(1, 1) | transpose()", "shape": "h:2,w:3", "dtype": "u8"}))
    page.focus("#source .tensor")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    test.check("x[h 1, w 1] byte 4" in page.inner_text("#readout"), f"the keys lead to {page.inner_text('#readout')!r}")
    test.check("y[w 2, h 1] byte 5" in page.inner_text("#readout"), f"its partner is {page.inner_text('#readout')!r}")
    page.focus("#stage")
    page.keyboard.press("Home")
    test.check("After stage 1" in page.inner_text("#result h2"), "the slider does not lead to the first stage")
    test.check("stage=1" in page.url, "the stage is not in the address")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    test.check("After stage 1" in page.inner_text("#result h2"), "the address does not lead back to the stage")
    test.choose("Reverse padded sequences")
    before = page.inner_text("#plan")
    page.locator("#numbers input").first.fill("2")
    test.check("lengths=[2, 3, 5, 10, 6]" in page.input_value("#chain"), "an edited length is not in the chain")
    test.check(page.inner_text("#plan") != before, "an edited length does not change the plan")
    test.no_errors("keyboard")


HOSTILE = [
    "", "|", "flip(", "a b -> b a | " * 200, "tile(99999999, 99999999)", "take(indices=[99], axis=0)", "\u0000", "<img src=x onerror=alert(1)>",
    "reverse(axis=1, lengths=x.npy)", "reshape(-1, -1)", "x[" * 100, "np.roll(x", "concat(_, b, axis=9)", "🦀 -> 🦀", "(" * 3000,
    "pad(width=1000000000)", "windows(size=[0])", "repeat(repeats=4000000000, axis=0)", "broadcast(9223372036854775807)",
]


def test_hostile_inputs(test):
    """Wrong chains and files only give a message."""
    page = test.page
    test.open()
    for chain in HOSTILE:
        page.fill("#chain", chain)
        test.check(page.locator("#verdict pre").count() == 1, f"{chain[:40]!r} gives no message")
        test.no_errors(repr(chain[:40]))
    page.fill("#chain", "transpose()")
    test.check(page.locator("#verdict strong").count() == 1, "a chain after wrong ones is not explained")
    test.check(page.locator("img").count() == 0, "a chain became an element of the page")
    for state in ["chain=%00&shape=-1,1e9,:::&dtype=zz&by=9&stage=-3&other=__proto__=1", "chain=flip(0)&shape=99999999999999999999", "chain", "%", "chain=flip(0)&shape=2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2"]:
        test.open("#" + state)
        test.check(page.inner_text("#verdict") != "", f"{state!r} gives nothing")
        test.no_errors(repr(state))
    for shape in ["1000000007,0,1", "60,60,60,60,60,60,60,60,0,1", ",".join(["2"] * 5000), "0," * 5000]:
        begun = time.monotonic()
        test.open(f"#chain=transpose()&shape={shape}")
        test.check(time.monotonic() - begun < 2, f"the shape {shape[:40]} takes {time.monotonic() - begun:.1f} s")
        test.no_errors(shape[:40])
    long = json.dumps({f"t{n}": {"dtype": "F32", "shape": [0, n], "data_offsets": [0, 0]} for n in range(500)}).encode()
    for name, data, shown in [
        ("volume.npy", npy(np.zeros((3, 4, 5), np.float32, order="F")), "[3, 4, 5]"),
        ("bad.npy", b"\x93NUMPY\x01\x00\xff\xff{", "bad"),
        ("bad.npy", b"", "bad"),
        ("weights.safetensors", len(long).to_bytes(8, "little") + long, "and 300 more"),
        ("huge.safetensors", b"\xff" * 8 + b"{}", "huge"),
        ("<b>.npy", b"?", "<b>"),
        ("model.onnx", b"\x08\x08" * 9, "model.onnx"),
        ("model.onnx", onnx_transpose(), "Transpose"),
        ("notes.txt", b"hello", "notes.txt"),
    ]:
        page.set_input_files("#file", {"name": name, "mimeType": "application/octet-stream", "buffer": data})
        page.wait_for_function("(shown) => document.querySelector('#opened').textContent.includes(shown)", arg=shown, timeout=5000)
        test.no_errors(f"{name}, {data[:9]}")
    page.set_input_files("#file", {"name": "volume.npy", "mimeType": "", "buffer": npy(np.zeros((3, 4, 5), np.float32, order="F"))})
    page.wait_for_function("document.querySelector('#verdict').textContent.includes('[3, 4, 5]')")
    test.check("src 0 dst 0, 5 x (src +48" in page.inner_text("#plan") or "1 block" in page.inner_text("#plan"), "the plan of a file is missing")


def npy(array):
    import io
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def onnx_transpose():
    """A model of one Transpose, written by hand: y = Transpose(x) for float x of [2, 3]."""
    def field(number, data):
        data = data.encode() if isinstance(data, str) else data
        return bytes([number << 3 | 2, len(data)]) + data

    def value(name, sizes):
        shape = b"".join(field(1, bytes([8, size])) for size in sizes)
        return field(1, name) + field(2, field(1, bytes([8, 1]) + field(2, shape)))

    node = field(1, "x") + field(2, "y") + field(3, "turn") + field(4, "Transpose")
    graph = field(1, node) + field(2, "g") + field(11, value("x", [2, 3])) + field(12, value("y", [3, 2]))
    return bytes([8, 8]) + field(7, graph) + field(8, field(1, "") + bytes([16, 17]))


def test_speed(test):
    """Measures the size of the page, the first paint, and how long a change of a 16 x 16 x 3 tensor takes until it is drawn."""
    page = test.page
    size = sum(len(brotli.compress(file.read_bytes())) for file in PAGE.iterdir() if file.is_file())
    print(f"  all files of the page, compressed: {size} bytes")
    test.check(size <= 500 << 10, "the page is larger than 500 KiB")
    test.open("#" + urllib.parse.urlencode({"chain": "flip(2) | h w c -> c h w", "shape": "h:16,w:16,c:3", "dtype": "u8", "by": 2}))
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    times = page.evaluate("""async () => {
        const chain = document.querySelector("#chain");
        const times = [];
        for (let round = 0; round < 40; round++) {
            chain.value = `roll(${round}, 0) | flip(2) | h w c -> c h w`;
            const begun = performance.now();
            chain.dispatchEvent(new Event("input"));
            times.push(performance.now() - begun);
            await new Promise(requestAnimationFrame);
        }
        return times.sort((a, b) => a - b);
    }""")
    middle, most = times[len(times) // 2], times[int(len(times) * 0.9)]
    print(f"  first paint after {paint:.0f} ms; 16 x 16 x 3 redrawn in {middle:.1f} ms, nine of ten within {most:.1f} ms")
    test.check(paint < 1000, f"the first paint takes {paint:.0f} ms")
    test.check(middle < 16, f"a redraw takes {middle:.1f} ms")


def test_documents(test, pictures):
    """Each link leads to a file and each anchor to an element, the search finds an operator, and no page asks another host."""
    page, documents = test.page, PAGE / "documents"
    texts = {file: file.read_text() for file in documents.rglob("*.html")}
    test.check(len(texts) > 25, f"there are {len(texts)} documents")
    for file, text in texts.items():
        for link in re.findall(r'(?:href|src)="([^"]*)"', text):
            target, _, anchor = html.unescape(link).partition("#")
            if not target.startswith(("https:", "data:")):
                to = (file.parent / urllib.parse.unquote(target.partition("?")[0])).resolve() if target else file
                test.check(to.is_file(), f"{file.name} links {link}, which is not a file")
                if anchor and to in texts:
                    test.check(f'id="{anchor}"' in texts[to], f"{file.name} links {link}, but the file does not have this anchor")
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ["light", "dark"]:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for document in ["README", "docs/chains", "docs/dependencies"]:
                page.goto(f"{test.url}documents/{document}.html")
                test.check(test.is_within(), f"{name}, {document}: wider than the window")
                test.is_accessible(f"{name}, {scheme}, {document}")
                if pictures:
                    page.screenshot(path=Path(pictures) / f"{Path(document).name}-{name}-{scheme}.png")
    page.goto(f"{test.url}documents/search.html?q=fftshift")
    page.wait_for_selector("#search-results li a")
    found = page.eval_on_selector_all("#search-results li a", "all => all.map((one) => one.textContent)")
    test.check("Chains" in found, f"the search for fftshift finds {found}")
    page.goto(test.url)
    page.click("text=Documents")
    test.check("documents" in page.url and page.inner_text("h1").startswith("trundle"), "the page does not lead to the documents")
    page.goto(f"{test.url}api/trundle/index.html")
    test.check("trundle" in page.inner_text("h1"), "there is no documentation of the library")
    test.no_errors("documents")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", help="a folder for a picture of each example at each size")
    given = parser.parse_args()
    if given.pictures:
        Path(given.pictures).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        test = Tests(page, serve(), Path(folder))
        try:
            import trundle
            test.has_package = hasattr(trundle, "chain")
        except ImportError:
            test.has_package = False
        if not test.has_package:
            print("skipped: the texts for Python, because the Python package is not installed")
        for name, run in [
            ("plans, partners, texts", lambda: test_plans_and_partners(test)),
            ("sizes", lambda: test_sizes(test, given.pictures)),
            ("keyboard and stages", lambda: test_keyboard_and_stages(test)),
            ("hostile chains and files", lambda: test_hostile_inputs(test)),
            ("documents", lambda: test_documents(test, given.pictures)),
            ("speed", lambda: test_speed(test)),
        ]:
            begun = time.monotonic()
            run()
            print(f"{name}: {time.monotonic() - begun:.0f} s")
        browser.close()
    if test.faults:
        sys.exit(f"{len(test.faults)} faults")
    print("the page works")


main()
