"""What long work needs wherever it runs: threads and clusters, memory, clocks, and progress."""
