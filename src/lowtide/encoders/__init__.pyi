# The public names and their modules: what type checkers read, and what `lowtide._later.names_in_stub` imports from.
from lowtide.encoders.activation import (
    ActivationFeatures as ActivationFeatures,
)
from lowtide.encoders.asymmetric import (
    AsymmetricFeatures as AsymmetricFeatures,
)
from lowtide.encoders.codebooks import (
    DitheredCosines as DitheredCosines,
    dithered_codes as dithered_codes,
    fourier_codebook as fourier_codebook,
    fourier_codes as fourier_codes,
    linear_codes as linear_codes,
    steps_of_codes as steps_of_codes,
)
from lowtide.encoders.drawn.activation import (
    DrawnActivation as DrawnActivation,
)
from lowtide.encoders.drawn.asymmetric import (
    DrawnAsymmetric as DrawnAsymmetric,
)
from lowtide.encoders.drawn.base import (
    DrawnEncoder as DrawnEncoder,
    check_identity as check_identity,
    drawn_from_state as drawn_from_state,
)
from lowtide.encoders.drawn.fourier import (
    DrawnFeatures as DrawnFeatures,
)
from lowtide.encoders.drawn.learned import (
    DrawnLearned as DrawnLearned,
)
from lowtide.encoders.drawn.sketch import (
    DrawnSketch as DrawnSketch,
)
from lowtide.encoders.drawn.ternary import (
    DrawnTernary as DrawnTernary,
)
from lowtide.encoders.encoder import (
    Encoder as Encoder,
)
from lowtide.encoders.kinds import (
    ENCODERS as ENCODERS,
)
from lowtide.encoders.learned import (
    LearnedFeatures as LearnedFeatures,
)
from lowtide.encoders.measures import (
    RowMeasures as RowMeasures,
)
from lowtide.encoders.nearest import (
    Found as Found,
)
from lowtide.encoders.nystroem import (
    AsymmetricNystroem as AsymmetricNystroem,
)
from lowtide.encoders.partition import (
    Partition as Partition,
)
from lowtide.encoders.random_features import (
    RandomFeatures as RandomFeatures,
)
from lowtide.encoders.reading import (
    FourierReading as FourierReading,
)
from lowtide.encoders.rows import (
    dense_rows as dense_rows,
    is_plain as is_plain,
    row_keys as row_keys,
    row_keys_of as row_keys_of,
    some_rows as some_rows,
)
from lowtide.encoders.sketch import (
    Sketch as Sketch,
)
from lowtide.encoders.ternary import (
    TernaryFeatures as TernaryFeatures,
)
from lowtide.encoders.trits import (
    Spread as Spread,
    Thresholds as Thresholds,
    Trits as Trits,
)
from lowtide.encoders.vectors import (
    DrawnVectorCodes as DrawnVectorCodes,
    VectorCodes as VectorCodes,
)
