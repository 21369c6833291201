"""Runs a provided.* function's bootstrap as a process on this machine, where LocalStack would start a container."""

import shutil
import tempfile
import time
import types

from localstack.services.lambda_.invocation import runtime_executor
from localstack.services.lambda_.invocation.executor_endpoint import StatusErrorException
from localstack.services.lambda_.invocation.lambda_models import InvocationResult
from runtime_api import Environment, InitError


def use_processes() -> None:
    """Be what LocalStack finds when it looks for an executor among its plug-ins."""
    plugin = types.SimpleNamespace(load=lambda: ProcessExecutor)
    runtime_executor.EXECUTOR_PLUGIN_MANAGER = types.SimpleNamespace(exists=lambda name: True, load=lambda name: plugin)


class ProcessExecutor(runtime_executor.RuntimeExecutor):
    """One execution environment as LocalStack sees it."""

    def __init__(self, id, function_version):
        super().__init__(id, function_version)
        self._environment = self._tmp = None
        self._logs = ""

    def start(self, env_vars):
        runtime = self.function_version.config.runtime
        if not runtime.startswith("provided"):
            raise NotImplementedError(f"runtime {runtime}: without Docker only provided.* functions run")
        code = self.function_version.config.code.get_unzipped_code_location()
        self._tmp = tempfile.mkdtemp(prefix="function-")
        env = {name: str(value) for name, value in env_vars.items() if not name.startswith("LOCALSTACK_RUNTIME_")}
        env |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "LAMBDA_TASK_ROOT": str(code), "TMPDIR": self._tmp}
        self._environment = Environment([f"{code}/bootstrap"], code, env)
        try:
            self._environment.start()
        except InitError as e:
            raise StatusErrorException(str(e), payload=e.payload) from e

    def stop(self):
        if self._environment:
            self._environment.stop()
        if self._tmp:
            shutil.rmtree(self._tmp, ignore_errors=True)

    def invoke(self, payload):
        config, request = self.function_version.config, payload["invoke-id"]
        headers = {
            "Lambda-Runtime-Invoked-Function-Arn": payload["invoked-function-arn"],
            "Lambda-Runtime-Trace-Id": payload["trace-id"],
        }
        began = time.perf_counter()
        is_error, answer = self._environment.invoke(request, payload["payload"].encode(), headers, config.timeout)
        ms = (time.perf_counter() - began) * 1000
        logs = (
            f"START RequestId: {request} Version: {self.function_version.id.qualifier}\n"
            f"{self._environment.take_output()}END RequestId: {request}\n"
            f"REPORT RequestId: {request}\tDuration: {ms:.2f} ms\tMemory Size: {config.memory_size} MB\t\n"
        )
        self._logs = (self._logs + logs)[-65536:]
        return InvocationResult(request, answer, is_error=is_error, logs=logs)

    def get_logs(self):
        return self._logs

    # Where a container would find LocalStack, and LocalStack the container.

    def get_address(self):
        return "127.0.0.1"

    def get_endpoint_from_executor(self):
        return "127.0.0.1"

    def get_runtime_endpoint(self):
        return "http://127.0.0.1:0/unused"

    @classmethod
    def prepare_version(cls, function_version):
        if function_version.config.code:
            function_version.config.code.prepare_for_execution()

    @classmethod
    def cleanup_version(cls, function_version):
        pass
