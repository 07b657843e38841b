"""The command `indextables`: what IndexTable does, from a shell."""
