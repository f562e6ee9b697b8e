"""Detection variants, and the presets that are ones."""

from support.detector_variants import manifest, pytest_generate_tests, variant

__all__ = ["manifest", "pytest_generate_tests", "variant"]
