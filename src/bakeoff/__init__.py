"""Train TensorFlow vision models on your own data; keep every variant reproducible and comparable.

The code that runs is the code of the folder one stands in. DVC runs an experiment in a temporary
copy of the repository, where `import bakeoff` would still find the editable install of the main
one; so a workspace with its own `src/bakeoff` takes its modules from there.
"""

from pathlib import Path

if Path("dvc.yaml").is_file() and Path("src/bakeoff/stages").is_dir():
    __path__ = [str(Path("src/bakeoff").resolve())]
