"""A client of the deployed API in another language, with the package requests and urllib3's retries, as people write one.

client.py load URL HOST: sends 500 POSTs of 200 payments from 12 threads, while processes are killed: parallel duplicates, time-outs, retries
under the same Idempotency-Key. Then it sends another payment under each tenth key. It prints what each payment was answered with, and fails
if two answers to one key differ.

client.py held URL HOST KEY LEASE: sends a payment under a key that another worker holds until LEASE, in seconds since 1970. It fails if the
Retry-After of the 409 is longer than the lease, or if a client that waits for so long again and again is not answered.
"""

import concurrent.futures
import json
import random
import sys
import threading
import time

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

MODE, URL, HOST = sys.argv[1:4]
PAYMENTS, REQUESTS, THREADS, TRIES = 200, 500, 12, 100
KEPT = ["Content-Type", "Content-Length", "Location"]  # of the allowed headers, those that the API sends
MORE = 3  # seconds that Retry-After may be longer than the lease: for the difference of clocks, for the whole second, and for the way

lock = threading.Lock()
own = threading.local()
answers = {}  # key → its answer
counts = {"first": 0, "replayed": 0, "timed out": 0, "retried": 0}


def session(retry):
    """A session that repeats a request by itself. That is safe for POST because each has a key."""
    made = requests.Session()
    made.mount("http://", HTTPAdapter(max_retries=retry))
    return made


def load_session():
    if not hasattr(own, "session"):
        statuses = [429, 500, 502, 503, 504]
        own.session = session(Retry(total=3, backoff_factor=0.1, status_forcelist=statuses, allowed_methods=["POST"], raise_on_status=False))
    return own.session


def count(what, n=1):
    with lock:
        counts[what] += n


def post(with_session, key, body, timeout):
    headers = {"Host": HOST, "Idempotency-Key": key, "Content-Type": "application/json"}
    got = with_session.post(URL + "/payments", data=json.dumps(body), headers=headers, timeout=timeout)
    count("retried", len(got.raw.retries.history))
    if "Set-Cookie" in got.headers:
        raise AssertionError("%s: a cookie: %s" % (key, got.headers))
    return got


def answer(key, body, impatient=0.0):
    """Repeats a request until it is answered."""
    for _ in range(TRIES):
        try:
            got = post(load_session(), key, body, timeout=0.05 if random.random() < impatient else 20)
        except requests.RequestException:  # too slow, cut off or refused, and that three times again
            count("timed out")
            continue
        if got.status_code not in (502, 503):
            return got

    raise AssertionError("%s: no answer after %d tries" % (key, TRIES))


def pay(number):
    key = "payment-%d" % number
    got = answer(key, {"account": "python-%d" % number, "amount": number + 1}, impatient=0.1)
    if got.status_code != 202:
        raise AssertionError("%s: %d %s" % (key, got.status_code, got.text))

    count("replayed" if got.headers["Idempotent-Replayed"] == "true" else "first")
    kept = {"status": got.status_code, "headers": {name: got.headers[name] for name in KEPT}, "body": got.text}
    with lock:
        if answers.setdefault(key, kept) != kept:
            raise AssertionError("%s: %s, and before %s" % (key, kept, answers[key]))


def reuse(number):
    """Uses the key of a payment for another one."""
    got = answer("payment-%d" % number, {"account": "another", "amount": 1})
    if got.status_code != 422 or not got.json()["type"].endswith("#key-reused"):
        raise AssertionError("another payment under a key: %d %s" % (got.status_code, got.text))


def load():
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        order = sorted(range(REQUESTS), key=lambda n: n % PAYMENTS + random.uniform(0, 10))  # duplicates are close to each other
        for done in [pool.submit(pay, n % PAYMENTS) for n in order]:
            done.result()
        for done in [pool.submit(reuse, n) for n in range(0, PAYMENTS, 10)]:
            done.result()
    print(json.dumps({"answers": answers, "counts": counts}))


def held(key, lease):
    body = {"account": "python-held", "amount": 1}
    sent = time.time()
    got = post(session(Retry(0)), key, body, timeout=20)
    if got.status_code != 409 or not got.json()["type"].endswith("#key-in-progress"):
        raise AssertionError("%s is held: %d %s" % (key, got.status_code, got.text))

    wait = int(got.headers["Retry-After"])
    if wait < 1 or sent + wait > lease + MORE:
        raise AssertionError("Retry-After is %d s, and the lease ends in %.1f s" % (wait, lease - sent))

    # urllib3 waits for as long as Retry-After says: as long as the last requests took, because most keys are in progress for no longer. The
    # holder of this key is dead, so the client asks until its lease is over.
    got = post(session(Retry(total=20, status_forcelist=[409], allowed_methods=["POST"])), key, body, timeout=60)
    if got.status_code != 202 or len(got.raw.retries.history) < 1:
        raise AssertionError("%s was held: %d %s after %s" % (key, got.status_code, got.text, got.raw.retries.history))
    print(json.dumps({"retryAfter": wait}))


if MODE == "load":
    load()
else:
    held(sys.argv[4], float(sys.argv[5]))
