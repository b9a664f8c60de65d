"""Analyses: facts about a kernel that passes and the lowering ask for. They change nothing."""
