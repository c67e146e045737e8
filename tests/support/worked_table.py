"""The table of log probabilities of the worked example: anything not listed is impossible."""

PIE = {
    "": {"he": -0.7, "i": -0.9},
    "he": {"hit": -1.0, "struck": -2.2},
    "i": {"was": -0.7, "got": -0.9},
    "he hit": {"a": -1.1, "me": -0.8},
    "i was": {"hit": -1.3, "struck": -2.3},
    "he hit me": {"with": -0.8, "on": -1.9},
    "he hit a": {"pie": -0.5, "tart": -1.0},
    "he hit me with": {"a": -0.6, "one": -1.6},
    "he hit me with a": {"pie": -0.3, "tart": -0.9},
    "i was hit": {"END": -0.1},
    "i was struck": {"END": -0.1},
    "he hit a pie": {"END": -0.1},
    "he hit a tart": {"END": -0.1},
    "he hit me with a pie": {"END": -0.1},
    "he hit me with a tart": {"END": -0.1},
}
