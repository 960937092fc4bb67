"""A server's policy by name: ``http://host:port/v1#model@revision``."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from rewardable.errors import ConfigError

STARTS = ("http://", "https://")
FORM = "http://HOST:PORT/v1#MODEL or #MODEL@REVISION"


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSource:
    """``url`` is the API's root, without a slash at its end; ``model`` may be empty: the only one.

    revision: what the user calls the weights that are served; empty takes the server's word.
    """

    url: str
    model: str = ""
    revision: str = ""


def is_server(source: str) -> bool:
    """Tell whether ``source`` names a server."""
    return source.startswith(STARTS)


def parse_source(source: str) -> ServerSource:
    """Read a server's source; ConfigError for one that holds a secret or has another form."""
    parts = urlsplit(source)
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            f"a server is named {FORM}, without user, password or query: a source is stored with "
            "the run. Give a key in the environment variable REWARDABLE_API_KEY."
        )
    try:
        hostless = not parts.hostname or (parts.port is not None and parts.port < 1)
    except ValueError:
        hostless = True
    if hostless:
        raise ConfigError(f"{source!r} has no host; a server is named {FORM}.")
    model, _, revision = parts.fragment.partition("@")
    url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    return ServerSource(url=url, model=model, revision=revision)
