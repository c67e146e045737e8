"""Every public module has a test file of its name, in the folder that mirrors its own."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = ROOT / "src" / "headway", ROOT / "tests"

STILL_MISSING = {
    "cli/evaluate/test_command.py",
    "cli/evaluate/test_tables.py",
    "cli/test_average.py",
    "cli/test_config.py",
    "cli/test_demo.py",
    "cli/test_eval_data.py",
    "cli/test_export.py",
    "cli/test_import.py",
    "cli/test_info.py",
    "cli/test_options.py",
    "cli/test_predict.py",
    "cli/test_program.py",
    "cli/test_progress.py",
    "cli/test_resume.py",
    "cli/test_score.py",
    "cli/test_search_options.py",
    "cli/test_streams.py",
    "cli/test_train.py",
    "inference/test_base.py",
    "inference/test_engines.py",
    "inference/test_evaluation.py",
    "inference/test_load.py",
    "inference/test_question_answering.py",
    "inference/test_regressor.py",
    "inference/test_tagger.py",
    "inference/test_text_encoder.py",
    "inspection/test_build.py",
    "inspection/test_html_page.py",
    "inspection/test_hypothesis.py",
    "inspection/test_run_info.py",
    "inspection/test_run_summary.py",
    "inspection/test_serialize.py",
    "interop/hugging_face/test_architecture.py",
    "interop/hugging_face/test_architectures.py",
    "interop/hugging_face/test_bart.py",
    "interop/hugging_face/test_bert.py",
    "interop/hugging_face/test_config_map.py",
    "interop/hugging_face/test_folder.py",
    "interop/hugging_face/test_generation_config.py",
    "interop/hugging_face/test_gpt2.py",
    "interop/hugging_face/test_pooling.py",
    "interop/hugging_face/test_sentence_transformers.py",
    "interop/hugging_face/test_t5.py",
    "interop/hugging_face/test_tokenizer_files.py",
    "interop/test_libraries.py",
    "interop/test_unsupported.py",
    "interop/test_verify.py",
    "metrics/test_references.py",
    "metrics/test_score.py",
    "studies/test_finding.py",
    "studies/test_gradients.py",
    "studies/test_learned.py",
    "studies/test_recall.py",
    "tasks/pretrain/test_config.py",
    "tasks/pretrain/test_denoising.py",
    "tasks/pretrain/test_headless.py",
    "tasks/pretrain/test_masked_lm.py",
    "tasks/pretrain/test_unilm.py",
    "tasks/test_config.py",
    "teaching/test_search_tree.py",
    "test_api.py",
    "training/test_batch_stream.py",
    "training/test_config.py",
    "training/test_context.py",
    "training/test_counting.py",
    "training/test_distributed.py",
    "training/test_job_builder.py",
    "training/test_loop.py",
    "training/test_resolve.py",
    "training/test_run_data.py",
    "training/test_seeds.py",
    "training/test_timing.py",
    "view/test_text_table.py",
}
"""Test files that are yet to be written. Nothing may be added; take out what you write."""


def missing(package: Path, tests: Path) -> set[str]:
    """Test files that should be there and are not.

    A command may instead be tested as a user runs it, in `tests/system/test_cli_<verb>.py`.
    """
    absent = set()
    for path in sorted(package.rglob("*.py")):
        if path.stem.startswith("_"):
            continue
        module, name = path.relative_to(package), path.stem.strip("_")
        expected = module.with_name(f"test_{name}.py")
        accepted = [tests / "unit" / expected]
        if module.parts[0] == "cli":
            verb = module.parts[1] if len(module.parts) > 2 else name
            accepted.append(tests / "system" / f"test_cli_{verb}.py")
        if not any(file.exists() for file in accepted):
            absent.add(expected.as_posix())
    return absent


def test_every_public_module_has_a_test_file():
    assert sorted(missing(PACKAGE, TESTS) - STILL_MISSING) == []


def test_what_is_written_is_no_longer_listed():
    assert sorted(STILL_MISSING - missing(PACKAGE, TESTS)) == []


def test_the_check_names_what_is_missing(tmp_path):
    for name in (
        "package/nn/masks.py",
        "package/nn/rng.py",
        "package/nn/_hidden.py",
        "package/api.py",
        "package/cli/import_.py",
        "package/cli/train.py",
        "tests/unit/nn/test_rng.py",
        "tests/system/test_cli_import.py",
        "tests/system/test_cli_rng.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = missing(tmp_path / "package", tmp_path / "tests")
    assert names == {
        "nn/test_masks.py",
        "test_api.py",
        "cli/test_train.py",
    }
