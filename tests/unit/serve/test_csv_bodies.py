"""CSV files as bodies: as their text in JSON, with the parameters of the address."""

import pytest

CSV = "date,load,sun\n2024-01-01 00:00,1,2\n2024-01-01 01:00,2,\n2024-01-01 02:00,3,1\n"
PLAIN = {"content-type": "text/csv"}


def problem(response, status, code):
    assert response.status_code == status, response.text
    assert response.json()["error"]["code"] == code
    return response.json()["error"]["message"]


def test_a_file_is_the_same_as_its_text(client):
    asked = {"model": "plain", "csv": CSV, "horizon": 3}
    expected = client.post("/forecast", json=asked)
    assert expected.status_code == 200
    for headers in (PLAIN, {"content-type": "Text/CSV; charset=utf-8"}):
        response = client.post("/forecast?model=plain&horizon=3", content=CSV, headers=headers)
        assert response.json() == expected.json()
    marked = "\ufeff" + CSV
    response = client.post("/forecast?horizon=3&model=plain", content=marked, headers=PLAIN)
    assert response.json() == expected.json()


@pytest.mark.parametrize(
    ("query", "body", "status", "code", "message"),
    [
        ("?model=plain", b"\xff", 400, "malformed", "not UTF-8"),
        ("?model=plain&zz=1", CSV, 422, "invalid", "zz is not a known parameter"),
        ("?model=plain&horizon=", CSV, 422, "invalid", "horizon is wrong"),
        ("?model=plain&horizon=9999999999", CSV, 422, "invalid", "horizon is wrong"),
        ("?model=nobody", CSV, 422, "invalid", "no such model"),
        ("?model=mine", CSV, 422, "invalid", "was trained for task 'translate'"),
        ("?model=plain", "", 422, "invalid", "csv is empty"),
    ],
)
def test_files_that_are_refused(client, query, body, status, code, message):
    response = client.post(f"/forecast{query}", content=body, headers=PLAIN)
    assert message in problem(response, status, code)


def test_json_that_is_declared_as_a_file(client):
    response = client.post("/forecast", content=b' {"series": []}', headers=PLAIN)
    message = problem(response, 415, "wrong_type")
    assert message == (
        "the Content-Type is 'text/csv' and the body is JSON; send it with -H 'content-type: "
        "application/json'"
    )


def test_other_paths_take_no_csv(client):
    message = problem(client.post("/translate", content=CSV, headers=PLAIN), 415, "wrong_type")
    assert "text/csv" in message
