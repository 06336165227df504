"""Services for long computations: threads and clusters, memory, clocks, and progress."""
