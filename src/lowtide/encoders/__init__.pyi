# The public names and their modules: what type checkers read, and what `lowtide._later.names_in_stub` imports from.
from lowtide.encoders.activation import (
    ActivationFeatures as ActivationFeatures,
    DrawnActivation as DrawnActivation,
)
from lowtide.encoders.asymmetric import (
    AsymmetricFeatures as AsymmetricFeatures,
    DrawnAsymmetric as DrawnAsymmetric,
)
from lowtide.encoders.codebooks import (
    DitheredCosines as DitheredCosines,
    dithered_codes as dithered_codes,
    fourier_codebook as fourier_codebook,
    fourier_codes as fourier_codes,
    linear_codes as linear_codes,
    steps_of_codes as steps_of_codes,
)
from lowtide.encoders.encoder import (
    DrawnEncoder as DrawnEncoder,
    Encoder as Encoder,
    check_identity as check_identity,
    drawn_from_state as drawn_from_state,
)
from lowtide.encoders.kinds import (
    ENCODERS as ENCODERS,
)
from lowtide.encoders.learned import (
    DrawnLearned as DrawnLearned,
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
    DrawnFeatures as DrawnFeatures,
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
    DrawnSketch as DrawnSketch,
    Sketch as Sketch,
)
from lowtide.encoders.ternary import (
    DrawnTernary as DrawnTernary,
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
