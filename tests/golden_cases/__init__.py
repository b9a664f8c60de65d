"""Golden cases: any module put here is imported, and registers its cases with `@golden_case`."""
