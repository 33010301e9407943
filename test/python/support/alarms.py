"""Signals that come at events, at no time of a clock."""

import queue
import signal
import sys
import threading

WHERE_THE_LOCK_IS_GIVEN = 1000  # seconds: nobody is asked for the lock
SOON = 1e-6


class Alarm:
    """A thread that sends SIGALRM to this one. It needs the interpreter's lock for that, and gets it where this thread gives
    it away: to run a plan, to wait for the compiler. With `switch=SOON` this thread is asked for it, so that a signal also
    comes between two of Python's instructions."""

    def __init__(self, handler=lambda: None, switch=WHERE_THE_LOCK_IS_GIVEN):
        # A queue may be written to from a handler that comes while this thread writes to it; a semaphore may not.
        self.calls, self.asked, self.ended = 0, queue.SimpleQueue(), False
        self.handler, self.count, self.switch = handler, 0, switch

    def __enter__(self):
        self.interval, self.before = sys.getswitchinterval(), signal.signal(signal.SIGALRM, self.handle)
        sys.setswitchinterval(self.switch)
        self.thread = threading.Thread(target=self.send, args=(threading.get_ident(),))
        self.thread.start()
        return self

    def __exit__(self, *info):
        self.ended, self.handler, self.count = True, lambda: None, 0
        self.asked.put(True)
        self.thread.join()
        sys.setswitchinterval(self.interval)
        signal.signal(signal.SIGALRM, self.before)

    def send(self, main):
        while self.asked.get() and not self.ended:
            signal.pthread_kill(main, signal.SIGALRM)

    def handle(self, *_):
        self.calls += 1
        if self.calls < self.count:
            self.asked.put(True)
        self.handler()

    def ring(self, count=1):
        """The handler is called at the next moment, and as often as `count` says at those behind it."""
        self.calls, self.count = 0, count
        self.asked.put(True)
