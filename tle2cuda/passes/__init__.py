"""The passes, one a file; `pipeline` alone lists their order."""
