"""`headway config` as a user runs it: a run file with its defaults, and the reference."""

import json


def test_a_run_file_with_its_defaults_and_the_reference(headway, workdir, tmp_path):
    code, stdout, _ = headway("config", "run.toml", "train.lr=0.5")
    assert code == 0
    assert "lr = 0.5\n" in stdout
    assert 'schedule = "cosine"\n' in stdout, "defaults are filled in"
    (tmp_path / "again.toml").write_text(stdout)
    assert headway("config", str(tmp_path / "again.toml"))[1] == stdout
    assert json.loads(headway("config", "run.toml", "--json")[1])["model"]["d_model"] == 16
    code, reference, _ = headway("config")
    assert code == 0
    assert "| `train.lr` |" in reference


def test_all_errors_are_reported_at_once(headway):
    code, _, stderr = headway("config", "run.toml", "train.lr=fast", "model.d_modle=3")
    assert code == 2
    assert [line[:16] for line in stderr.splitlines()] == ["headway: error: "] * 2
