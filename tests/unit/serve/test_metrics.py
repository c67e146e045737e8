"""The metrics that Prometheus reads."""

from serve_helpers import translate


def test_figures_for_prometheus(client):
    translate(client, "abc")
    translate(client, "abc", beam=99)
    client.get("/nothing/here")
    text = client.get("/metrics").text
    assert 'headway_requests_total{path="/translate",status="200"} 1.0' in text
    assert 'headway_requests_total{path="/translate",status="422"} 1.0' in text
    assert 'headway_requests_total{path="other",status="404"} 1.0' in text
    assert "headway_batch_texts_count 1.0" in text
    assert "headway_waiting_texts 0.0" in text
