"""The tile IR: types, nodes, spans, and what reads, writes and checks them."""
