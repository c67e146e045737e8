"""The hosts that a server answers for."""

import pytest

from headway.errors import ConfigError
from headway.serve.allowed_hosts import AllowedHosts, browser_origin, host_name
from headway.serve.errors import ProblemError


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LocalHost:8000", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8000", "::1"),
        ("[::1]", "::1"),
        ("example.org.", "example.org"),
        ("", ""),
    ],
)
def test_the_name_of_a_header(header, name):
    assert host_name(header) == name


def refusal(hosts, header):
    with pytest.raises(ProblemError) as caught:
        hosts.check([header])
    return caught.value


def test_the_listening_address_and_this_machine_are_served():
    hosts = AllowedHosts("192.168.1.5")
    for header in (b"192.168.1.5:8000", b"localhost:8000", b"127.0.0.1", b"[::1]:8000"):
        hosts.check([header])
    hosts.check([])  # HTTP/1.0
    for header in (b"evil.example", b"192.168.1.6", b"localhost.evil.example", b"", b"\xff"):
        assert refusal(hosts, header).status == 421


def test_a_name_that_is_allowed():
    hosts = AllowedHosts("127.0.0.1", ["Translate.Example.org"])
    hosts.check([b"translate.example.org"])
    assert refusal(hosts, b"example.org").code == "wrong_host"
    AllowedHosts("127.0.0.1", ["*"]).check([b"anything"])


def test_every_address_stands_for_a_wildcard_and_no_name_does():
    hosts = AllowedHosts("0.0.0.0")
    for header in (b"10.0.0.7:8000", b"[fe80::1]:8000", b"localhost"):
        hosts.check([header])
    refusal(hosts, b"evil.example:8000")


def test_the_message_has_the_remedy():
    problem = refusal(AllowedHosts("127.0.0.1"), b"evil.example:8000")
    assert problem.message == (
        "the host 'evil.example' is not served; use the address that the server listens on, or "
        "start it with --allowed-host evil.example"
    )
    assert len(refusal(AllowedHosts("127.0.0.1"), b"e" * 5000).message) < 300


def test_two_hosts_are_refused():
    with pytest.raises(ProblemError) as caught:
        AllowedHosts("127.0.0.1").check([b"localhost", b"evil.example"])
    assert caught.value.status == 400


def test_names_from_the_command_line_may_have_a_port():
    hosts = AllowedHosts("127.0.0.1", ["example.org:8000", "fe80::1", "[fe80::2]:80"])
    for header in (b"example.org", b"example.org:9", b"[fe80::1]:8000", b"[fe80::2]"):
        hosts.check([header])
    for name in ("https://example.org", "example.org/", "", ":80"):
        with pytest.raises(ConfigError, match=f"--allowed-host {name}: expected a host name"):
            AllowedHosts("127.0.0.1", [name])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("https://example.org", "https://example.org"),
        ("https://Example.org/", "https://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:5000", "http://[::1]:5000"),
        ("*", "*"),
    ],
)
def test_origins_are_written_as_browsers_do(given, sent):
    assert browser_origin(given) == sent


@pytest.mark.parametrize(
    "origin",
    ["example.org", "https://example.org/app", "https://", "ftp://a", "http://a:b", "http://u@a"],
)
def test_what_is_no_origin(origin):
    with pytest.raises(ConfigError, match=f"--cors {origin}: expected scheme and host without"):
        browser_origin(origin)
