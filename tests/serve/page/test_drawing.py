"""Drawings become images as the training images were made."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from serve.page.node import NODE, PAGE, needs_node

pytestmark = needs_node

SCRIPT = Path(__file__).with_name("normalize.mjs")
MNIST = {"width": 28, "height": 28, "fit": 20}


def normalized(drawing, to):
    """Return the small image of a drawing, None where there is no ink."""
    height, width = drawing.shape
    content = {"drawing": {"width": width, "height": height, "values": drawing.ravel().tolist()}, "to": to}
    run = subprocess.run([NODE, SCRIPT, PAGE], input=json.dumps(content), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    values = json.loads(run.stdout)
    return None if values is None else np.array(values).reshape(to["height"], to["width"])


def drawn(top, left, height, width, side=140):
    """Return a filled box with a heavier lower left quarter."""
    drawing = np.zeros((side, side))
    drawing[top : top + height, left : left + width] = 0.4
    drawing[top + height // 2 : top + height, left : left + width // 2] = 1.0
    return drawing


def center(image):
    y, x = np.indices(image.shape) + 0.5
    return (image * y).sum() / image.sum(), (image * x).sum() / image.sum()


@pytest.mark.parametrize("place", [(0, 0), (40, 20), (60, 90)])
def test_a_digit_has_its_center_of_mass_in_the_middle_wherever_it_is_drawn(place):
    image = normalized(drawn(*place, 80, 50), MNIST)
    assert center(image) == pytest.approx((14, 14), abs=0.05)


@pytest.mark.parametrize("size", [(80, 50), (40, 100), (20, 20)])
def test_a_digit_is_twenty_pixels_along_its_longer_side(size):
    image = normalized(drawn(20, 20, *size), MNIST)
    # Area is kept: the ink of the drawing times the square of the scale.
    assert image.sum() == pytest.approx(drawn(20, 20, *size).sum() * (20 / max(size)) ** 2, rel=1e-9)
    assert image.max() <= 1.0 + 1e-12


def test_without_a_margin_the_box_fills_the_image():
    image = normalized(drawn(30, 10, 80, 80), {"width": 8, "height": 8, "fit": 8})
    expected = np.full((8, 8), 0.4)
    expected[4:, :4] = 1.0
    assert np.allclose(image, expected)


def test_an_empty_drawing_has_no_image():
    assert normalized(np.zeros((50, 50)), MNIST) is None


def test_a_dot_at_the_edge_is_an_image_too():
    drawing = np.zeros((50, 50))
    drawing[49, 49] = 1.0
    assert normalized(drawing, MNIST).sum() == pytest.approx(400)
