"""The consumer of payments with Powertools for AWS Lambda (Python), as its documentation shows the batch utility and idempotency together.

https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/ "Integrations", "Batch integration".
Below the handler stands what the Lambda runtime does: the runtime API's loop.
"""

import http.client
import json
import os
import time

import boto3
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

persistence_layer = DynamoDBPersistenceLayer(table_name=os.environ["RECORDS"])
processor = BatchProcessor(event_type=EventType.SQS)
config = IdempotencyConfig(event_key_jmespath="powertools_json(body).payment")
dynamodb = boto3.client("dynamodb")
bank = http.client.HTTPConnection(os.environ["BANK"])


def check(payment: str) -> None:
    """Ask the bank whether the payment is good: what the handler does before its effect."""
    try:
        bank.request("GET", "/check/" + payment)
        response = bank.getresponse()
        response.read()
    except Exception:
        bank.close()  # the next call connects anew
        raise
    if response.status != 204:
        raise RuntimeError(f"the bank answered {response.status}")


@idempotent_function(data_keyword_argument="record", config=config, persistence_store=persistence_layer)
def record_handler(record: SQSRecord) -> dict:
    payment = record.json_body
    check(payment["payment"])
    dynamodb.update_item(
        TableName=os.environ["ACCOUNTS"],
        Key={"pk": {"S": payment["account"]}},
        UpdateExpression="SET lastPayment = :payment ADD balance :amount",
        ExpressionAttributeValues={":payment": {"S": payment["payment"]}, ":amount": {"N": str(payment["amount"])}},
    )
    return {"payment": payment["payment"]}


def lambda_handler(event, context):
    config.register_lambda_context(context)
    return process_partial_response(event=event, record_handler=record_handler, processor=processor, context=context)


class Context:
    """The context object of the Lambda runtime, as far as Powertools reads it."""

    function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
    function_version = "1"
    memory_limit_in_mb = 512

    def __init__(self, request_id: str, deadline: int, arn: str):
        self.aws_request_id, self.deadline, self.invoked_function_arn = request_id, deadline, arn

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.deadline - int(time.time() * 1000))


def serve() -> None:
    runtime = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    while True:
        runtime.request("GET", "/2018-06-01/runtime/invocation/next")
        response = runtime.getresponse()
        event = json.loads(response.read())
        request_id = response.getheader("Lambda-Runtime-Aws-Request-Id")
        context = Context(
            request_id,
            int(response.getheader("Lambda-Runtime-Deadline-Ms")),
            response.getheader("Lambda-Runtime-Invoked-Function-Arn"),
        )
        try:
            kind, answer = "response", lambda_handler(event, context)
        except Exception as error:
            kind, answer = "error", {"errorType": type(error).__name__, "errorMessage": str(error)}
        runtime.request("POST", f"/2018-06-01/runtime/invocation/{request_id}/{kind}", json.dumps(answer))
        runtime.getresponse().read()


if __name__ == "__main__":
    serve()
