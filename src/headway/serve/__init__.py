"""Trained runs behind an address: what is asked, batching, processes that compute, HTTP.

`desk` checks what is asked and `engine` answers it, both without HTTP; `batcher` puts texts of many
requests together and knows neither; `pool` is where engines compute; `http` joins them.
"""
