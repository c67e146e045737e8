"""Models that learn by counting: Markov chains, n-grams and bag of words."""
