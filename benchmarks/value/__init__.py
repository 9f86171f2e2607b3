"""Accuracy for the bytes an item takes: lowtide's codes against what scikit-learn and faiss make of the same bytes."""
