"""Train TensorFlow vision models on your own data; keep every variant reproducible and comparable.

The code that runs is the code of the folder one stands in. DVC runs an experiment in a temporary
copy of the repository, where `import bakeoff` would still find the editable install of the main
one; so a workspace with its own `src/bakeoff` takes its modules from there.
"""

import os.path  # which Python has loaded by now; a Path takes long enough for a Ctrl-C to come in between

if os.path.isfile("dvc.yaml") and os.path.isdir("src/bakeoff/stages"):
    __path__ = [os.path.realpath("src/bakeoff")]
