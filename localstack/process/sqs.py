"""Lets an SQS event source mapping poll as Lambda does: without pause, with several batches in flight.

LocalStack's own poller handles one batch at a time and rests up to a second after an empty answer.
"""

import logging
import threading

LOG = logging.getLogger(__name__)


def use_batches_in_flight(limit: int) -> None:
    """Hand a standard queue's batches to up to limit threads; a FIFO queue's stay in order, one at a time."""
    from localstack.services.lambda_.event_source_mapping.pollers.poller import EmptyPollResultsException
    from localstack.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller

    receive, handle = SqsPoller.poll_events, SqsPoller.handle_messages

    def poll_events(self):
        if not hasattr(self, "_free"):
            self._free = threading.Semaphore(1 if self.is_fifo_queue else limit)
        self._free.acquire()  # before receiving: a message in hand uses up its visibility time-out
        self._handed_over = False
        try:
            receive(self)
        except EmptyPollResultsException:
            pass  # an error to LocalStack, after which it rests
        finally:
            if not self._handed_over:
                self._free.release()

    def handle_messages(self, messages):
        if self.is_fifo_queue:
            return handle(self, messages)
        self._handed_over = True
        threading.Thread(target=work, args=(self, messages), daemon=True, name="sqs-batch").start()

    def work(self, messages):
        try:
            handle(self, messages)
        except Exception as e:  # the function failed: its messages come back after their visibility time-out
            LOG.warning("a batch of %d failed: %s", len(messages), type(e).__name__)
        finally:
            self._free.release()

    SqsPoller.poll_events, SqsPoller.handle_messages = poll_events, handle_messages
