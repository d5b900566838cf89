import numpy as np
import pytest

import arrays


@pytest.fixture
def rng():
    return np.random.default_rng(12345)


def name_of(dtype):
    return f"record of {dtype.itemsize} bytes" if dtype.names else str(dtype)


@pytest.fixture(params=arrays.DTYPES, ids=name_of)
def dtype(request):
    return request.param
