import math

import pytest
from simpy import Environment

from netsim.channel import Constant, ConstantInNoise
from netsim.redistribution import RedistributedUplink
from netsim.uplink import HeldUplink


def seconds_of(uplink, env, device, bits):
    done = uplink.send(device, bits)
    return env.run(done)


def test_each_device_sends_on_the_channel_of_its_share():
    env = Environment()
    uplink = HeldUplink(env, 1e6, [ConstantInNoise(0.75), ConstantInNoise(0.75), Constant(1.0)])
    for shares in ([0.25, 0.05, 0.5], [0.05, 0.25, 0.5]):  # 2 and 4 bit/s/Hz
        uplink.allot(shares)
        for device, share in enumerate(shares):
            efficiency = {0.25: 2.0, 0.05: 4.0, 0.5: 1.0}[share]
            seconds = seconds_of(uplink, env, device, 1e6)
            assert seconds == pytest.approx(1 / (share * efficiency), rel=1e-12, abs=0)


def test_without_a_share_nothing_is_ever_sent():
    env = Environment()
    uplink = HeldUplink(env, 1e6, [ConstantInNoise(1.0)])
    uplink.allot([0.0])
    done = uplink.send(0, 1.0)
    env.run()
    assert not done.triggered
    assert uplink.cut(0) == 0


def test_channels_that_do_not_depend_on_the_share_are_used_as_they_are():
    class Asked(Constant):
        def at_share(self, share):
            raise AssertionError(share)

    env = Environment()
    uplink = HeldUplink(env, 1.0, [Asked(2.0)])
    uplink.allot([0.5])
    assert seconds_of(uplink, env, 0, 3.0) == 3.0


def test_shares_cannot_be_given_on_where_the_noise_depends_on_them():
    with pytest.raises(ValueError, match="channels must not depend on the share"):
        RedistributedUplink(Environment(), 1e6, [Constant(1.0), ConstantInNoise(1.0)])


@pytest.mark.parametrize("bandwidth_hz", [0.0, -1.0, math.nan, math.inf])
def test_a_band_has_a_width(bandwidth_hz):
    with pytest.raises(ValueError, match="bandwidth_hz must be > 0"):
        HeldUplink(Environment(), bandwidth_hz, [])
