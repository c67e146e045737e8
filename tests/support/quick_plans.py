"""Budgets in minutes that mean a few updates, on a machine of any speed."""

from headway.training.plan import MinutesPlan


def plan_few_updates(monkeypatch, steps: int = 4) -> None:
    """Makes every budget in minutes a plan of `steps` updates; nothing is timed."""
    plan = MinutesPlan(steps, validations=2, share=1.0)
    monkeypatch.setattr("headway.training.plan.plan_minutes", lambda config, measure: plan)
