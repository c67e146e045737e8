"""Trained runs behind HTTP.

`validate` checks requests and `engine` answers them, both without HTTP; `batcher` puts texts of
many requests into batches and knows neither; `workers` computes the batches; `service` connects
these, and `app` and `middleware` speak HTTP.
"""
