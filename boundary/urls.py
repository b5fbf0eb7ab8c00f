"""Parse URLs strictly: only those that every parser reads the same way."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import urljoin

import idna

from boundary import limits
from boundary.addresses import Address
from boundary.errors import BlockedReason, BlockedUrl

DEFAULT_PORTS = {"http": 80, "https": 443}
SHAPE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>[^#]*)", re.DOTALL)
AUTHORITY = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]@%]+))(?::(?P<port>[0-9]{0,5}))?")
LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
DOTTED_QUAD = re.compile(r"(?:(?:0|[1-9][0-9]{0,2})\.){3}(?:0|[1-9][0-9]{0,2})")
MAX_HOST_CHARACTERS = 253


@dataclass(frozen=True, kw_only=True)
class Target:
    """The target of a request: a URL with its host in the form that is resolved and sent."""

    scheme: str
    host: str  # lower case, ASCII, without brackets and without the trailing dot
    port: int
    path: str  # includes the query, not the fragment; never empty
    address: Address | None  # set if the host is an IP address

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(text: str) -> Target:
    """Parse an absolute http(s) URL; raise BlockedUrl if two parsers might read it differently."""
    text = text.strip(" ")
    refuse_odd_characters(text)
    shape = SHAPE.match(text)
    if shape is None:
        raise BlockedUrl(
            BlockedReason.MALFORMED, "This is not an absolute URL. It must start with http:// or https://."
        )
    scheme = shape["scheme"].lower()
    if scheme not in DEFAULT_PORTS:
        raise BlockedUrl(BlockedReason.SCHEME, f"Only http and https URLs are supported, not {scheme}.")
    if "@" in text[shape.start("authority") :].partition("/")[0]:
        raise BlockedUrl(
            BlockedReason.CREDENTIALS,
            "URLs with an @ before the path are not supported. Remove the user name and password.",
        )
    authority = AUTHORITY.fullmatch(shape["authority"])
    if authority is None:
        raise BlockedUrl(BlockedReason.MALFORMED, "The host of this URL is not valid.")
    host, address = read_host(authority["v6"], authority["name"])
    port = int(authority["port"]) if authority["port"] else DEFAULT_PORTS[scheme]
    if not 0 < port < 65536:
        raise BlockedUrl(BlockedReason.PORT, f"{port} is not a valid port.")
    path = (shape["rest"] if shape["rest"].startswith("/") else "/" + shape["rest"]).replace(" ", "%20")
    return Target(scheme=scheme, host=host, port=port, path=path, address=address)


def join_url(base: Target, location: str) -> Target:
    """Return the target of a redirect; `location` may be relative."""
    refuse_odd_characters(location)
    try:
        joined = urljoin(str(base), location.strip(" "))
    except ValueError:
        raise BlockedUrl(
            BlockedReason.MALFORMED, "The server redirected to a URL that is not valid."
        ) from None
    return parse_url(joined)


def read_host(v6: str | None, name: str | None) -> tuple[str, Address | None]:
    """Return the host in canonical form, and its address if it is one."""
    if v6 is not None:
        try:
            address = IPv6Address(v6)
        except AddressValueError:
            raise BlockedUrl(BlockedReason.MALFORMED, "The IPv6 address in this URL is not valid.") from None
        return str(address), address
    host = normalise_host(name or "")
    if NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
        address_v4 = read_dotted_quad(host)
        return str(address_v4), address_v4
    return host, None


def normalise_host(name: str) -> str:
    """Return a host name in lower-case ASCII, also for full-width digits, circled digits and other scripts."""
    host = unicodedata.normalize("NFKC", name).lower()
    try:
        if not host.isascii():
            host = idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise BlockedUrl(BlockedReason.MALFORMED, "The host name of this URL is not valid.") from None
    host = host.removesuffix(".")
    if len(host) > MAX_HOST_CHARACTERS or not all(LABEL.fullmatch(label) for label in host.split(".")):
        raise BlockedUrl(BlockedReason.MALFORMED, "The host name of this URL is not valid.")
    return host


def read_dotted_quad(host: str) -> IPv4Address:
    """Parse 1.2.3.4; other forms (16909060, 0x1020304, 01.2.3.4, 1.772) are ambiguous and raise BlockedUrl."""
    if DOTTED_QUAD.fullmatch(host) and all(int(part) < 256 for part in host.split(".")):
        return IPv4Address(host)
    raise BlockedUrl(
        BlockedReason.AMBIGUOUS_ADDRESS, "Write the address as four plain numbers, such as 203.0.113.7."
    )


def refuse_odd_characters(text: str) -> None:
    """Raise BlockedUrl for characters on which parsers disagree: control characters, surrogates, backslashes."""
    if len(text) > limits.MAX_URL_CHARACTERS:
        raise BlockedUrl(
            BlockedReason.MALFORMED, f"The URL is longer than {limits.MAX_URL_CHARACTERS} characters."
        )
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in text):
        raise BlockedUrl(BlockedReason.MALFORMED, "The URL contains invisible or control characters.")
    if "\\" in text:
        raise BlockedUrl(BlockedReason.MALFORMED, "The URL contains a backslash.")
