# SPDX-License-Identifier: BSD-3-Clause
"""Who may see the page.

Whoever has the token: other users of the same machine can connect to localhost, too. The printed address
holds the token. The page takes it out of the address, gets a session value for it, and sends that with each
request in a header. Cookies would not do: a browser sends those of localhost to every port of it, so also to
a server of somebody else there. It keeps the session value in the storage of this origin, which has a port.
The value is random and ends with the server; a token from a file of the user may last longer and is never
stored.

A Unix socket that only its owner may open needs no token, nor does localhost if the user chooses so. Then a
page of somebody else that the browser shows at the same time may send requests here, even under a name of its
own that leads to 127.0.0.1 (DNS rebinding). So the name in a request must be localhost, and a browser's word
that another site asks is enough to refuse. The port may differ, as it does behind ssh -L.

The page's own files, which are the same for every run, need no token.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

LEAST_TOKEN = 16  # characters
NAMES = r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]"
HEADERS = {
    # The report, which the page opens in a tab of its own, has its style inside.
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class TokenError(ValueError):
    """The user's own token is of no use; the text says why."""


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered: a sentence and its HTTP status."""

    sentence: str
    status: int


@dataclass(frozen=True)
class Gate:
    """Lets requests in. token : that they need; "" for none. local : the server listens on localhost or a
    Unix socket only. session : what the page sends in place of the token; another one for each server."""

    token: str
    local: bool
    session: str = field(default_factory=lambda: new_token(), repr=False)

    def wrong_name(self, host: str) -> Refusal | None:
        """Why no request of this Host header is answered; None if it may be."""
        if self.local and not is_local_name(host):
            return Refusal(
                f"this server answers to the name localhost only, not to {host[:80]!r}; open "
                "http://localhost with its port.",
                403,
            )
        return None

    def refusal(self, authorization: str, site: str) -> Refusal | None:
        """Why a request for numbers of the run is refused; None lets it in.

        authorization, site : its headers Authorization and Sec-Fetch-Site, "" if absent.
        """
        if site in ("cross-site", "same-site"):
            return Refusal(
                "a page of another address asked for this; perfield serve answers its own only.", 403
            )
        if self.token and not self.knows(authorization):
            return Refusal(
                "a token is needed: open the whole address that perfield serve printed, with ?token=...", 401
            )
        return None

    def knows(self, authorization: str) -> bool:
        """Whether a header "Bearer X" has the token or the session value; takes as long for any wrong one."""
        kind, _, given = authorization.partition(" ")
        right = [hmac.compare_digest(given.encode(), one.encode()) for one in (self.token, self.session)]
        return kind == "Bearer" and bool(self.token) and any(right)


def is_local_name(host: str) -> bool:
    """Whether a Host header names localhost, with any port or none."""
    return bool(re.fullmatch(rf"(?:{NAMES})(?::[0-9]{{1,5}})?", host, re.IGNORECASE))


def is_local_address(address: str) -> bool:
    """Whether an address to listen on is localhost."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def read_token(file: Path) -> str:
    """The user's own token: the first line of a file that nobody else can read.

    Raises TokenError if it is missing, others can read it, or it is too short or no word; OSError if it
    cannot be read.
    """
    if not file.exists():
        raise TokenError(f"--token {file}: there is no such file; without --token perfield makes a token")
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise TokenError(f"{file} can be read by other users, who would know the token; chmod 600 {file}")
    with file.open(encoding="utf-8", errors="replace") as opened:
        token = opened.readline(1000).strip()
    if len(token) < LEAST_TOKEN or not re.fullmatch(r"[A-Za-z0-9_.~-]+", token):
        raise TokenError(
            f"the first line of {file} has {len(token)} characters; expected a token of at least "
            f"{LEAST_TOKEN} letters, digits, and - _ . ~ ; this makes one: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token
