"""What makes a release: wheels and their checks, versions of what lowtide stands on, the changelog, and readiness."""
