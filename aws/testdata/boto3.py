"""An account for the test of accept.py: a file with the number of the account and one table in each line."""

import os
import pathlib
import time

time.sleep = lambda _: None  # this account lists what it has at once, so accept.py need not wait before it looks again

STATE = pathlib.Path(os.environ["FAKE_ACCOUNT"])


def lines() -> list[str]:
    return STATE.read_text().split()


class Waiter:
    def wait(self, **_):
        pass


class Client:
    def get_caller_identity(self):
        return {"Account": lines()[0]}

    def can_paginate(self, _):
        return False

    def get_waiter(self, _):
        return Waiter()

    def list_tables(self, **_):
        return {"TableNames": lines()[1:]}

    def list_buckets(self):
        return {"Buckets": []}

    def delete_table(self, TableName):
        if "sticky" not in TableName:
            STATE.write_text("\n".join(line for line in lines() if line != TableName))

    def __getattr__(self, _):
        return lambda **_: {}


class Session:
    def __init__(self, **_):
        pass

    def client(self, _):
        return Client()


def client(*_, **__):
    return Client()
