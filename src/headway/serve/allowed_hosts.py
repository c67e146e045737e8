"""The `Host` headers that the server answers, against DNS rebinding.

A web page can point a name of its own at this machine, and a browser then lets the page read the
answers. Such a request carries the page's name in `Host`; an address cannot be redirected so.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address

from .errors import ProblemError

LOCAL = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::")
ANY = "*"


class AllowedHosts:
    """Checks `Host` headers.

    Args:
        listening: the address or name that the server listens on. A wildcard address allows every
            IP address, because the machine may have several.
        others: further names; `*` allows all.
    """

    def __init__(self, listening: str, others: Iterable[str] = ()) -> None:
        self._names = frozenset(map(_normalized, (*LOCAL, listening, *others)))
        self._allows_addresses = listening in WILDCARDS

    def check(self, headers: Sequence[bytes]) -> None:
        """Refuses a request with another host; no browser leaves the header out.

        Args:
            headers: the values of all `Host` headers of the request.

        Raises:
            ProblemError: with the remedy.
        """
        if len(headers) > 1:
            raise ProblemError("malformed", "the request has several Host headers; send one")
        for header in headers:
            name = host_name(header.decode("latin-1"))
            if not self._allows(name):
                shown = ascii(name[:60])[1:-1]
                raise ProblemError(
                    "wrong_host",
                    f"the host {shown!r} is not served; use the address that the server listens "
                    f"on, or start it with --allowed-host {shown}",
                )

    def _allows(self, name: str) -> bool:
        if name in self._names or ANY in self._names:
            return True
        return self._allows_addresses and _is_address(name)


def host_name(header: str) -> str:
    """The host of a `Host` header, without port, brackets and case."""
    header = header.strip()
    if header.startswith("["):
        return _normalized(header[1:].partition("]")[0])
    return _normalized(header.partition(":")[0])


def _normalized(name: str) -> str:
    return name.lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
