import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fl.models import pruned_weights, seconds_to_send


@given(st.integers(1, 10**7), st.data())
def test_a_ratio_made_of_whole_weights_prunes_just_these(weights, data):
    pruned = data.draw(st.integers(0, weights))
    assert pruned_weights(np.array([pruned / weights]), weights)[0] == pruned


@given(st.floats(0, 1), st.integers(1, 10**7))
def test_a_ratio_prunes_the_next_whole_number_up(ratio, weights):
    pruned = int(pruned_weights(np.array([ratio]), weights)[0])
    exact = ratio * weights
    assert exact - 1e-4 <= pruned < exact + 1
    assert 0 <= pruned <= weights


def test_sending_nothing_takes_no_time_and_sending_at_no_rate_takes_for_ever():
    bits, rate_bps = np.array([0, 0, 5, 5]), np.array([0.0, 2.0, 0.0, 2.0])
    assert seconds_to_send(bits, rate_bps).tolist() == [0, 0, math.inf, 2.5]
