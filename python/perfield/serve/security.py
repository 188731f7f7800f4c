# SPDX-License-Identifier: BSD-3-Clause
"""Who may see the page.

On localhost: whoever can open a connection to it, from pages of this server alone. A page of somebody else
that a browser shows at the same time may send requests here, even under a name of its own that leads to
127.0.0.1 (DNS rebinding). So the name in a request must be localhost. The port may differ, as it does behind
ssh -L.

Elsewhere: whoever has the token. The first request brings it in the address and gets a cookie for it. The
page's own files, which are the same for every run, need none: a browser does not send the cookie when
somebody follows a link of another page, and our page then asks for the numbers itself.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

LEAST_TOKEN = 16  # characters
NAMES = r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]"
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
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
    """Lets requests in. token : that they need; "" for none. local : the server listens on localhost only.
    cookie : name of the cookie, which differs between servers of one host."""

    token: str
    local: bool
    cookie: str

    def wrong_name(self, host: str) -> Refusal | None:
        """Why no request of this Host header is answered; None if it may be."""
        if self.local and not is_local_name(host):
            return Refusal(
                f"this server answers to the name localhost only, not to {host[:80]!r}; open "
                "http://localhost with its port.",
                403,
            )
        return None

    def refusal(self, cookies: str, site: str) -> Refusal | None:
        """Why a request for numbers of the run is refused; None lets it in.

        cookies, site : its headers Cookie and Sec-Fetch-Site, "" if absent.
        """
        if site in ("cross-site", "same-site"):
            return Refusal(
                "a page of another address asked for this; perfield serve answers its own only.", 403
            )
        if self.token and not self.knows(_cookies(cookies).get(self.cookie, "")):
            return Refusal(
                "a token is needed: open the whole address that perfield serve printed, with ?token=...", 401
            )
        return None

    def knows(self, token: str) -> bool:
        """Whether a token is the right one; takes as long for any wrong one."""
        return bool(self.token) and hmac.compare_digest(token.encode(), self.token.encode())

    def set_cookie(self) -> str:
        """The header that gives a browser the cookie; scripts cannot read it, and other sites not use it."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


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
        raise TokenError(f"--token {file}: there is no such file; --token new makes a token")
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


def _cookies(text: str) -> dict[str, str]:
    """Cookies by name. Those of other servers on this host come, too; Python's parser gives up at some."""
    return {
        name.strip(): value.strip() for name, _, value in (part.partition("=") for part in text.split(";"))
    }
