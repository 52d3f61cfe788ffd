"""Object stores to try things on: servers on this machine that speak as Amazon's, Google's and Azure's do."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from urllib.parse import quote

import polars as pl
from werkzeug.serving import WSGIRequestHandler, make_server

from polars_evals.jobs import scan_store
from tests.jobs.support import SUITE

SECRET = "wJalrXUtnFEMIexampleSECRET"


@dataclass
class Bucket:
    """A bucket of its own, and how to get there."""

    url: str
    options: dict[str, str] = field(default_factory=dict)

    def put(self, frame: pl.DataFrame, name: str) -> None:
        frame.write_parquet(f"{self.url}/{name}", storage_options=dict(self.options))

    def job(self, folder: Path, more: str = "") -> Path:
        """Write a job file whose inputs and store are there."""
        told = "\n".join(f"{key} = {json.dumps(value)}" for key, value in self.options.items())
        path = folder / "job.toml"
        path.write_text(
            f"""
[storage_options]
{told}
[input]
path = "{self.url}/traces/**/*.parquet"
[suite]
{SUITE}
[store]
path = "{self.url}/scores"
{more}
"""
        )
        return path

    def table(self) -> pl.DataFrame:
        scored = scan_store(f"{self.url}/scores", storage_options=self.options).collect()
        return scored.select(sorted(scored.columns)).sort("trace_id", "source_file", "source_row")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def await_answer(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(url)


class Quiet(WSGIRequestHandler):
    """Tells nobody of requests."""

    def log(self, *_: object) -> None:
        pass


@contextmanager
def s3_server(around: Callable[[Any], Any] = lambda app: app) -> Iterator[str]:
    """Start moto's server, in this process, with something around it that gets each request first."""
    from moto.server import DomainDispatcherApplication, create_backend_app

    app = around(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def speaking_as_google(app: Any) -> Any:
    """Turn what Google's clients say into what Amazon's do: their paths, answers and lists are the same."""
    signed = (
        "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x"
    )

    def translated(environ: dict[str, Any], start: Any) -> Any:
        if environ.get("HTTP_X_GOOG_IF_GENERATION_MATCH") == "0":
            environ["HTTP_IF_NONE_MATCH"] = "*"
        environ["HTTP_AUTHORIZATION"] = signed
        query = environ.get("QUERY_STRING")
        path = quote(environ["PATH_INFO"].encode("latin-1")) + (f"?{query}" if query else "")
        environ["RAW_URI"] = environ["REQUEST_URI"] = path
        return app(environ, start)

    return translated


def make_bucket(endpoint: str, name: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT")).close()


def google_bucket(endpoint: str, name: str) -> Bucket:
    make_bucket(endpoint, name)
    account = {
        "gcs_base_url": endpoint,
        "disable_oauth": True,
        "client_email": "",
        "private_key": SECRET,
        "private_key_id": "",
    }
    return Bucket(
        f"gs://{name}", {"google_service_account_key": json.dumps(account), "google_allow_http": "true"}
    )


def s3_bucket(endpoint: str, name: str) -> Bucket:
    make_bucket(endpoint, name)
    options = {
        "aws_access_key_id": "AKIAEXAMPLE",
        "aws_secret_access_key": SECRET,
        "aws_region": "us-east-1",
        "aws_endpoint_url": endpoint,
        "aws_allow_http": "true",
    }
    return Bucket(f"s3://{name}", options)


@contextmanager
def azure_server() -> Iterator[str]:
    """Start Azurite, from npm; AZURITE names its command where it is not on the path."""
    found = os.environ.get("AZURITE") or shutil.which("azurite-blob")
    assert found, "make test-stores installs azurite"
    port = free_port()
    with TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [found, "--silent", "--skipApiVersionCheck", "--blobPort", str(port), "--location", folder],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            await_answer(f"http://127.0.0.1:{port}/devstoreaccount1?comp=list")
            yield f"http://127.0.0.1:{port}/devstoreaccount1"
        finally:
            process.terminate()
            process.wait()


def azure_container(endpoint: str, name: str) -> Bucket:
    # The account and key that every Azurite has, as its documentation says.
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    options = {
        "azure_storage_account_name": "devstoreaccount1",
        "azure_storage_account_key": key,
        "azure_endpoint": endpoint,
        "azure_allow_http": "true",
    }
    from obstore.store import AzureStore

    from polars_evals.storage.objects import split_options

    config, client = split_options(options)
    store = AzureStore(name, config=config, client_options=client)
    make_container(store, endpoint, name, key)
    return Bucket(f"az://{name}", options)


def make_container(store: object, endpoint: str, name: str, key: str) -> None:
    """Make a container, which takes a signed request of its own."""
    import base64
    import hashlib
    import hmac
    from datetime import UTC, datetime

    date = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    version = "2021-08-06"
    resource = f"/devstoreaccount1/devstoreaccount1/{name}\nrestype:container"
    headers = f"x-ms-date:{date}\nx-ms-version:{version}"
    signed = "PUT" + "\n" * 12 + f"{headers}\n{resource}"
    signature = base64.b64encode(
        hmac.new(base64.b64decode(key), signed.encode(), hashlib.sha256).digest()
    ).decode()
    request = urllib.request.Request(
        f"{endpoint}/{name}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": date,
            "x-ms-version": version,
            "Authorization": f"SharedKey devstoreaccount1:{signature}",
            "Content-Length": "0",
        },
    )
    urllib.request.urlopen(request).close()
