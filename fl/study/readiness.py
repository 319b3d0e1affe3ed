"""What every process of a study would have to make for itself, made once: see `fl.study.local`.

The server that processes are forked from imports this, and all of them find it ready.
"""

import numpy as np
import pyarrow as pa

from fl import provenance
from fl.study import jobs

__all__ = ["jobs"]

pa.array(np.zeros(1))  # imports pandas, where that is installed: half a second
provenance.own_sources()
