"""LocalStack without Docker: started by ../stack.sh with the Python of its virtual environment.

LocalStack runs in an image with Docker at hand. What it would take from there is replaced here, and nothing else:

- functions run as processes on this machine (functions.py) instead of containers;
- DynamoDB is DynamoDB Local from ../dynamodb-local.sh instead of a download by LocalStack;
- an SQS event source mapping has several batches in flight, as Lambda's has (sqs.py).

SIGHUP ends it at once, functions too: everything is in memory, and LocalStack itself takes ten seconds over a SIGTERM. With "attached" as its
argument it also ends when standard input does, so that it cannot outlive a parent that was killed.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import runtime_api

HERE = pathlib.Path(__file__).resolve().parent


def start_dynamodb() -> subprocess.Popen:
    """Start DynamoDB Local on a free port. It ends with its standard input, that is, with this process."""
    return subprocess.Popen(
        [HERE.parent / "dynamodb-local.sh", "with", "sh", "-c", 'echo "$DYNAMODB_LOCAL_ENDPOINT"; exec cat'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # an interrupt is ours to hand on
    )


def use_dynamodb(process: subprocess.Popen) -> None:
    """Let LocalStack send its DynamoDB requests there."""
    endpoint = process.stdout.readline().strip()
    if not endpoint:
        sys.exit("DynamoDB Local did not start")

    from localstack import config
    from localstack.services.dynamodb.server import DynamodbServer

    config.DYNAMODB_LOCAL_PORT = urlsplit(endpoint).port
    DynamodbServer.start_dynamodb = lambda self: True


def end(*_) -> None:
    runtime_api.kill_all()
    os._exit(0)


def end_with_input() -> None:
    while os.read(0, 4096):
        pass
    end()


def main() -> None:
    signal.signal(signal.SIGHUP, end)
    if sys.argv[1:] == ["attached"]:
        threading.Thread(target=end_with_input, daemon=True).start()
    dynamodb = start_dynamodb()

    # only now: this takes a second, in which DynamoDB Local starts
    import functions
    import sqs

    use_dynamodb(dynamodb)
    functions.use_processes()
    sqs.use_batches_in_flight(int(os.environ.get("SQS_BATCHES_IN_FLIGHT", "5")))

    from localstack.runtime import main as localstack

    localstack.main()


if __name__ == "__main__":
    main()
