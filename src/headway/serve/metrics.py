"""Prometheus metrics: requests, texts, batches, the queue."""

from typing import Any


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self._generate = prometheus.generate_latest
        self.content_type: str = prometheus.CONTENT_TYPE_LATEST
        self._registry = prometheus.CollectorRegistry()
        common: Any = {"namespace": "headway", "registry": self._registry}
        self._requests = prometheus.Counter(
            "requests", "Requests by path and status.", ["path", "status"], **common
        )
        self._seconds = prometheus.Histogram(
            "request_seconds",
            "From a request's last byte to its answer.",
            ["path"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
            **common,
        )
        self._batch_texts = prometheus.Histogram(
            "batch_texts", "Texts in a batch.", buckets=(1, 2, 4, 8, 16, 32, 64, 128), **common
        )
        self._batch_seconds = prometheus.Histogram(
            "batch_seconds",
            "Seconds of a batch.",
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            **common,
        )
        self._tokens = prometheus.Counter("tokens", "Tokens of answered texts.", **common)
        self._waiting = prometheus.Gauge("waiting_texts", "Texts in the queue.", **common)
        self._running = prometheus.Gauge("running_batches", "Batches being computed.", **common)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Counts a request that was answered, or whose client closed the connection (499)."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def batch(self, texts: int, tokens: int, seconds: float) -> None:
        """Counts a batch."""
        self._batch_texts.observe(texts)
        self._batch_seconds.observe(seconds)
        self._tokens.inc(tokens)

    def render(self, waiting: int, running: int) -> bytes:
        """The metrics in the text format of Prometheus."""
        self._waiting.set(waiting)
        self._running.set(running)
        text: bytes = self._generate(self._registry)
        return text
