"""`headway average` as a user runs it."""


def test_an_average_is_a_run_of_its_own(headway, fails, trained, workdir):
    code, stdout, _ = headway("average", "run", "--last", "2", "--out", "averaged")
    assert (code, stdout) == (0, "averaged: average of steps 32, 40\n")
    assert len(headway("translate", "averaged", "test.src", "--beam", "1")[1].splitlines()) == 8
    assert "weights:      average of steps 32, 40, step 40" in headway("info", "averaged")[1]
    assert "is an average of checkpoints and cannot be resumed; resume " in fails(
        1, "resume", "averaged"
    )
    message = fails(1, "average", "run", "--last", "9", "--out", "more")
    assert message.startswith(
        "run has 3 regular checkpoints: steps 16, 32, 40; the last 9 cannot be"
    )
    assert "already holds a run" in fails(1, "average", "run", "--last", "2", "--out", "averaged")
