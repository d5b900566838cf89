"""Behaviour of a whole process: signals, forks, exits and memory. Each test runs in its own process."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from arrays import ALL

posix = pytest.mark.skipif(os.name != "posix", reason="there are no forks and no SIGINT to send")
linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="there is no /proc")

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import trundle
"""


# Stages that together take tenths of a second in any build profile.
LONG = """
def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start

def long_stages(x):
    lengths = [i * 37 % 200 + 3 for i in range(64)]
    stages = [f"reverse(axis=1, lengths={lengths}, batch_axis=0)", "roll(1, 1)"]
    return stages * max(6, min(150, int(0.8 / seconds(lambda: trundle.chain(*stages)(x)))))
"""


def program(text):
    return PRELUDE + textwrap.dedent(text)


def run(text, timeout=180):
    """The program must succeed and print nothing on stderr."""
    command = [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", program(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


# Calls that take tenths of a second because they are slow, not because they need gigabytes.
LONG_CALLS = {
    "one pass": """
        x = np.zeros((3,) * 16, "u1")
        def long_call():
            trundle.transpose(x, threads=THREADS)
    """,
    "in place": """
        x = np.zeros((3,) * 16, "u1")
        def long_call():
            trundle.transpose(x, out=x, threads=THREADS)
    """,
    "many passes": """
        x = np.zeros((64, 1 << 20), "u1")
        chain = trundle.chain(*long_stages(x))
        assert chain.plan(x).passes > 5
        def long_call():
            chain(x, threads=THREADS)
    """,
    "many passes to a small result": """
        x = np.zeros((64, 1 << 20), "u1")
        chain = trundle.chain(*long_stages(x), "slice(starts=[0], stops=[9], axes=[1])")
        assert chain.plan(x).passes > 5
        def long_call():
            chain(x, threads=THREADS)
    """,
    "copyto": """
        x = np.zeros((3,) * 16, "u1")
        y = np.zeros((3,) * 16, "u1")
        def long_call():
            trundle.copyto(x, y.T, threads=THREADS)
    """,
}

INTERRUPTED = """
# A shell may have started the tests with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
long_call()
start = time.perf_counter()
long_call()
print(time.perf_counter() - start, flush=True)
start = time.perf_counter()
try:
    long_call()
    print("finished after", time.perf_counter() - start, flush=True)
    time.sleep(1)
except KeyboardInterrupt:
    print("interrupted after", time.perf_counter() - start)
assert trundle.roll(np.arange(3), 1).tolist() == [2, 0, 1]
assert (trundle.flip(np.arange(1 << 20)) == np.arange(1 << 20)[::-1]).all()
"""


@posix
@pytest.mark.parametrize("threads", [1, 2] if ALL else [2])
@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c_stops_a_long_move(name, threads):
    call = LONG + f"THREADS = {threads}\n" + textwrap.dedent(LONG_CALLS[name])
    text = PRELUDE + call + INTERRUPTED
    child = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        whole = float(child.stdout.readline() or "nan")
        time.sleep(whole / 8)
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, stderr) == (0, "")
    if whole < 0.15:
        pytest.skip("this machine is too fast: the move ends before the signal")
    what, _, after = stdout.split()[:3]
    # Signals are checked at intervals, not continuously.
    assert what == "interrupted" and float(after) < 0.1 + whole / 2, (whole, stdout)


@posix
def test_a_signal_handler_that_does_not_raise_lets_the_move_end():
    text = f"""
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        seen = []
        x = np.broadcast_to(np.arange(251, dtype="u1"), ({1 << 20 if ALL else 1 << 18}, 251))
        for _ in range(3):
            threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            result = trundle.roll(x, 1, axis=1)
            assert (result[::4093] == np.roll(x[0], 1)).all()
        time.sleep(0.05)
        print(len(seen))
    """
    assert int(run(text)) >= 1


@posix
def test_a_fork_after_moves():
    text = f"""
        x = np.arange({3 << 20 if ALL else 3 << 19}, dtype="i4").reshape(1024, -1)
        expected = x.T.copy()
        def right():
            return all((trundle.transpose(x, threads=n) == expected).all() for n in (None, 1, 2))
        assert right()
        for _ in range(4):
            child = os.fork()
            if child == 0:
                os._exit(0 if right() else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert right()
    """
    run(text)


@posix
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_signal_handler_that_forks_during_a_move(threads):
    text = f"""
        x = (np.arange(3**15) % 251).astype("u1").reshape((3,) * 15)
        children = []
        def handler(*_):
            children.append(os.fork())
        signal.signal(signal.SIGUSR1, handler)
        expected = np.ascontiguousarray(x.T)
        for _ in range(3):
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGUSR1)).start()
            right = (trundle.transpose(x, threads={threads}) == expected).all()
            if 0 in children:
                os._exit(0 if right else 1)
            assert right
            time.sleep(0.05)
            if 0 in children:
                os._exit(0)
        assert len(children) == 3, children
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
    """
    run(text)


@posix
def test_forks_while_other_threads_move():
    text = f"""
        x = np.arange(1 << 20, dtype="i4").reshape(1024, -1)
        expected = x.T.copy()
        def right():
            results = [trundle.transpose(x, threads=n) for n in (None, 1, 2)]
            return all((result == expected).all() for result in results)
        done = threading.Event()
        def work():
            while not done.is_set():
                assert (trundle.transpose(x) == expected).all()
        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        try:
            for _ in range({20 if ALL else 8}):
                child = os.fork()
                if child == 0:
                    # The other threads may have held locks when the process forked.
                    os._exit(0 if right() else 1)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            done.set()
        for worker in workers:
            worker.join()
    """
    run(text)


FIRST_CALLS = {
    "an array": "trundle.transpose(np.ones((2, 3)))",
    "a list": "trundle.transpose([[1, 2], [3, 4]])",
    "an array of a subclass": "trundle.transpose(np.matrix([[1, 2]]))",
    "a large array": "trundle.transpose(np.ones((2048, 4096)))",
    "an axis error": "trundle.flip(np.ones(2), axis=5)",
    "a chain": "trundle.chain('roll(1, 0)')(np.ones(2))",
}


@posix
@pytest.mark.parametrize("call", FIRST_CALLS.values(), ids=FIRST_CALLS.keys())
def test_a_fork_during_the_first_call(call):
    """The first call runs Python code to look up parts of numpy. It stops there, and another thread forks."""
    text = f"""
        import builtins
        stopped, forked = threading.Event(), threading.Event()
        own_import = builtins.__import__
        def call():
            try:
                {call}
            except ValueError:
                pass
        def stopping_import(*arguments, **keywords):
            if threading.current_thread() is worker:
                stopped.set()
                forked.wait()
            return own_import(*arguments, **keywords)
        worker = threading.Thread(target=lambda: (call(), stopped.set()))
        builtins.__import__ = stopping_import
        worker.start()
        stopped.wait()
        child = os.fork()
        if child == 0:
            builtins.__import__ = own_import
            signal.alarm(20)
            call()
            os._exit(0)
        forked.set()
        worker.join()
        assert os.waitpid(child, 0)[1] == 0
    """
    run(text)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method, tmp_path):
    if method == "fork" and os.name != "posix":
        pytest.skip("there are no forks")
    text = """
        import multiprocessing

        def job(seed):
            x = np.random.default_rng(seed).integers(0, 1000, (700, 900))
            chain = trundle.chain("a b -> b a")
            return bool((chain(x) == x.T).all() and (trundle.roll(x, 5) == np.roll(x, 5)).all())

        if __name__ == "__main__":
            assert job(0)
            context = multiprocessing.get_context(sys.argv[1])
            with context.Pool(3) as pool:
                assert all(pool.map(job, range(12)))
                chain = trundle.chain("flip(0) | a b -> b a")
                x = np.arange(6).reshape(2, 3)
                assert (pool.apply(chain, (x,)) == x[::-1].T).all()
    """
    script = tmp_path / "job.py"
    script.write_text(program(text))
    command = [sys.executable, "-W", "ignore", str(script), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.parametrize(
    "call", ["transpose(x)", "roll(x, 1)", "flip(x, out=x.copy())", "flip(x[:9, :9])"]
)
def test_the_program_exits_while_threads_move(call):
    text = f"""
        x = np.zeros((1024, 4096), "i4")
        def work():
            while True:
                trundle.{call}
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
    """
    for _ in range(3):
        run(text)


@linux
def test_moves_may_outlive_the_interpreter():
    text = """
        import ctypes
        # The C library calls sleep(1), 1 being the exit code, once the interpreter is gone.
        libc = ctypes.CDLL(None)
        libc.on_exit(libc.sleep, None)
        x = np.zeros((3,) * 16, "u1")
        # Several threads, so that not all of them check for signals when the interpreter ends.
        for _ in range(5):
            threading.Thread(target=lambda: trundle.transpose(x, threads=1), daemon=True).start()
            time.sleep(0.013)
        sys.exit(1)
    """
    for _ in range(3):
        command = [sys.executable, "-c", program(text)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, "")


def test_results_live_until_the_exit():
    run("""
        kept = [trundle.flip(np.zeros(1 << size, "u1")) for size in range(10, 26)]
        sys.kept = kept
        class Cycle: pass
        cycle = Cycle()
        cycle.itself, cycle.result = cycle, trundle.flip(np.zeros(1 << 24, "u1"))
        chain = trundle.chain("flip(0)")
        import atexit
        atexit.register(lambda: trundle.flip(np.zeros(1 << 24, "u1")))
    """)


def test_import_starts_no_threads_and_skips_optional_libraries():
    output = run("""
        print(threading.active_count())
        print(sorted({"torch", "einops", "ml_dtypes"}.intersection(sys.modules)))
    """)
    assert output.split("\n") == ["1", "[]", ""]


# Hundreds of thousands of small and failing calls, and hundreds of large ones.
MEMORY = """
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

x = np.arange(24, dtype="i4").reshape(2, 3, 4)
out = np.zeros((4, 3, 2), "i4")
large = np.zeros((1 << 10, 1 << 11), "i4")
lengths = np.ones((2, 1, 4), "u4")
chain = trundle.chain("a b c -> c b a")

def fails(call):
    try:
        call()
    except (ValueError, TypeError, IndexError):
        return
    raise AssertionError("it did not fail")
"""

REPEATED = {
    "roll": (1_000_000, "trundle.roll(x, 1)"),
    "out": (100_000, "trundle.transpose(x, out=out)"),
    "axes": (100_000, "trundle.roll(x, (1, 2), axis=(0, -1))"),
    "subclass": (100_000, "trundle.flip(x.view(np.recarray))"),
    "list": (100_000, "trundle.flip([1, 2, 3], axis=0)"),
    "dtype of fields": (100_000, "trundle.flip(np.zeros(3, [('a', 'u1'), ('b', 'f8')]))"),
    "reverse_subsequences": (100_000, "trundle.reverse_subsequences(x, lengths, axis=1)"),
    "copyto": (100_000, "trundle.copyto(out, x.T)"),
    "rearrange": (100_000, "trundle.rearrange(x, 'a (b c) d -> d (a c) b', b=3)"),
    "chain": (100_000, "chain(x)"),
    "new chains": (30_000, "trundle.chain('flip(0) | a b c -> c b a')(x)"),
    "plans": (30_000, "str(chain.plan(x))"),
    "other plans each time": (100_000, "trundle.roll(x, i, axis=(i % 3, (i + 1) % 3))"),
    "other shapes each time": (100_000, "trundle.flip(large[: i % 61, : i % 37 + 1])"),
    "axis error": (100_000, "fails(lambda: trundle.flip(x, axis=3))"),
    "type error": (100_000, "fails(lambda: trundle.roll(x, 1.5))"),
    "object error": (100_000, "fails(lambda: trundle.roll(objects, 1))"),
    "out error": (100_000, "fails(lambda: trundle.transpose(x, out=x))"),
    "pattern error": (30_000, "fails(lambda: trundle.rearrange(x, 'a b -> b a'))"),
    "chain error": (30_000, "fails(lambda: trundle.chain('flip(0) | nothing'))"),
    "large": (150, "trundle.transpose(large)"),
    "large in place": (150, "trundle.flip(large, out=large)"),
    "large of other sizes": (200, "trundle.roll(large[: 300 + i * 7 % 700], 1)"),
}


@linux
@pytest.mark.parametrize("name", REPEATED)
def test_repeated_calls_do_not_leak(name):
    times, call = REPEATED[name]
    times = times if ALL or times < 1000 else times // 5
    text = (
        MEMORY
        + f"""
objects = np.array([None])
def repeat(times):
    for i in range(times):
        {call}
repeat({times} // 4)
before = resident()
grown = []
# Buffers of large results are kept for a while, 50 MB of them on average and 90 at times. A leak grows each time.
for _ in range({3 if "other sizes" in name else 1}):
    repeat({times})
    grown.append(resident() - before)
print(min(grown))
"""
    )
    grown = int(run(text))
    # A leak of 16 bytes per call (80 in the short version), or of a tenth of the large results, would exceed this.
    assert grown < 1_500_000 if times > 1000 else grown < 100_000_000


@linux
def test_a_chain_keeps_few_plans():
    # Each plan holds a copy of x between its passes.
    text = MEMORY + """
lengths = [i * 37 % 200 + 3 for i in range(16)]
stages = [f"reverse(axis=1, lengths={lengths}, batch_axis=0)", "roll(1, 1)"] * 2
chain = trundle.chain(*stages)
assert chain.plan(np.zeros((16, 1 << 20), "u1")).scratch_bytes == 16 << 20
before = resident()
for i in range(100):
    chain(np.zeros((16, (1 << 20) + i), "u1"))
print(resident() - before)
"""
    # All plans together would hold 1600 MiB. Half of it is the margin for memory that the allocator keeps.
    assert int(run(text)) < 800 << 20


@linux
def test_arrays_of_other_libraries_do_not_leak():
    pytest.importorskip("array_api_strict")
    text = (
        MEMORY
        + f"""
import array_api_strict as xp
strict, strict_out = xp.asarray(x), xp.asarray(out)
def repeat(times):
    for i in range(times):
        trundle.flip(strict)
        trundle.transpose(strict, out=strict_out)
        fails(lambda: trundle.flip(strict, out=x))
repeat(2000)
before = resident()
repeat({30_000 if ALL else 10_000})
print(resident() - before)
"""
    )
    assert int(run(text)) < 1_500_000


def test_references_are_released():
    run("""
        x = np.zeros((2, 3, 4), dtype=[("a", "i4"), ("b", "u2")])
        out = np.zeros_like(x)
        axes, shifts, lengths = (2, 0, 1), (1, 2), np.ones((2, 1, 4), "u4")
        shift, big = 10**6, 10**40
        pattern = "a b c -> " + "b a c"
        chain = trundle.chain(pattern)
        objects = [x, x.dtype, out, axes, shifts, lengths, lengths.dtype, shift, big, pattern, chain]

        def failing(call):
            try:
                call()
            except (ValueError, TypeError):
                pass
            else:
                raise AssertionError

        def calls():
            trundle.roll(x, shift)
            trundle.roll(x, big)
            trundle.roll(x, shifts, axis=(0, 1), out=out)
            trundle.permute_dims(x, axes)
            trundle.transpose(x, axes)
            trundle.flip(x, out=out)
            trundle.reverse_subsequences(x, lengths, axis=1)
            trundle.ascontiguousarray(x, threads=1)
            trundle.copyto(out, x)
            trundle.moveaxis(x, axes, axes)
            trundle.fftshift(x, axes)
            trundle.rearrange(x, pattern)
            chain(x, out=out.reshape(3, 2, 4))
            chain.plan(x)
            failing(lambda: trundle.roll(x, shifts, axis=axes))
            failing(lambda: trundle.flip(x, axis=big))
            failing(lambda: trundle.permute_dims(x, axes, out=out))
            failing(lambda: trundle.flip(x, out=lengths))
            failing(lambda: trundle.reverse_subsequences(x, lengths, axis=0))
            failing(lambda: chain(lengths[0]))
            failing(lambda: trundle.rearrange(x, pattern, z=shift))

        calls()
        before = [sys.getrefcount(each) for each in objects]
        for _ in range(1000):
            calls()
        after = [sys.getrefcount(each) for each in objects]
        grown = {i: b - a for i, (a, b) in enumerate(zip(before, after)) if abs(b - a) > 20}
        assert not grown, grown
    """)


@posix
@pytest.mark.skipif(not ALL, reason="takes 40 s with an unoptimised wheel")
def test_ctrl_c_stops_tuning(tmp_path):
    """Signals are checked between trials."""
    text = """
        # A shell may have started the tests with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            trundle.tune()
        except KeyboardInterrupt:
            print("stopped")
    """
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-c", program(text)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
    assert list(tmp_path.iterdir()) == []
