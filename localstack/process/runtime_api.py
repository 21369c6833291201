"""The Lambda Runtime API for one execution environment, and the process that it drives.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import base64
import json
import os
import signal
import subprocess
import threading
import time
import weakref
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "/2018-06-01/runtime/"
INIT_SECONDS = 10  # what Lambda gives a function until it asks for its first invocation

_all = weakref.WeakSet()


def kill_all() -> None:
    """Kill every environment's process: one that is stopped would otherwise stay for ever."""
    for environment in list(_all):
        environment.kill()


class InitError(Exception):
    """The process did not get as far as asking for its first invocation."""

    def __init__(self, payload: bytes):
        super().__init__(payload.decode("utf-8", "replace"))
        self.payload = payload


class Environment:
    """One process at a time, started anew after a time-out or an exit, as Lambda does.

    It is stopped (SIGSTOP) between invocations, as Lambda freezes an environment: nothing runs there in the background.
    """

    def __init__(self, command: list[str], cwd: str, env: dict[str, str]):
        self._command, self._cwd = command, cwd
        self._changed = threading.Condition()
        self._process = None
        self._stopped = False
        self._asked = False  # the process waits for an invocation
        self._next = None  # the invocation that it is to get
        self._request = None  # the id of the invocation under way
        self._answer = None  # what it ended with: (is_error, payload)
        self._init_error = None
        self._output = bytearray()
        _all.add(self)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self._env = {**env, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}"}

    def start(self) -> None:
        """Start the process and wait until it asks for its first invocation."""
        with self._changed:
            if self._stopped:
                raise InitError(error("Runtime.Shutdown", "the environment was shut down"))
            self._asked, self._next, self._init_error = False, None, None
            try:
                self._process = subprocess.Popen(
                    self._command,
                    cwd=self._cwd,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as e:  # such as a program for another processor
                raise InitError(error("Runtime.InvalidEntrypoint", f"{self._command[0]}: {e.strerror}")) from e
            threading.Thread(target=self._read_output, args=(self._process,), daemon=True).start()
            self._changed.wait_for(lambda: self._asked or self._init_error or self._dead(), INIT_SECONDS)
            if self._asked:
                return
            reason = self._init_error or error("Runtime.ExitError", self._exit_reason())
            self.kill()
            raise InitError(reason)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self.kill()
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def kill(self) -> None:
        if self._process and self._process.poll() is None:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def invoke(self, request: str, payload: bytes, headers: dict[str, str], seconds: float) -> tuple[bool, bytes]:
        """Run one invocation, for so many seconds at most; returns whether it failed, and its answer."""
        if self._dead():
            try:
                self.start()
            except InitError as e:
                return True, e.payload
        deadline = time.time() + seconds
        headers |= {
            "Lambda-Runtime-Aws-Request-Id": request,
            "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
        }
        with self._changed:
            self._request, self._answer, self._asked, self._next = request, None, False, (payload, headers)
            self._signal(signal.SIGCONT)
            self._changed.notify_all()
            # an invocation ends when the process has answered and asks for the next one
            ended = lambda: self._dead() or (self._answer and self._asked)
            in_time = self._changed.wait_for(ended, deadline - time.time())
            answer, self._request, self._next = self._answer, None, None
            if not in_time:
                self.kill()
                timed_out = f"RequestId: {request} Error: Task timed out after {seconds:.2f} seconds"
                return answer or (True, error("Sandbox.Timedout", timed_out))
            if not self._dead():
                self._signal(signal.SIGSTOP)
            return answer or (True, error("Runtime.ExitError", f"RequestId: {request} Error: {self._exit_reason()}"))

    def take_output(self) -> str:
        """Return what the process printed since the last call."""
        with self._changed:
            text = self._output.decode("utf-8", "replace")
            self._output.clear()
        return text + "\n" if text and not text.endswith("\n") else text

    # What the process asks of the API

    def take_next(self) -> tuple[bytes, dict[str, str]] | None:
        with self._changed:
            process = self._process
            over = lambda: self._dead() or self._process is not process
            self._asked = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._next or over())
            if over():
                return None
            invocation, self._next = self._next, None
            return invocation

    def end(self, request: str, is_error: bool, body: bytes) -> bool:
        with self._changed:
            if request != self._request or self._answer:
                return False
            self._answer = (is_error, body)
            self._changed.notify_all()
            return True

    def fail_init(self, body: bytes) -> None:
        with self._changed:
            self._init_error = body or b"{}"
            self._changed.notify_all()

    # The process

    def _dead(self) -> bool:
        return self._stopped or self._process is None or self._process.poll() is not None

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    def _exit_reason(self) -> str:
        code = self._process.poll()
        if code is None:
            return "Runtime did not ask for an invocation in time"
        if code < 0:
            return f"Runtime exited with error: signal: {signal.Signals(-code).name}"
        return f"Runtime exited with error: exit status {code}"

    def _read_output(self, process: subprocess.Popen) -> None:
        while data := os.read(process.stdout.fileno(), 65536):
            with self._changed:
                self._output += data
        process.wait()
        process.stdout.close()
        with self._changed:
            self._changed.notify_all()


def handler_of(environment: Environment) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # header and body in one segment, or the process waits for a delayed acknowledgement

        def log_message(self, *args):
            pass

        def do_GET(self):
            if self.path != PREFIX + "invocation/next":
                return self.reply(404)
            invocation = environment.take_next()
            if invocation is None:
                self.close_connection = True
                return
            try:
                self.reply(200, *invocation)
            except OSError:
                pass  # it died meanwhile, which the invocation will show

        def do_POST(self):
            body, trailers = self.body()
            match self.path.removeprefix(PREFIX).split("/"):
                case ["init", "error"]:
                    environment.fail_init(body)
                    self.reply(202)
                case ["invocation", request, "response" | "error" as kind]:
                    is_error = kind == "error"
                    if late := trailers.get("lambda-runtime-function-error-body"):
                        is_error, body = True, base64.b64decode(late)
                    known = environment.end(request, is_error, body)
                    self.reply(202 if known else 400)
                case _:
                    self.reply(404)

        def body(self) -> tuple[bytes, dict[str, str]]:
            """Read the body, in chunks or not, and the trailers that a Go function sends its late errors in."""
            if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
                return self.rfile.read(int(self.headers.get("Content-Length") or 0)), {}
            body, trailers = bytearray(), {}
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            while line := self.rfile.readline().strip():
                name, _, value = line.decode("latin-1").partition(":")
                trailers[name.strip().lower()] = value.strip()
            return bytes(body), trailers

        def reply(self, status: int, body: bytes = b"", headers: dict[str, str] = {}):
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


def error(error_type: str, message: str) -> bytes:
    return json.dumps({"errorType": error_type, "errorMessage": message}).encode()
