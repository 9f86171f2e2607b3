"""What is looked at before a release: the version everywhere, the changelog, the workflows, the oldest dependencies."""

import io
import shutil
import subprocess
import tarfile
import tomllib

import pytest
from architecture.surface import ROOT
from release.ready import WRITTEN, changelog_faults, tree_faults, unstated, version_faults
from release.versions import TESTS, pinned
from release.wheels import LEFT_OUT, sdist_faults, wheel_for

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def tree(tmp_path):
    """A repository with the files that have a version, committed."""
    for name in (*WRITTEN, "pyproject.toml", "CHANGELOG.md", "changes/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    for command in (("init", "--quiet"), ("add", "--all"), (*identity, "commit", "--quiet", "--message", "All")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def test_version_is_the_same_everywhere(tree):
    assert version_faults(tree) == []


@pytest.mark.parametrize("name", WRITTEN)
def test_version_that_is_written_differently_is_named(tree, name):
    path = tree / name
    path.write_text(path.read_text(encoding="utf-8").replace(PROJECT["project"]["version"], "9.9.9"), encoding="utf-8")
    (fault,) = version_faults(tree)
    assert fault.startswith(name)
    assert tree_faults(tree) == [f"not committed: {name}"]


def test_version_that_has_a_tag_is_refused(tree):
    version = PROJECT["project"]["version"]
    subprocess.run(["git", "tag", f"v{version}"], cwd=tree, check=True)
    assert version_faults(tree) == [f"tag v{version} is there already"]


def test_changelog_needs_the_version_and_no_fragment(tree):
    version = PROJECT["project"]["version"]
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 0.0.1, before\n", encoding="utf-8")
    assert "got 0 fragments" in changelog_faults(tree)[0]
    (tree / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version}, today\n", encoding="utf-8")
    assert changelog_faults(tree) == []
    (tree / "changes" / "1.a.fix.md").write_text("New.")
    assert "got 1 fragments" in changelog_faults(tree)[0]


def test_sdist_must_hold_what_git_tracks_and_no_more(tree):
    tracked = subprocess.run(["git", "ls-files"], cwd=tree, capture_output=True, text=True, check=True).stdout.split()
    path = tree / "dist.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ["PKG-INFO", "junk.pyc", *tracked[1:]]:
            archive.addfile(tarfile.TarInfo(f"lowtide-0/{name}"), io.BytesIO())
    assert list(sdist_faults(path, tree)) == [f"{tracked[0]} is missing", "junk.pyc is too much"]


def test_what_an_sdist_leaves_out_is_what_the_build_is_told():
    assert tuple(f"{name}/" for name in PROJECT["tool"]["scikit-build"]["sdist"]["exclude"]) == LEFT_OUT


def test_oldest_dependencies_are_the_stated_minimums():
    assert pinned(["numpy>=2.0", "scikit-learn>=1.6"]) == ["numpy==2.0", "scikit-learn==1.6"]
    assert len(pinned(PROJECT["project"]["dependencies"])) == len(PROJECT["project"]["dependencies"])
    with pytest.raises(SystemExit, match="lower bound"):
        pinned(["numpy"])


def test_the_recipe_has_the_dependencies_of_the_package():
    lines = (ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8").splitlines()
    listed = [line.removeprefix("    - ") for line in lines if line.startswith("    - ")]
    assert list(unstated({"run": listed, "host": listed}, PROJECT)) == []


@pytest.mark.parametrize(
    ("part", "need"), [("run", "numpy >=2.0"), ("run", "python >=3.11"), ("host", "nanobind >=3.1")]
)
def test_a_recipe_of_other_versions_is_named(part, need):
    needs = {
        "run": [f"python{PROJECT['project']['requires-python']}", *PROJECT["project"]["dependencies"]],
        "host": PROJECT["build-system"]["requires"],
    }
    wants = {name: [each.replace(">=", " >=") for each in stated] for name, stated in needs.items()}
    wants[part][wants[part].index(need)] = need.replace(" >=", " >=9")
    (fault,) = unstated(wants, PROJECT)
    assert f"must have {need} in {part}" in fault


def test_tests_of_the_versions_are_there():
    assert all((ROOT / name).exists() for name in TESTS)


def test_a_python_gets_its_own_wheel_or_that_of_the_stable_abi(tmp_path):
    old, stable = "lowtide-0-cp311-cp311-manylinux.whl", "lowtide-0-cp312-abi3-manylinux.whl"
    (tmp_path / stable).touch()
    with pytest.raises(SystemExit, match="3.11"):
        wheel_for((3, 11), tmp_path)
    (tmp_path / old).touch()
    assert [wheel_for((3, minor), tmp_path).name for minor in (11, 12, 13)] == [old, stable, stable]
