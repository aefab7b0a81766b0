"""A live page of one run or several: `ludus watch`. It reads the folders of runs, and writes nothing into them."""
