import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

from mlx_gpt.device import (
    CACHE_LIMIT,
    LINUX,
    MOST_STREAMS,
    advice,
    blas,
    can_compile,
    candidates,
    choose,
    compiles_step,
    cores,
    describe,
    files_in,
    has_gpu,
    limits,
    memory,
    mkl_folders,
    mx,
    physical_memory,
    streams,
    wired,
    wired_limit,
)

import pytest

from mlx_gpt.errors import UserError

ROOT = Path(__file__).parent.parent
linux = pytest.mark.skipif(not LINUX, reason="macOS has one BLAS, Accelerate")
gpu_missing = pytest.mark.skipif(has_gpu(), reason="there is a GPU")


def child(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def info(**variables: str) -> dict[str, dict[str, object]]:
    code = "from mlx_gpt.cli import main; main(['info', '--json', '--device', 'cpu'])"
    return json.loads(child(code, **variables).stdout)


def test_the_chosen_device_is_the_one_that_computes():
    assert choose("cpu") == "cpu" == describe().kind
    assert mx.default_device() == mx.Device(mx.cpu)
    assert choose("auto") == describe().kind == ("gpu" if has_gpu() else "cpu")


@gpu_missing
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="--device gpu: MLX finds no GPU"):
        choose("gpu")


def test_a_cpu_keeps_freed_buffers_for_the_next_step():
    choose("cpu")
    limit = min(CACHE_LIMIT, physical_memory() // 4)
    assert mx.set_cache_limit(limit) == limit > 32 * 2**20
    choose("auto")


def test_memory_counts_what_arrays_hold():
    before = memory()
    held = mx.zeros((1024, 1024))
    mx.eval(held)
    after = memory()
    assert after.active - before.active == held.nbytes
    assert after.peak >= after.active
    assert after.limit == describe().memory_bytes > after.active


def test_the_limit_of_a_cpu_is_the_memory_of_the_machine():
    choose("cpu")
    assert memory().limit == physical_memory()
    choose("auto")


def test_the_limits_in_force_are_told_and_left_as_they_are():
    choose("cpu")
    told = limits()
    assert told == limits()
    assert told.cache == min(CACHE_LIMIT, physical_memory() // 4)
    assert told.memory == mx.get_memory_limit() > 0
    assert told.wired == wired_limit() == 0  # a CPU has no such thing
    choose("auto")


def test_memory_is_wired_only_where_the_device_says_how_much():
    with wired():
        inside = mx.set_wired_limit(wired_limit())
    assert inside == wired_limit()
    assert mx.set_wired_limit(0) == 0


def test_kernels_are_known_once_they_were_compiled(tmp_path: Path):
    code = """if True:
        from mlx_gpt.device import *
        choose("cpu")
        def known():
            remember_kernels("x")
            return compiles_decoding("x")
        print(compiles_decoding("x"), known())  # no folder of kernels, so there are none
        kernel_mark("x").parent.mkdir(parents=True)
        print(known())  # the compiler is switched off
        del os.environ["MLX_DISABLE_COMPILE"]
        print(known(), compiles_decoding("x", False))
    """
    found = child(code, TMPDIR=str(tmp_path), MLX_DISABLE_COMPILE="1").stdout.split()
    assert found == ["False", "False", "False", str(can_compile()), "False"]


@linux
def test_sampling_takes_mkl_where_it_can_and_training_openblas():
    if not any(folder.glob("libmkl_rt.so.*") for folder in mkl_folders()):
        pytest.skip("MKL is not installed")
    code = "from mlx_gpt.device import candidates; print(next(candidates())[0])"
    assert child(code, MLX_GPT_COMMAND="sample").stdout == "MKL\n"
    assert child(code, MLX_GPT_COMMAND="train").stdout == "OpenBLAS\n"


def test_a_step_is_compiled_on_a_gpu_or_when_asked():
    assert not compiles_step("off", math.inf)
    choose("cpu")
    assert not compiles_step("auto", 1e9)
    choose("auto")
    assert compiles_step("auto", 1e9) == has_gpu()


LONG_RUN = """
import mlx_gpt.device as device
device.choose("cpu")
try:
    print(*(device.compiles_step(*case) for case in [("auto", 6e11), ("auto", 6e12), ("on", 0)]))
except device.UserError as error:
    print(error)
"""


@linux
@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_on_a_cpu_a_long_run_is_compiled_and_a_short_one_is_not():
    done = child(f"import os; os.environ.pop('MLX_DISABLE_COMPILE', 0)\n{LONG_RUN}")
    assert done.stdout.split() == ["False", "True", "True"]
    assert child(LONG_RUN, MLX_DISABLE_COMPILE="1").stdout.split() == ["False", "False", "True"]


@linux
def test_without_a_compiler_nothing_is_compiled_unasked_and_what_is_asked_is_refused():
    done = child(f"import os; os.environ['PATH'] = '/nowhere'\n{LONG_RUN}")
    assert done.stdout == (
        "compiling for a CPU takes g++, which is not installed; apt install g++\n"
    )


def test_streams_share_the_cores_and_the_threads_of_the_blas():
    choose("cpu")
    assert len(streams(1)) == 1
    assert len(streams(99)) == (min(cores(), MOST_STREAMS) if LINUX else 1)
    assert streams(99) == streams(99)
    assert streams(99)[0] == mx.default_stream(mx.Device(mx.cpu))
    choose("auto")


BLAS_THREADS = """
from mlx_gpt.device import blas, blas_threads, threads_of
threads = threads_of(blas.path)
threads.set(2)
with blas_threads(2):
    print(threads.get())
with blas_threads(1):
    print(threads.get())
print(threads.get())
"""


@linux
@pytest.mark.skipif(cores() < 2, reason="there is one core")
def test_streams_have_fewer_threads_of_the_blas_each_and_give_them_back():
    for library in {blas.path, *(path for _, path in candidates())}:
        done = child(BLAS_THREADS, MLX_GPT_BLAS=library)
        if "no BLAS" not in done.stderr:
            assert done.stdout.split() == ["1", "2", "2"], library


def test_a_fast_blas_needs_no_advice():
    assert not blas.fast or not can_compile() or advice() == []


@linux
@pytest.mark.skipif(not blas.fast, reason="there is something worse to tell")
def test_without_a_compiler_the_advice_says_what_it_is_good_for():
    code = "from mlx_gpt.device import *; choose('cpu'); print(*advice())"
    done = child(f"import os; os.environ['PATH'] = '/nowhere'; {code}")
    assert "apt install g++" in done.stdout


@linux
def test_without_a_fast_blas_the_advice_says_how_to_get_one():
    slow = info(MLX_GPT_BLAS="none")
    assert slow["blas"]["name"] == "reference"
    assert not slow["blas"]["fast"]
    assert "apt install libopenblas0" in str(slow["advice"])


@linux
@pytest.mark.skipif(not blas.fast, reason="there is no fast BLAS to compare with")
def test_mlx_computes_with_the_blas_that_was_loaded():
    fast, slow = info(), info(MLX_GPT_BLAS="none")
    assert float(str(fast["blas"]["gflops"])) > 3 * float(str(slow["blas"]["gflops"]))


@linux
def test_mlx_imported_first_is_told_apart():
    done = child("import mlx.core; from mlx_gpt.device import *; print(blas.fast, advice())")
    assert done.stdout.startswith("False")
    assert "import mlx_gpt.device first" in done.stdout


@linux
@pytest.mark.parametrize("path", ["/nowhere/libblas.so", "libm.so.6"])
def test_a_named_blas_that_is_none_is_refused(path: str):
    done = child("import mlx_gpt.device", MLX_GPT_BLAS=path)
    assert f"MLX_GPT_BLAS = {path} is no BLAS that can be loaded" in done.stderr


@linux
def test_mkl_is_found_where_pip_puts_it_and_adds_in_one_order():
    found = [path for folder in mkl_folders() for path in folder.glob("libmkl_rt.so.*")]
    if not found:
        pytest.skip("MKL is not installed")
    code = "from mlx_gpt.device import blas; import os; print(blas.path, os.environ['MKL_CBWR'])"
    done = child(code, MLX_GPT_BLAS=str(found[0]))
    assert done.stdout.split() == [str(found[0].resolve()), "AUTO"]


@pytest.mark.parametrize("fault", ["libmlx.so: cannot open shared object file", "no backend"])
def test_an_mlx_that_cannot_be_loaded_names_the_install_line(tmp_path: Path, fault: str):
    (tmp_path / "mlx").mkdir()
    (tmp_path / "mlx" / "__init__.py").touch()
    (tmp_path / "mlx" / "core.py").write_text(f"raise ImportError({fault!r})")
    code = "import sys; from mlx_gpt.cli import main; sys.exit(main(['info']))"
    done = child(code, PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"mlx-gpt: MLX cannot be loaded ({fault}); pip install ")
    assert done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_looked_into_holds_no_library(tmp_path: Path):
    assert files_in(tmp_path / "none") == []
    (tmp_path / "file").touch()
    assert files_in(tmp_path / "file") == []
    assert files_in(tmp_path) == [tmp_path / "file"]
