"""The device, its memory and its limits: everything that differs between machines.

Every module takes MLX from here (`from mlx_gpt.device import mx`), because on Linux a fast
BLAS has to be in the process before MLX is.
"""

import ctypes
import functools
import importlib.util
import os
import shutil
import site
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from mlx_gpt.errors import UserError
from mlx_gpt.language import say

LINUX = os.uname().sysname == "Linux"
X86 = os.uname().machine == "x86_64"
LATE = "mlx.core" in sys.modules  # MLX binds to a BLAS when it is loaded, and never again
PLAIN_FLOPS = 3e10  # a second, of a training step that is not compiled on two cores
WORTH_COMPILING = 60.0  # seconds of training without it
MOST_STREAMS = 4  # beyond it the thread that hands out the work cannot keep up
CACHE_LIMIT = 2 * 2**30  # MLX keeps 32 MB of freed buffers on a CPU, less than one training step


class Blas(NamedTuple):
    """The library that multiplies matrices on the CPU."""

    name: str
    path: str
    fast: bool


class Memory(NamedTuple):
    """Bytes of the device: in use, most so far, kept for reuse, and what it can hold."""

    active: int
    peak: int
    cached: int
    limit: int


class Device(NamedTuple):
    """The device that computes."""

    kind: Literal["gpu", "cpu"]
    name: str
    memory_bytes: int
    cores: int


def mkl_folders() -> Iterator[Path]:
    """Where pip may have put MKL: the `lib` of this environment, or the one that holds MLX."""
    yield Path(sys.prefix) / "lib"
    yield Path(site.getuserbase()) / "lib"
    spec = importlib.util.find_spec("mlx")
    for folder in (spec and spec.submodule_search_locations) or ():
        yield from Path(folder).parents[2:3]  # lib/python3.11/site-packages/mlx


def files_in(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where one may not look."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def candidates() -> Iterator[tuple[str, str]]:
    """Names and files of the BLAS libraries worth trying, best first."""
    mkl = [
        ("MKL", str(path))
        for folder in mkl_folders()
        for path in sorted(files_in(folder), reverse=True)
        if path.name.startswith("libmkl_rt.so.")
    ]
    openblas = [("OpenBLAS", "libopenblas.so.0")]
    # Sampling multiplies by vectors, at which MKL is up to four times faster.
    sampling = os.environ.get("MLX_GPT_COMMAND") == "sample"
    yield from mkl + openblas if sampling else openblas + mkl


def loaded_path(library: str) -> str:
    """The file from which a library of that name was loaded into this process."""
    name = Path(library).name.split(".")[0]
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = line.partition("/")[2]
        if Path(path).name.startswith(name):
            return f"/{path}"
    return library


def try_blas(name: str, library: str) -> Blas | None:
    """Load a BLAS so that MLX binds to it, or None when there is none of that name."""
    try:
        loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
    if not hasattr(loaded, "cblas_sgemm"):
        return None
    return Blas(name, loaded_path(library), fast=True)


def preload() -> Blas:
    """Put a fast BLAS before the reference BLAS that MLX's Linux wheel links."""
    if not LINUX:
        return Blas("Accelerate", "", fast=True)
    wanted = os.environ.get("MLX_GPT_BLAS", "")
    if LATE or wanted == "none":
        return Blas("reference", "", fast=False)
    # MKL then sums in the same order wherever a buffer lies, so that a resumed run is exact.
    os.environ.setdefault("MKL_CBWR", "AUTO")
    # Between products the threads of a BLAS are to sleep, not to spin on the cores that MLX needs:
    # those of the OpenBLAS that NumPy brings slow down MLX and NumPy in turns ten times.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    os.environ.setdefault("KMP_BLOCKTIME", "1")  # MKL: milliseconds
    for name, library in [(Path(wanted).name, wanted)] if wanted else candidates():
        if blas := try_blas(name, library):
            return blas
    if wanted:
        raise UserError(
            f"MLX_GPT_BLAS = {wanted} is no BLAS that can be loaded; "
            "name a library such as libopenblas.so.0, or none"
        )
    return Blas("reference", "", fast=False)


blas = preload()
try:
    import mlx.core as mx
except ImportError as error:
    lines = "'mlx-gpt[cpu]' (or 'mlx-gpt[cuda12]' with an NVIDIA GPU)" if LINUX else "mlx"
    raise UserError(f"MLX cannot be loaded ({error}); pip install {lines}") from error


def physical_memory() -> int:
    """Bytes of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def has_gpu() -> bool:
    """Whether MLX can compute on a GPU here."""
    return mx.is_available(mx.gpu)


def kind() -> Literal["gpu", "cpu"]:
    """The device that computes when none is named."""
    return "gpu" if mx.default_device() == mx.Device(mx.gpu) else "cpu"


def is_asynchronous() -> bool:
    """Whether the host is free while the device computes; a CPU is busy with handing out work."""
    return kind() == "gpu"


def choose(name: str) -> str:
    """Compute on "gpu", "cpu", or the better one for "auto"; returns which it is."""
    if name == "gpu" and not has_gpu():
        remedy = "; pip install 'mlx-gpt[cuda12]' if it has an NVIDIA GPU" if LINUX else ""
        raise UserError(f"--device gpu: MLX finds no GPU on this machine{remedy}, or use cpu")
    if name == "cpu" or not has_gpu():
        mx.set_default_device(mx.Device(mx.cpu))
        mx.set_cache_limit(min(CACHE_LIMIT, physical_memory() // 4))
    else:
        mx.set_default_device(mx.Device(mx.gpu))
    return kind()


@functools.cache
def further_stream(_: int) -> mx.Stream:
    """A stream beside the default one, the same for the same number."""
    return mx.new_stream(mx.Device(mx.cpu))


def cores() -> int:
    """Processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def widen_layers() -> None:
    """Let MLX order a graph in layers wide enough for streams to run abreast; 20 are too few.

    It looks once, at its first evaluation. Wider layers keep more arrays alive.
    """
    os.environ.setdefault("MLX_BFS_MAX_WIDTH", "1000")


def streams(most: int) -> list[mx.Stream]:
    """The streams, at most so many, that share a training step.

    MLX uses one core for everything but matrix products on a Linux CPU: two streams use two.
    """
    first = mx.default_stream(mx.default_device())
    count = min(most, cores(), MOST_STREAMS) if LINUX and kind() == "cpu" else 1
    if count > 1:
        widen_layers()
    return [first, *(further_stream(i) for i in range(1, count))]


class Threads(NamedTuple):
    """How a BLAS is asked for the number of its threads, and told."""

    get: Callable[[], int]
    set: Callable[[int], None]


@functools.cache
def threads_of(library: str) -> Threads | None:
    """The functions of OpenBLAS or MKL, whichever it is."""
    for getter, setter in (
        ("openblas_get_num_threads", "openblas_set_num_threads"),
        ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ):
        loaded = ctypes.CDLL(library)
        if hasattr(loaded, setter):
            return Threads(getattr(loaded, getter), getattr(loaded, setter))
    return None


@contextmanager
def blas_threads(n_streams: int) -> Iterator[None]:
    """Share the threads of the BLAS between streams that multiply at the same time."""
    threads = threads_of(blas.path) if n_streams > 1 and blas.path else None
    if threads is None:
        yield
        return
    before = threads.get()
    threads.set(max(1, before // n_streams))
    try:
        yield
    finally:
        threads.set(before)


def memory_limit() -> int:
    """Bytes the device can hold: a GPU says it itself, a CPU has the machine's memory."""
    facts = mx.device_info()
    for key in ("max_recommended_working_set_size", "total_memory", "memory_size"):
        if value := int(facts.get(key, 0)):
            return value
    return physical_memory()


def memory() -> Memory:
    """What MLX holds right now."""
    return Memory(
        active=mx.get_active_memory(),
        peak=mx.get_peak_memory(),
        cached=mx.get_cache_memory(),
        limit=memory_limit(),
    )


def describe() -> Device:
    """The device that computes now."""
    facts = mx.device_info()
    return Device(
        kind=kind(),
        name=str(facts.get("device_name") or facts.get("architecture") or kind()),
        memory_bytes=memory_limit(),
        cores=os.cpu_count() or 1,
    )


def kernel_mark(name: str) -> Path:
    """A file beside the kernels that MLX compiled for this CPU, there once those of `name` are."""
    version = vars(mx)["__version__"]
    return Path(tempfile.gettempdir()) / "mlx" / version / "cpu" / f"mlx_gpt_{name}"


def can_compile() -> bool:
    """Whether MLX can compile here: on a CPU it needs g++."""
    return kind() == "gpu" or shutil.which("g++") is not None


def check_compiler() -> None:
    """Refuse to compile where there is nothing to compile with."""
    if not can_compile():
        raise UserError("compiling for a CPU takes g++, which is not installed; apt install g++")


def fast_precision(
    asked: Literal["float32", "bfloat16"],
) -> Literal["float32", "bfloat16"]:
    """What training had better compute in here: a CPU multiplies float32 forty times faster."""
    return "float32" if kind() == "cpu" else asked


def compiles_step(setting: Literal["auto", "on", "off"], flops: float) -> bool:
    """Whether training compiles its whole step, for a run of so many FLOPs.

    On a CPU that costs seconds of g++, once per machine: it pays for a run that would take more
    than about a minute without.
    """
    if setting == "on":
        check_compiler()
    if setting != "auto" or kind() == "gpu":
        return setting != "off"
    able = LINUX and can_compile() and "MLX_DISABLE_COMPILE" not in os.environ
    return able and flops > WORTH_COMPILING * PLAIN_FLOPS


def compiles_decoding(name: str, wanted: bool | None = None) -> bool:
    """Whether sampling compiles a part of its step, whose kernels have that name.

    On a CPU they cost seconds of g++ once per machine: unless wanted, only after that.
    """
    if wanted:
        check_compiler()
    known = kind() == "gpu" or (can_compile() and kernel_mark(name).exists())
    return known if wanted is None else wanted


def remember_kernels(name: str) -> None:
    """From now on the kernels of that name are known to be compiled on this machine."""
    if kernel_mark(name).parent.is_dir() and "MLX_DISABLE_COMPILE" not in os.environ:
        kernel_mark(name).touch()


def wired_limit() -> int:
    """Bytes that may stay wired to memory while training; 0 where there is no such thing."""
    return int(mx.device_info().get("max_recommended_working_set_size", 0))


class Limits(NamedTuple):
    """Bytes that MLX may allocate, keep when freed, and wire to memory while training."""

    memory: int
    cache: int
    wired: int


def limits() -> Limits:
    """The limits in force; MLX tells that of its cache only when it is set."""
    cache = mx.set_cache_limit(CACHE_LIMIT)
    mx.set_cache_limit(cache)
    return Limits(mx.get_memory_limit(), cache, wired_limit())


@contextmanager
def wired() -> Iterator[None]:
    """Keep the working set in memory meanwhile, where the system can (macOS 15)."""
    if not (limit := wired_limit()):
        yield
        return
    before = mx.set_wired_limit(limit)
    try:
        yield
    finally:
        mx.synchronize()
        mx.set_wired_limit(before)


def compiler_advice() -> str:
    """What a compiler is good for."""
    return say(
        "training takes about twice as long without g++, with which MLX fuses its operations; "
        "apt install g++",
        "el entrenamiento tarda más o menos el doble sin g++, con el que MLX fusiona sus "
        "operaciones; apt install g++",
    )


def advice() -> list[str]:
    """What is slow on this machine, and how to make it fast; empty when all is well."""
    if kind() == "gpu":
        return []
    if blas.fast:
        return [] if can_compile() or not LINUX else [compiler_advice()]
    if LATE:
        return [
            say(
                "MLX multiplies matrices 10 to 30 times too slowly, because mlx.core was imported "
                "before mlx_gpt.device; import mlx_gpt.device first",
                "MLX multiplica matrices de 10 a 30 veces más despacio, porque mlx.core se importó "
                "antes que mlx_gpt.device; importa antes mlx_gpt.device",
            )
        ]
    remedies = ["pip install mkl"] * X86 + ["apt install libopenblas0"]
    return [
        say(
            "MLX multiplies matrices 10 to 30 times too slowly with its reference BLAS; "
            + " or ".join(remedies),
            "MLX multiplica matrices de 10 a 30 veces más despacio con su BLAS de referencia; "
            + " o ".join(remedies),
        )
    ]
