"""A folder that `tle2cuda run` puts on the path of a script's process; see `sitecustomize`."""
