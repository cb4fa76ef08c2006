"""The bars of consensus.py whose peers fill n x n matrices, and those on features, on their own.

At 20,000 points EAC and CSPA beside fastcluster and METIS on the whole co-association; at 11,162
points the memory of LSCE and NSCE, which run beside the others, because memory is all that is
compared with their bars. ``consensus.py`` says what the bars are and prints these rows, too.
``--check`` needs 6 GB of memory.
"""

from __future__ import annotations

import consensus

if __name__ == "__main__":
    consensus.main("dense")
