"""Networks that learn with numbers of eight bits: batch norms folded, weights and maps rounded, ranges learnt."""
