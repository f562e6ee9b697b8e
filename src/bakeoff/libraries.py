"""Which versions of libraries are installed, without loading them.

library_version("tensorflow") -> "2.21.0", be it from the package tensorflow or from tensorflow-cpu
"""

from importlib.metadata import PackageNotFoundError, version

PACKAGES = {"tensorflow": ("tensorflow", "tensorflow-cpu")}  # that have the same modules; one of them is installed


def library_version(library: str) -> str:
    """Return it; raises PackageNotFoundError."""
    return version(package_of(library))


def package_of(library: str) -> str:
    """Return the name of the package that holds a library: the first that is installed, else the library's own."""
    for package in PACKAGES.get(library, ()):
        try:
            version(package)
        except PackageNotFoundError:
            continue
        return package
    return library
