"""Long work: folders with one writer, records and parts with digests, tasks on threads and clusters, verification.

`tablut.work.parts` describes the files that tasks write, and `tablut.work.run` how tasks run and how damage is mended.
The subpackage also contains what the rest of the toolkit needs of files, clocks and the machine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
