"""Limits fit together."""

import pytest

from headway.errors import ConfigError
from headway.serve.limits import Limits


def test_limits_fit_together():
    with pytest.raises(ConfigError, match="limit beam = 0: expected a number above 0"):
        Limits(beam=0)
    with pytest.raises(ConfigError, match="5 texts may wait but a request may have 8"):
        Limits(texts=8, queue=5)
