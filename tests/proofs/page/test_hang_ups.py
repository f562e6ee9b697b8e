"""Browsers that go away in the middle of a download, and some that read nothing. Minutes.

`python tests/proofs/page/hang_ups.py --clients 1000` lets more of them come.
"""

import sys

import pytest

from proofs.page.hang_ups import attack

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


def test_the_page_holds_nothing_of_browsers_that_hang_up_and_answers_the_others() -> None:
    assert attack(clients=300, at_once=25, seed=0) == []
