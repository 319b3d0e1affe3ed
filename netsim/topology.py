"""Who is connected to whom: devices, base station, edge server, and the links between.

The graph says what a network looks like. What its links *do* is in `uplink` (wireless,
one band shared by the devices of a base station) and in `wire` (wired, first come first
served).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import networkx as nx


@dataclass(frozen=True)
class Link:
    """An edge: how many bits a second it carries, and how long one bit travels.

    A wireless edge has no capacity of its own: its rate is what the channel and the
    share of the band give at the time.
    """

    capacity_bps: float = math.inf
    latency_s: float = 0.0
    wireless: bool = False

    def __post_init__(self) -> None:
        if not self.capacity_bps > 0:
            raise ValueError(f"capacity_bps must be > 0, got {self.capacity_bps}")
        if not self.latency_s >= 0:
            raise ValueError(f"latency_s must be >= 0, got {self.latency_s}")

    @property
    def is_free(self) -> bool:
        """Whether it carries anything in no time."""
        return math.isinf(self.capacity_bps) and self.latency_s == 0


Graph: TypeAlias = "nx.Graph[int | str]"


class Topology:
    """A network of devices, one base station, and the edge server behind it.

    Nodes are the device numbers from 0, ``"base-station"``, ``"edge-server"``, and any
    others that the wired way between the two passes. Every edge holds its `Link`.
    """

    BASE_STATION = "base-station"
    EDGE_SERVER = "edge-server"

    def __init__(self, graph: Graph) -> None:
        for node in (self.BASE_STATION, self.EDGE_SERVER):
            if node not in graph:
                raise ValueError(f"graph must have a node {node!r}")
        if not nx.has_path(graph, self.BASE_STATION, self.EDGE_SERVER):
            raise ValueError("graph must connect the base station to the edge server")
        self.graph = graph

    @classmethod
    def star(
        cls, num_devices: int, wireless_latency_s: float = 0.0, backhaul: Sequence[Link] = ()
    ) -> Self:
        """Return devices around one base station, with wired hops to the edge server.

        Args:
            num_devices: How many devices.
            wireless_latency_s: Of the edge of every device.
            backhaul: One link a hop; none at all is a hop that takes no time.
        """
        hops = tuple(backhaul) or (Link(),)
        nodes = [cls.BASE_STATION, *(f"switch-{i}" for i in range(1, len(hops))), cls.EDGE_SERVER]
        graph: Graph = nx.Graph()
        for near, far, link in zip(nodes[:-1], nodes[1:], hops, strict=True):
            graph.add_edge(near, far, link=link)
        edge = Link(latency_s=wireless_latency_s, wireless=True)
        graph.add_edges_from(((k, cls.BASE_STATION) for k in range(num_devices)), link=edge)
        return cls(graph)

    @property
    def num_devices(self) -> int:
        """How many devices hang on the base station."""
        neighbours = self.graph.adj[self.BASE_STATION].values()
        return sum(1 for edge in neighbours if edge["link"].wireless)

    def wireless(self, device: int) -> Link:
        """Return the edge between *device* and the base station."""
        link: Link = self.graph.edges[device, self.BASE_STATION]["link"]
        return link

    def backhaul(self) -> list[Link]:
        """Return the wired hops to the edge server, along the way of least latency."""
        nodes = nx.shortest_path(
            self.graph,
            self.BASE_STATION,
            self.EDGE_SERVER,
            weight=lambda _near, _far, edge: edge["link"].latency_s,
        )
        return [self.graph.edges[pair]["link"] for pair in itertools.pairwise(nodes)]
