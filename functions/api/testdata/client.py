"""A client of the API in another language, with nothing but Python's standard library.

It makes 500 requests of 200 payments from 16 threads to servers that are killed meanwhile: parallel duplicates, time-outs, retries under
the same Idempotency-Key. It prints what each payment was answered with, and fails if two answers to one key differ.
"""

import concurrent.futures
import json
import random
import sys
import threading
import time
import urllib.error
import urllib.request

PORTS = sys.argv[1:]
PAYMENTS, REQUESTS, THREADS, TRIES = 200, 500, 16, 400

lock = threading.Lock()
answers = {}  # payment → its answer
counts = {"lost": 0, "conflict": 0, "unavailable": 0, "replayed": 0, "first": 0}


def count(what):
    with lock:
        counts[what] += 1


def post(key, body, timeout):
    """Sends one request. Returns None if there is no answer."""
    request = urllib.request.Request(
        "http://127.0.0.1:%s/payments" % random.choice(PORTS),
        data=json.dumps(body).encode(),
        # The servers are one service: each gets the name that the client would have used for a load balancer in front of them.
        headers={"Host": "api.example.com", "Idempotency-Key": key, "Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as got:
            return got.status, dict(got.headers), got.read().decode()
    except urllib.error.HTTPError as got:
        try:
            return got.code, dict(got.headers), got.read().decode()
        except OSError:
            return None
    except (OSError, urllib.error.URLError, ValueError) as _:
        return None  # refused, reset, cut off or too slow
    except Exception as error:  # http.client's own, for half an answer
        if type(error).__module__ == "http.client":
            return None
        raise


def pursue(number):
    """Repeats a payment until it is accepted."""
    key, body = "payment-%d" % number, {"account": "a-%d" % number, "amount": number + 1}

    for _ in range(TRIES):
        got = post(key, body, timeout=random.choice([5, 5, 5, 0.02]))
        if got is None:
            count("lost")
            time.sleep(0.02)
            continue

        status, headers, text = got
        if status in (409, 503):
            if int(headers["Retry-After"]) < 1:
                raise AssertionError("Retry-After: %s" % headers["Retry-After"])
            count("conflict" if status == 409 else "unavailable")
            time.sleep(0.1)  # a test cannot wait for as long as the server asks
            continue

        if status != 202 or "Set-Cookie" in headers:
            raise AssertionError("%s: status %d, %s: %s" % (key, status, headers, text))

        count("replayed" if headers["Idempotent-Replayed"] == "true" else "first")
        kept = [status, headers["Content-Type"], headers["Location"], headers["Content-Length"], text]
        with lock:
            if answers.setdefault(key, kept) != kept:
                raise AssertionError("%s: %s, and before %s" % (key, kept, answers[key]))
        return

    raise AssertionError("%s: no answer after %d tries" % (key, TRIES))


def reuse(number):
    """Uses the key of a payment for another one."""
    for _ in range(TRIES):
        got = post("payment-%d" % number, {"account": "another", "amount": 1}, timeout=5)
        if got is not None and got[0] == 422 and json.loads(got[2])["type"].endswith("#key-reused"):
            return
        if got is not None and got[0] != 503:
            raise AssertionError("another payment under a key: %s" % (got,))
        time.sleep(0.02)

    raise AssertionError("no answer to a key that is used again")


with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
    work = [pool.submit(pursue, n % PAYMENTS) for n in random.sample(range(REQUESTS), REQUESTS)]
    for done in work:
        done.result()
    for done in [pool.submit(reuse, n) for n in range(0, PAYMENTS, 10)]:
        done.result()

print(json.dumps({"answers": answers, "counts": counts}))
