"""Fault injection: damaged stores, made certificates, fuzzed inputs, kills; every outcome judged.

Run it from the root of the repository::

    python -m tests.faults

Nothing here knows how the program works inside. It starts `tablut` as a user does and
looks at the exit code, at what was printed, and at the files that are left. POSIX only:
each trial is a fork of a process that has the kernels in memory.
"""
