import itertools
import math

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsim.topology import Link, Topology

links = st.builds(Link, st.floats(1, 1e12), st.floats(0, 10))


def wired(*edges):
    graph = nx.Graph()
    for near, far, latency_s in edges:
        graph.add_edge(near, far, link=Link(latency_s=latency_s))
    return graph


@given(st.integers(0, 30), st.lists(links, min_size=1, max_size=5))
def test_a_star_has_its_devices_and_its_hops_in_order(num_devices, hops):
    wireless = Link(latency_s=0.25, wireless=True)
    star = Topology.star(num_devices, 0.25, hops)
    assert star.num_devices == num_devices
    assert [star.wireless(k) for k in range(num_devices)] == [wireless] * num_devices
    assert star.backhaul() == hops
    assert star.graph.number_of_nodes() == num_devices + len(hops) + 1


@given(st.lists(st.floats(0.01, 10), min_size=12, max_size=12))
def test_the_backhaul_takes_the_way_of_least_latency(latencies):
    ends = (Topology.BASE_STATION, Topology.EDGE_SERVER)
    between = ("a", "b", "c")
    pairs = list(itertools.combinations((*ends, *between), 2))
    latency = {frozenset(pair): s for pair, s in zip(pairs, latencies, strict=False)}
    graph = wired(*((*pair, latency[frozenset(pair)]) for pair in pairs))
    ways = [
        (ends[0], *middle, ends[1])
        for count in range(len(between) + 1)
        for middle in itertools.permutations(between, count)
    ]
    shortest = min(sum(latency[frozenset(hop)] for hop in itertools.pairwise(way)) for way in ways)
    taken = sum(link.latency_s for link in Topology(graph).backhaul())
    assert taken == pytest.approx(shortest, rel=1e-12)


def test_without_a_backhaul_the_edge_server_is_at_the_base_station():
    star = Topology.star(2)
    assert [link.is_free for link in star.backhaul()] == [True]
    assert star.wireless(1) == Link(wireless=True)


def test_wired_neighbours_of_the_base_station_are_not_devices():
    graph = wired(("base-station", "switch", 1.0), ("switch", "edge-server", 1.0))
    graph.add_edge(0, "base-station", link=Link(wireless=True))
    assert Topology(graph).num_devices == 1


def test_a_detour_of_two_fast_hops_beats_one_slow_hop():
    graph = wired(
        ("base-station", "edge-server", 5.0),
        ("base-station", "switch", 1.0),
        ("switch", "edge-server", 2.0),
    )
    assert [link.latency_s for link in Topology(graph).backhaul()] == [1.0, 2.0]


def test_a_link_is_free_only_if_it_is_neither_slow_nor_far():
    assert Link().is_free
    assert not Link(capacity_bps=1e9).is_free
    assert not Link(latency_s=1e-3).is_free


@pytest.mark.parametrize("capacity_bps", [0.0, -1.0, math.nan])
def test_a_link_that_carries_nothing_is_refused(capacity_bps):
    with pytest.raises(ValueError, match=f"capacity_bps must be > 0, got {capacity_bps}"):
        Link(capacity_bps=capacity_bps)


@pytest.mark.parametrize("latency_s", [-1e-9, math.nan])
def test_a_link_into_the_past_is_refused(latency_s):
    with pytest.raises(ValueError, match=f"latency_s must be >= 0, got {latency_s}"):
        Link(latency_s=latency_s)


@pytest.mark.parametrize("missing", ["base-station", "edge-server"])
def test_a_graph_without_an_end_is_refused(missing):
    graph = wired(("base-station", "edge-server", 0.0))
    graph.remove_node(missing)
    with pytest.raises(ValueError, match=f"must have a node '{missing}'"):
        Topology(graph)


def test_a_graph_in_two_parts_is_refused():
    graph = wired(("base-station", "a", 0.0), ("b", "edge-server", 0.0))
    with pytest.raises(ValueError, match="connect the base station to the edge server"):
        Topology(graph)
