"""The file is a Git LFS pointer, not the model.

Git LFS keeps a small text file in the repository in place of the model. It begins with `version
https://git-lfs.github.com/spec/v1`. There is no graph in it to look at. The exit code is 2.

**What to do.** `git lfs pull` puts the model in its place; in GitHub Actions use `actions/checkout` with `lfs:
true`.
"""
