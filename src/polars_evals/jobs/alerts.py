"""Tell people when a job's status changes: a webhook, a command; never at the cost of the run."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from polars_evals._errors import ConfigError
from polars_evals.jobs.section import Section
from polars_evals.storage.secrets import keep_secrets, one_line

FORMS = ("slack", "json")
ATTEMPTS, PATIENCE, TIMEOUT = 3, 1.0, 15.0
MOST_LINES = 20


@dataclass(frozen=True, repr=False)
class Alert:
    """Whom to tell: an address to post to, in a form, and a command to run."""

    webhook: str | None = None
    form: str = "json"
    command: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Alert(webhook={'***' if self.webhook else None}, form={self.form!r})"

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways in which people are told."""
        return tuple(way for way, given in (("webhook", self.webhook), ("command", self.command)) if given)

    def send(self, message: Mapping[str, Any], ways: Collection[str]) -> dict[str, str | None]:
        """Tell, each way as often as it takes; returns what did not work, or None, of each."""
        tell = {"webhook": self.post, "command": self.execute}
        return {way: attempted(partial(tell[way], message)) for way in ways}

    def post(self, message: Mapping[str, Any]) -> None:
        """Post the message."""
        assert self.webhook is not None
        body = {"text": slack_text(message)} if self.form == "slack" else message
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

    def execute(self, message: Mapping[str, Any]) -> None:
        """Run the command, with the message on its input and the main things in its environment."""
        told = {f"EVALS_{name.upper()}": str(message[name]) for name in ("status", "was", "job", "store")}
        # Files, not pipes: what the command leaves running in the background would hold those open.
        with TemporaryFile() as given, TemporaryFile() as said:
            given.write(json.dumps(message, ensure_ascii=False).encode(errors="backslashreplace"))
            given.seek(0)
            done = subprocess.run(
                self.command,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={**os.environ, **told},
                timeout=60,
                check=False,
            )
            said.seek(0)
            last = said.read()[-200:].decode(errors="replace").strip()
        if done.returncode:
            raise OSError(f"it ended with {done.returncode}: {last}")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for a refusal: what is posted would get lost on the way."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


OPENER = urllib.request.build_opener(NoRedirects)


def attempted(tell: Callable[[], None]) -> str | None:
    """Try a few times, and return what went wrong in the end."""
    problem = None
    for attempt in range(ATTEMPTS):
        try:
            tell()
        except Exception as error:
            # Whatever it is: an alert must not cost the run.
            problem = one_line(error)
        else:
            return None
        if attempt < ATTEMPTS - 1:
            time.sleep(PATIENCE * 2**attempt)
    return problem


def has_port(address: str) -> bool:
    """Whether the port of an address, if it names one, is a number."""
    try:
        return urlsplit(address).port != 0
    except ValueError:
        return False


def slack_text(message: Mapping[str, Any]) -> str:
    """Write the message as Slack shows it, in which three characters mean something."""
    lines = [f"*{message['job']}: {message['status']}* (was: {message['was']})", *message["lines"]]
    text = "\n".join(lines[:MOST_LINES])
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def read_alert(section: Section, folder: Path) -> Alert:
    """Read `[alert]`; a program with a relative path is looked for beside the job file."""
    webhook = section.take("webhook", (str, dict), 'an address, or { env = "NAME" }')
    form = section.choice("form", FORMS)
    command = section.take("command", list, "a list: the program and its arguments")
    section.finish()
    if isinstance(webhook, dict):
        variable = webhook.get("env")
        if list(webhook) != ["env"] or not isinstance(variable, str):
            raise section.wrong("webhook", 'an address, or { env = "NAME" }', list(webhook))
        if variable not in os.environ:
            raise ConfigError(f"{section.where}: `webhook` names the variable {variable}, which is not set")
        webhook = os.environ[variable]
    if webhook is not None and urlsplit(webhook).scheme not in ("http", "https"):
        raise ConfigError(f"{section.where}: `webhook` must begin with https:// or http://")
    if webhook is not None and not has_port(webhook):
        raise ConfigError(f"{section.where}: `webhook` has a port that is no number from 1 to 65535")
    if not (webhook or command):
        raise ConfigError(f"{section.where}: name a `webhook`, a `command`, or both")
    if command is not None and not (command and all(isinstance(one, str) for one in command)):
        raise section.wrong("command", "a list of texts: the program and its arguments", command)
    if command and os.path.dirname(command[0]):
        command = [str(folder / Path(command[0]).expanduser()), *command[1:]]
    if webhook:
        # Whoever knows the address can post to it; errors may show parts of it.
        address = urlsplit(webhook)
        for secret in (webhook, address.path.strip("/"), address.query):
            # A path without any digit or capital, such as "alerts", is a word that stands elsewhere too.
            if secret != secret.lower() or any(map(str.isdigit, secret)):
                keep_secrets({"secret": secret})
    slack = bool(webhook) and str(urlsplit(webhook).hostname).endswith("slack.com")
    return Alert(webhook, form or ("slack" if slack else "json"), tuple(command or ()))
