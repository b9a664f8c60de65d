"""Launch recipes of the development set, one module for each kind of kernel."""
