"""What learners fit, answer and load with: a name is imported when it is first used, so a learner alone takes none."""

from lowtide._later import names_in_stub

__all__, __getattr__ = names_in_stub(__name__, __file__)
