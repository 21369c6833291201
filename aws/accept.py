"""Runs the project once in an AWS account: the contract on real tables, the sample stack, its scenarios and a canary. `make aws` starts it.

    accept.py             says what it would do and what that costs, and does nothing
    accept.py run         does it, deletes everything it made, looks whether anything is left, and writes a transcript
    accept.py clean NAME  deletes what an earlier run of that name has left

IDEMDDB_AWS_ACCOUNT must be the id of the account that the credentials belong to: it is what says yes. AWS_REGION says where. SAM is the sam
program; this runs with the Python that sam brings, which has boto3. Where AWS_ENDPOINT_URL is set, such as LocalStack's, nothing costs
anything, and what that endpoint cannot do (CodeDeploy) is left out, which the transcript says.

Everything that is made has a name that begins with that of the run, idemddb-accept- and eight characters.
"""

import contextlib
import datetime
import os
import pathlib
import platform
import re
import secrets
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = re.compile(r"idemddb-accept-[0-9a-f]{8}")

# List prices of us-east-1. The numbers are those of a run on LocalStack on 21 November 2026, rounded up.
COSTS = """
  30,000 write units of DynamoDB, on demand, at $0.625 a million    $0.019
  20,000 read units at $0.125 a million                             $0.003
  3,000 invocations of Lambda, 256 MB, 100 ms each                  $0.002
  10,000 requests of SQS at $0.40 a million                         $0.004
  50 metrics and 22 of alarms for an hour                           $0.024
  logs, storage, KMS, S3                                            $0.010
  sum                                                               $0.062, below $0.10"""


class Refused(Exception):
    """Nothing was done: its text says what is missing."""


class Transcript:
    """What is said goes to the screen and into a file."""

    def __init__(self, name: str):
        self.path = pathlib.Path(os.environ.get("IDEMDDB_TRANSCRIPTS", ROOT / "aws")) / f"transcript-{name}.txt"
        self._file = self.path.open("w", buffering=1)

    def say(self, text: str = "") -> None:
        print(text, flush=True)
        print(text, file=self._file)

    def command(self, headline: str, command: list[str], env: dict[str, str] | None = None, keep: str = "", most: int = 1800) -> bool:
        """Run a command; keep the lines that match, and if it fails all but those of tests that pass. Returns whether it succeeded."""
        self.say(f"\n== {headline}")
        began = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            output, _ = process.communicate(timeout=most)
        except BaseException:
            process.kill()
            process.wait()
            raise
        for line in output.splitlines():
            if keep and re.search(keep, line) or process.returncode and not re.match(r"\s*(===|--- PASS)", line):
                self.say(line)
        self.say(f"-- {headline}: {'passed' if process.returncode == 0 else 'FAILED'} after {time.monotonic() - began:.0f} s")
        return process.returncode == 0


def guard() -> str:
    """Return the account's id, or refuse."""
    account = os.environ.get("IDEMDDB_AWS_ACCOUNT", "")
    if not re.fullmatch(r"[0-9]{12}", account):
        raise Refused(f"IDEMDDB_AWS_ACCOUNT={account!r}: set it to the 12 digits of the account to run in. This creates resources there that cost:{COSTS}")
    if not os.environ.get("AWS_REGION"):
        raise Refused("AWS_REGION is not set: name the Region to run in")
    import boto3

    found = boto3.client("sts", region_name=os.environ["AWS_REGION"]).get_caller_identity()["Account"]
    if found != account:
        raise Refused(f"IDEMDDB_AWS_ACCOUNT is {account}, and the credentials are of {found}: nothing is done")
    return account


def is_aws() -> bool:
    return not os.environ.get("AWS_ENDPOINT_URL")


def architecture() -> str:
    """The deployed processor: LocalStack runs functions on this machine's."""
    return "arm64" if is_aws() or platform.machine() in ("arm64", "aarch64") else "x86_64"


class Account:
    """What is made in the account under one name."""

    def __init__(self, name: str):
        import boto3

        self._session = boto3.Session(region_name=os.environ["AWS_REGION"])
        self.name = name

    def client(self, service: str):
        return self._session.client(service)

    def pages(self, service: str, operation: str, key: str, **arguments) -> list:
        client = self.client(service)
        if not client.can_paginate(operation):
            return getattr(client, operation)(**arguments).get(key, [])
        return [item for page in client.get_paginator(operation).paginate(**arguments) for item in page.get(key, [])]

    def left(self) -> list[str]:
        """Everything under the name, by kind. It looks by name, not by tag: a tag can be missing."""
        name = self.name
        found = [f"table {t}" for t in self.pages("dynamodb", "list_tables", "TableNames") if t.startswith(name)]
        found += [f"queue {u}" for u in self.pages("sqs", "list_queues", "QueueUrls", QueueNamePrefix=name)]
        found += [f"function {f['FunctionName']}" for f in self.pages("lambda", "list_functions", "Functions") if f["FunctionName"].startswith(name)]
        found += [f"log group {g['logGroupName']}" for g in self.pages("logs", "describe_log_groups", "logGroups") if name in g["logGroupName"]]
        found += [f"alarm {a['AlarmName']}" for a in self.pages("cloudwatch", "describe_alarms", "MetricAlarms", AlarmNamePrefix=name)]
        found += [f"rule {r['Name']}" for r in self.pages("events", "list_rules", "Rules", NamePrefix=name)]
        found += [f"role {r['RoleName']}" for r in self.pages("iam", "list_roles", "Roles") if r["RoleName"].startswith(name)]
        found += [f"bucket {b['Name']}" for b in self.client("s3").list_buckets()["Buckets"] if b["Name"].startswith(name)]
        stacks = [s for s in self.pages("cloudformation", "describe_stacks", "Stacks") if s["StackStatus"] != "DELETE_COMPLETE"]
        found += [f"stack {s['StackName']}" for s in stacks if s["StackName"].startswith(name)]
        if is_aws():
            found += [f"dashboard {d['DashboardName']}" for d in self.pages("cloudwatch", "list_dashboards", "DashboardEntries", DashboardNamePrefix=name)]
            found += [f"query {q['name']}" for q in self.pages("logs", "describe_query_definitions", "queryDefinitions", queryDefinitionNamePrefix=name)]
            found += [f"application {a}" for a in self.pages("codedeploy", "list_applications", "applications") if a.startswith(name)]
        return found

    def clean(self) -> None:
        """Delete everything under the name. The stack keeps its tables, and its versions under Retain, so those go by themselves."""
        stacks = self.client("cloudformation")
        if f"stack {self.name}" in self.left():
            stacks.delete_stack(StackName=self.name)
            stacks.get_waiter("stack_delete_complete").wait(StackName=self.name, WaiterConfig={"Delay": 5, "MaxAttempts": 120})
        for kind, _, what in (resource.partition(" ") for resource in self.left()):
            if kind == "table":
                self.client("dynamodb").update_table(TableName=what, DeletionProtectionEnabled=False)
                self.client("dynamodb").get_waiter("table_exists").wait(TableName=what)
                self.client("dynamodb").delete_table(TableName=what)
                self.client("dynamodb").get_waiter("table_not_exists").wait(TableName=what)
            elif kind == "bucket":
                bucket = self._session.resource("s3").Bucket(what)
                bucket.objects.all().delete()
                bucket.delete()
            elif what.startswith("group "):
                self.client("logs").delete_log_group(logGroupName=what.removeprefix("group "))
            elif kind == "function":  # one that a version with Retain kept
                self.client("lambda").delete_function(FunctionName=what)


def canary(transcript: Transcript, deploy) -> bool:
    """Roll out another version while payments arrive, and look for the version to go back to."""
    if not is_aws():
        transcript.say("\n== canary: NOT DONE: this endpoint has no CodeDeploy, and cannot update an alias")
        return True
    return deploy("canary: a version with another parameter takes over, a tenth for five minutes", "PauseMs=1")


def run(account_id: str) -> int:
    name = f"idemddb-accept-{secrets.token_hex(4)}"
    account, transcript = Account(name), Transcript(name)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    where = "AWS" if is_aws() else f"{os.environ['AWS_ENDPOINT_URL']}, which is not AWS"
    hidden = account_id[:2] + "…" + account_id[-2:]
    transcript.say(f"{name}: commit {commit}, on {where}, Region {os.environ['AWS_REGION']}, account {hidden}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC")
    transcript.say(f"A run costs at most:{COSTS if is_aws() else ' nothing here'}")
    passed = False
    try:
        passed = steps(account, transcript)
    except KeyboardInterrupt:
        transcript.say("\ninterrupted")
    except Exception as e:  # whatever it was, what was made must be deleted
        transcript.say(f"\n{type(e).__name__}: {e}")
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        passed = clean(account, transcript) and passed
    transcript.say(f"\n{'PASSED' if passed else 'FAILED'}. Transcript: {transcript.path}")
    return 0 if passed else 1


def steps(account: Account, transcript: Transcript) -> bool:
    sam, name = os.environ.get("SAM", "sam"), account.name
    go = {"IDEMDDB_ACCEPTANCE": name}
    results = r"^(ok|FAIL|---|\s+---) |payments twice|attempt \d|audit: "
    parameters = [f"Architecture={architecture()}", "FunctionTimeout=5", "MaxReceiveCount=3", "LogRetentionDays=1", "Dashboard=false"]
    parameters += ["Rollout=Canary10Percent5Minutes"] if is_aws() else ["UnverifiedCaller=local"]

    def deploy(headline: str, *more: str) -> bool:
        command = [sam, "deploy", "--stack-name", name, "--no-resolve-s3", "--s3-bucket", name, "--no-progressbar", "--no-confirm-changeset"]
        return transcript.command(headline, [*command, "--parameter-overrides", *parameters, *more], keep=r"^(Successfully|Error)")

    def create_bucket() -> None:
        region = os.environ["AWS_REGION"]
        place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        account.client("s3").create_bucket(Bucket=name, **place)

    parallel = "16" if is_aws() else "2"  # one machine with all of it: requests that wait for more than 2 s would be given up and sent again
    contract = ["go", "test", "-tags", "aws", "-count=1", "-parallel", parallel, "-timeout", "25m", "-v", "-run", "TestContractOnAWS", "./internal/contract"]
    scenarios = ["go", "test", "-tags", "aws", "-count=1", "-timeout", "25m", "-v", "-run", "TestOnAWS", "./localstack/e2e"]
    passed = transcript.command("the contract on two tables", contract, go, keep=r"^(ok|FAIL|---) |^    ---")
    create_bucket()
    passed &= transcript.command("sam build", ["localstack/package.sh", "--parameter-overrides", parameters[0]], {"SAM": sam})
    if not deploy("sam deploy"):
        return False
    passed &= transcript.command("scenarios on the deployed stack", scenarios, go, keep=results)
    return canary(transcript, deploy) and passed


def clean(account: Account, transcript: Transcript) -> bool:
    transcript.say("\n== delete everything")
    for attempt in range(4):  # what was deleted can be listed for a moment
        time.sleep(3 if attempt else 0)
        try:
            account.clean()
        except Exception as e:
            transcript.say(f"{type(e).__name__}: {e}")
        if not (left := account.left()):
            break
    for resource in left:
        transcript.say(f"LEFT: {resource}")
    if left:
        transcript.say(f"Delete them: make aws CLEAN={account.name}")
    else:
        transcript.say("-- tables, queues, functions, log groups, alarms, rules, roles, buckets and stacks were listed: nothing of this name is left")
    return not left


def main(arguments: list[str]) -> int:
    match arguments:
        case []:
            print(f"{__doc__}\nA run costs at most:{COSTS}\n\n    IDEMDDB_AWS_ACCOUNT=111122223333 AWS_REGION=eu-west-1 make aws")
            return 2
        case ["run"]:
            return run(guard())
        case ["clean", name] if NAME.fullmatch(name):
            guard()
            account = Account(name)
            account.clean()
            for resource in (left := account.left()):
                print("LEFT:", resource)
            return 1 if left else 0
    raise Refused(f"{' '.join(arguments)}? It is run, or clean and a name such as idemddb-accept-0123abcd")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            sys.exit(main(sys.argv[1:]))
        except Refused as e:
            sys.exit(f"aws: {e}")
