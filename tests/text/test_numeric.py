"""numpy's stand-in is copied and pickled as what it stands for would be: it stays the one it is."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import pytest

from perfvcs.system.numeric import np

COPIES: list[Callable[[object], object]] = [
    copy.copy,
    copy.deepcopy,
    lambda module: pickle.loads(pickle.dumps(module)),
]


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_is_the_same_one(copied: Callable[[object], object]) -> None:
    assert copied(np) is np
    assert copied({"np": np}) == {"np": np}


def test_a_process_that_gets_it_imports_numpy_with_its_first_name() -> None:
    text = (
        "import pickle, sys\n"
        f"np = pickle.loads({pickle.dumps(np)!r})\n"
        "assert 'numpy' not in sys.modules\n"
        "print(np.arange(3).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", text], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[0, 1, 2]\n"
