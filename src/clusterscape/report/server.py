"""The report served on this machine alone, with what is chosen on it written to a file."""

from __future__ import annotations

import json
import os
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clusterscape.report.choices import Choices, ChoicesError

_LARGEST = 4_000_000  # bytes of a message
_HOST = "127.0.0.1"


class ReportServer:
    """Serve one page on 127.0.0.1, at an address that holds a secret.

    Parameters
    ----------
    page : str
        The page; see :func:`render`, with ``choices``.
    choices : str or path
        The file that is written each time something is chosen.
    port : int
        0 takes a free one.

    Attributes
    ----------
    address : str
        Where to look. Only who knows it can read the page or write the file.

    See Also
    --------
    write : Writes the page to a file instead.

    Examples
    --------
    >>> from clusterscape.report import ReportServer
    >>> server = ReportServer("<p>hello</p>", "choices.json")
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.close()
    """

    def __init__(self, page: str, choices: str | os.PathLike[str], *, port: int = 0) -> None:
        self._token = secrets.token_urlsafe(24)
        handler = type("_Bound", (_Handler,), {"page": page.encode(), "token": self._token})
        handler.file = os.fspath(choices)  # type: ignore[attr-defined]
        self._server = ThreadingHTTPServer((_HOST, port), handler)
        self._server.daemon_threads = True
        self.address = f"http://{_HOST}:{self._server.server_port}/{self._token}/"
        handler.host = f"{_HOST}:{self._server.server_port}"  # type: ignore[attr-defined]

    def serve(self) -> None:
        """Answer until :meth:`close` is called from another thread, or the program is stopped."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop, and give the port back."""
        self._server.server_close()

    def stop(self) -> None:
        """End :meth:`serve`, which another thread is in."""
        self._server.shutdown()
        self.close()


class _Handler(BaseHTTPRequestHandler):
    """Two requests: the page, and choices to write."""

    page: bytes
    token: str
    file: str
    host: str
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "clusterscape", ""
    timeout = 30

    def do_GET(self) -> None:
        """Send the page."""
        if not self._is_ours() or self.path != f"/{self.token}/":
            self._answer(HTTPStatus.NOT_FOUND, b"not found", "text/plain")
            return
        self._answer(HTTPStatus.OK, self.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """Write what was chosen."""
        status, said = self._written()
        body = json.dumps({"message": said}).encode()
        self._answer(status, body, "application/json")

    def _written(self) -> tuple[HTTPStatus, str]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LARGEST:
            self.close_connection = True  # what it sends is not read
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too long"
        body = self.rfile.read(int(length))
        if not self._is_ours() or self.path != f"/{self.token}/choices":
            return HTTPStatus.NOT_FOUND, "not found"
        if self.headers.get("Origin") != f"http://{self.host}":
            return HTTPStatus.FORBIDDEN, "from another page"
        if self.headers.get("Content-Type") != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not JSON"
        try:
            Choices.of(json.loads(body)).save(self.file)
        except (ChoicesError, json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            return HTTPStatus.BAD_REQUEST, str(error)
        except OSError as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, f"{self.file}: {error.strerror}"
        return HTTPStatus.OK, f"Written to {os.path.basename(self.file)}."

    def _is_ours(self) -> bool:
        # Another name for this machine would let a page of another site read the answer.
        return self.headers.get("Host") == self.host

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: the address holds the secret."""
