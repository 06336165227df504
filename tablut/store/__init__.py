"""One sealed store on a file system: folders with one writer, records with digests, and the files they bind."""
