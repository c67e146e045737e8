"""Parts of neural networks: masks, positions, attention, layers, losses, the decoding interface.

Dimensions are named alike in the whole project, batch first:
`B batch  S source length  T target length  Q query length  K key length  H heads  D d_model
E d_head  F d_ff  V vocabulary  N beams  L layers`.
"""
