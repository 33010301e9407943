"""The process ends, or forks, while other threads compile."""


import pytest
from processes import run_code

THREADS = 6
RUNS = 4  # of each way to end; where exit() destroys what threads still read, every second one crashes

PROGRAM = """
import ctypes, os, random, sys, threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np, frameloom

way, seed, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)
a, b = np.random.rand(2, 300, 200)

def program():
    lines = [f"    a = np.{chance.choice(['sin', 'cos', 'exp', 'tanh', 'abs'])}(a) {chance.choice('+*-')} "
             f"{chance.random()} * b.sum(axis={chance.randint(0, 1)}, keepdims=True)" for _ in range(chance.randint(3, 20))]
    names = {"np": np}
    exec("def f(a, b):\\n" + "\\n".join(lines) + "\\n    return a", names)
    return frameloom.compile(names["f"])

called = threading.Semaphore(0)

def work(most=None):
    while most is None or most > 0:
        with np.errstate(all="ignore"):
            called.release()
            program()(a, b)
        most = None if most is None else most - 1

def start(daemon=True, *args):
    for _ in range(threads):
        threading.Thread(target=work, args=args, daemon=daemon).start()
    for _ in range(threads if args else threads + chance.randint(0, 3 * threads)):  # most have begun to compile
        called.acquire()

if way == "return":
    start()
elif way == "sys.exit":
    start()
    sys.exit(5)
elif way == "exit":
    start()
    ctypes.CDLL(None).exit(5)
elif way == "wait":
    start(False, 1)
elif way == "pool":
    pool = ThreadPoolExecutor(threads)
    for _ in range(threads):
        pool.submit(work, 1)
    pool.shutdown(wait=False, cancel_futures=True)
elif way == "atexit":
    import atexit
    atexit.register(work, 1)
    start()
elif way == "fork":
    start()
    child = os.fork()
    work(1)
    if not child:
        sys.exit(5)
    status = os.waitpid(child, 0)[1]
    sys.exit(os.waitstatus_to_exitcode(status))
"""
ENDS = {"return": 0, "sys.exit": 5, "exit": 5, "wait": 0, "pool": 0, "atexit": 0, "fork": 5}


@pytest.mark.parametrize("way", ENDS)
def test_the_process_ends_while_threads_compile(way):
    for seed in range(RUNS):
        done = run_code(PROGRAM, way, seed, THREADS, options=["-X", "faulthandler"],
                        environment={"FRAMELOOM_CACHE": "0", "OMP_NUM_THREADS": "3"})
        assert (done.returncode, done.stderr) == (ENDS[way], ""), done.stderr[-3000:]
