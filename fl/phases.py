"""What a device does in a round, and how it comes out of it."""

#: What a device does in a round, in this order. What it sends in vain comes before what arrives.
PHASES = (
    *("broadcast", "personal", "warmup", "prune", "global"),
    *("lost", "upload", "backhaul", "offline", "wait"),
)
BROADCAST, PERSONAL, WARMUP, PRUNE, GLOBAL, LOST, UPLOAD, BACKHAUL, OFFLINE, WAIT = range(
    len(PHASES)
)

#: How it comes out: it has arrived; the server did not wait for it any longer; it went offline; it
#: has lost its upload too often.
OUTCOMES = ("arrived", "cut", "offline", "lost")
ARRIVED, CUT, GONE, GIVEN_UP = range(len(OUTCOMES))
