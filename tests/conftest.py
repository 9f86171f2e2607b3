"""Settings that must hold before scipy is first imported."""

import os

# scikit-learn skips one check per estimator unless scipy was imported with array API support.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
