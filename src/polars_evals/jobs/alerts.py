"""Send alerts when the status of a job changes, to a webhook or a command."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Literal, Self
from urllib.error import HTTPError
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from polars_evals.storage.secrets import from_environment, keep_secrets, one_line
from polars_evals.suite.config_tables import ConfigTable, as_tuple

ATTEMPTS, PATIENCE, TIMEOUT = 3, 1.0, 15.0
MOST_LINES = 20


def _webhook(given: object) -> object:
    """Check the address of a webhook, which is a secret: whoever knows it can post to it."""
    address = from_environment("webhook", given) if isinstance(given, Mapping) else given
    if not isinstance(address, str):
        return given
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https"):
        raise ValueError("`webhook` must begin with https:// or http://")
    try:
        has_port = parts.port != 0
    except ValueError:
        has_port = False
    if not has_port:
        raise ValueError("`webhook` must have a port from 1 to 65535")
    for secret in (address, parts.path.strip("/"), parts.query):
        # A path without any digit or capital, such as "alerts", is a word that stands elsewhere too.
        if secret != secret.lower() or any(map(str.isdigit, secret)):
            keep_secrets({"secret": secret})
    return address


def _command(given: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Look for a program with a relative path beside the job file."""
    if not given or not os.path.dirname(given[0]):
        return given
    return (str((info.context or Path()) / Path(given[0]).expanduser()), *given[1:])


class Alert(ConfigTable):
    """`[alert]`: where to send alerts: a webhook with its format, and a command."""

    webhook: Annotated[str | None, BeforeValidator(_webhook)] = Field(
        default=None, description='an address, or { env = "NAME" }', repr=False
    )
    form: Literal["slack", "json"] | None = None
    command: Annotated[tuple[str, ...], BeforeValidator(as_tuple), AfterValidator(_command)] = Field(
        default=(), description="a list of texts: the program and its arguments"
    )

    @model_validator(mode="after")
    def check(self) -> Self:
        """Raise unless there is a webhook or a command."""
        if not (self.webhook or self.command):
            raise ValueError("name a `webhook`, a `command`, or both")
        return self

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which alerts are sent."""
        return tuple(way for way, given in (("webhook", self.webhook), ("command", self.command)) if given)

    def send(self, message: Mapping[str, Any], ways: Collection[str]) -> dict[str, str | None]:
        """Send the message in each way, with retries. Return the error of each way, or None."""
        send = {"webhook": self._post, "command": self._execute}
        return {way: _attempted(partial(send[way], message)) for way in ways}

    def _post(self, message: Mapping[str, Any]) -> None:
        assert self.webhook is not None
        host = str(urlsplit(self.webhook).hostname)
        form = self.form or ("slack" if host.endswith("slack.com") else "json")
        body = {"text": _slack_text(message)} if form == "slack" else message
        request = urllib.request.Request(
            self.webhook,
            json.dumps(body, ensure_ascii=False).encode(),
            {"Content-Type": "application/json", "User-Agent": "polars-evals"},
            method="POST",
        )
        try:
            with OPENER.open(request, timeout=TIMEOUT):
                pass
        except HTTPError as error:
            with error:
                elsewhere = "; name the address that it points to" if 300 <= error.code < 400 else ""
                raise OSError(f"the server answers {error.code} {error.reason}{elsewhere}") from None

    def _execute(self, message: Mapping[str, Any]) -> None:
        """Run the command, with the message on its input and the main things in its environment."""
        variables = {
            f"EVALS_{name.upper()}": str(message[name]) for name in ("status", "was", "job", "store")
        }
        # Files, not pipes: what the command leaves running in the background would hold those open.
        with TemporaryFile() as given, TemporaryFile() as stderr_file:
            given.write(json.dumps(message, ensure_ascii=False).encode(errors="backslashreplace"))
            given.seek(0)
            done = subprocess.run(
                self.command,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=stderr_file,
                env={**os.environ, **variables},
                timeout=60,
                check=False,
            )
            stderr_file.seek(0)
            last = stderr_file.read()[-200:].decode(errors="replace").strip()
        if done.returncode:
            raise OSError(f"it ended with exit code {done.returncode}: {last}")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Treats a redirect as a failure, because the posted message would be lost."""

    def redirect_request(self, *_: object) -> None:
        """Follow no redirect."""


OPENER = urllib.request.build_opener(NoRedirects)


def _attempted(send: Callable[[], None]) -> str | None:
    problem = None
    for attempt in range(ATTEMPTS):
        try:
            send()
        except Exception as error:
            # Whatever it is: an alert must not cost the run.
            problem = one_line(error)
        else:
            return None
        if attempt < ATTEMPTS - 1:
            time.sleep(PATIENCE * 2**attempt)
    return problem


def _slack_text(message: Mapping[str, Any]) -> str:
    """Write the message for Slack, with its three special characters escaped."""
    lines = [f"*{message['job']}: {message['status']}* (was: {message['was']})", *message["lines"]]
    text = "\n".join(lines[:MOST_LINES])
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
