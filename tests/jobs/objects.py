"""Object stores to try things on: servers on this machine that speak as Amazon's and Azure's do."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

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

    def job(self, folder: Path, form: str = "delta", more: str = "") -> Path:
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
format = "{form}"
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


@contextmanager
def s3_server() -> Iterator[str]:
    """Start moto's server, in this process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"
    finally:
        server.stop()


def s3_bucket(endpoint: str, name: str) -> Bucket:
    request = urllib.request.Request(f"{endpoint}/{name}", method="PUT")
    urllib.request.urlopen(request).close()
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

    from polars_evals.jobs.remote import split_options

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
