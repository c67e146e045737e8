"""Parts of neural networks: masks, positions, attention, layers, losses, the step seam.

One legend of dimensions for the whole project, batch first:
`B batch  S source length  T target length  Q query length  K key length  H heads  D d_model
E d_head  F d_ff  V vocabulary  N beams  L layers`.
"""
