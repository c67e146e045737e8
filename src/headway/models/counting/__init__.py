"""Models that learn by counting: Markov chains, n-grams, bag of words and floors of forecasts."""
