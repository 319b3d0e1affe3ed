"""Whether a Ray cluster is behind an address, in moments.

Ray itself tries for minutes, and tells the terminal all about it.
"""

import socket
import subprocess
import sys

from netsim.errors import InputError

_TIMEOUT_S = 5.0
_STATUS_TIMEOUT_S = 30.0
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""How a client of HTTP/2 begins, which Ray speaks: RFC 9113, section 3.4."""
_SETTINGS = 4
"""The kind of frame with which a server answers; the fourth byte of nine."""


def check_address(address: str, key: str) -> None:
    """Look whether something is there that speaks as Ray does; Ray need not be imported.

    Args:
        address: HOST:PORT.
        key: Where it was given, for messages.

    Raises:
        InputError: It is no address, nothing is there, or something else.
    """
    host, _, port = address.rpartition(":")
    if not host.strip("[]") or not port.isdecimal() or not 0 < int(port) < 2**16 or "/" in host:
        raise InputError(f"{key}: must be HOST:PORT of a Ray cluster's head, got {address!r}")
    place = f"{key}: {address}"
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"{place}: cannot be reached: {_told(error)}; is the cluster up (ray status), and is "
            "this the address that ray start --head has printed?"
        ) from None
    with connection:
        try:
            connection.sendall(_HELLO)
            answer = connection.recv(9)
        except OSError:
            answer = b""
    if len(answer) < 9 or answer[3] != _SETTINGS:
        raise InputError(f"{place}: something answers there, but it is not the head of a cluster")


def check_status(address: str) -> None:
    """Have a process ask the cluster for its status: it can be ended if there is no answer.

    Raises:
        InputError: There is none, or not for us.
    """
    code = "from ray.scripts.scripts import main; main()"
    command = [sys.executable, "-P", "-c", code, "status", "--address", address]
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, timeout=_STATUS_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"--address: {address}: no Ray cluster has answered within {_STATUS_TIMEOUT_S:g} s"
        ) from None
    if "AuthenticationError" in asked.stderr:
        raise InputError(
            f"--address: {address}: the cluster asks for a token; set RAY_AUTH_MODE=token, and "
            "have the token where Ray looks for it (ray get-auth-token)"
        )
    if asked.returncode:
        said = asked.stderr.strip().splitlines() or ["ray status has failed"]
        raise InputError(f"--address: {address}: {said[-1]}")


def _told(error: OSError | UnicodeError) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {_TIMEOUT_S:g} s"
    return getattr(error, "strerror", None) or str(error)
