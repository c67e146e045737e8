"""Trained models in use: load, translate, predict, generate, embed. Never imports the trainer."""
