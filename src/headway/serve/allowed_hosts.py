"""The hosts that the server answers for, against DNS rebinding, and origins of other pages (CORS).

A web page can point a name of its own at this machine, and a browser then lets the page read the
answers. Such a request carries the page's name in `Host`; an address cannot be redirected so.
"""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from ..errors import ConfigError
from .errors import ProblemError

LOCAL = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::")
ANY = "*"
USUAL_PORTS = {"http": 80, "https": 443}


class AllowedHosts:
    """Checks `Host` headers.

    Args:
        listening: the address or name that the server listens on. A wildcard address allows every
            IP address, because the machine may have several.
        others: further names; `*` allows all.

    Raises:
        ConfigError: another name is none.
    """

    def __init__(self, listening: str, others: Iterable[str] = ()) -> None:
        named = map(_checked, others)
        self._names = frozenset((*map(_normalized, (*LOCAL, listening)), *named))
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


def browser_origin(origin: str) -> str:
    """An origin as browsers send it: scheme, host in lower case, and the port if it is unusual.

    Raises:
        ConfigError: it is no origin.
    """
    if origin == ANY:
        return ANY
    problem = ConfigError(
        f"--cors {origin}: expected scheme and host without a path, such as https://example.org"
    )
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:  # a port that is no number
        raise problem from None
    is_more = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in USUAL_PORTS or not parts.hostname or is_more:
        raise problem
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_usual = port in (None, USUAL_PORTS[parts.scheme])
    return f"{parts.scheme}://{host}" + ("" if is_usual else f":{port}")


def _checked(name: str) -> str:
    """A host from the command line, without its port."""
    host = name if name.count(":") > 1 and not name.startswith("[") else host_name(name)
    if "/" in name or not host.strip():
        raise ConfigError(f"--allowed-host {name}: expected a host name, such as example.org")
    return _normalized(host)


def _normalized(name: str) -> str:
    return name.lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
