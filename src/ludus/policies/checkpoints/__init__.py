"""Reading and writing checkpoints, with checksums and with limits for files from strangers."""
