"""What every test needs before MLX is imported."""

import asyncio
import gc
import inspect
import os
import signal

import pytest

# A compiled kernel costs a CPU seconds, and TF32 would blur what a GPU is compared with.
os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
os.environ["MLX_ENABLE_TF32"] = "0"
os.environ["LC_ALL"] = "C.UTF-8"  # messages are compared in English
os.environ |= {"COLORTERM": "truecolor", "TERM": "xterm-256color", "TEXTUAL_ANIMATIONS": "none"}
os.environ.pop("NO_COLOR", None)  # the app is drawn the same whoever runs the tests

from mlx_gpt.device import choose  # before any test imports MLX, since it loads a fast BLAS

choose("auto")

# A shell's job in the background ignores Ctrl-C, and so would every process that a test begins.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Token files of the tests go to a folder of their own."""
    os.environ["MLX_GPT_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests, which drive the app through Textual's Pilot."""
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    names = inspect.signature(pyfuncitem.function).parameters
    asyncio.run(pyfuncitem.function(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores, for the tests of the app often wait."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """Let no collection of garbage look through modules and tests, which stay until the end."""
    gc.collect()
    gc.freeze()
