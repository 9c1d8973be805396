"""What a build is in one sentence, and what its file cannot tell."""

from __future__ import annotations

from onnxlint_cmsis.images.build import Build, LibraryBuild
from onnxlint_cmsis.images.settings import build_settings


def build_sentences(build: Build | LibraryBuild) -> tuple[str, ...]:
    """Sentences for people who gave a file and nothing else."""
    if isinstance(build, Build) and not build.image.symbols:
        return (
            f"{build.path} has no symbols: little of what is wrong with its build is seen. Lint the ELF that the "
            "linker wrote, before strip and objcopy.",
        )
    maybe = "" if build.attributes.sure else "perhaps "
    parts = [f"{maybe}for {' or '.join(build.attributes.cores)}"] if build.attributes.cores else []
    compilers = dict.fromkeys(compiler.setting for compiler in build.compilers if compiler.setting)
    parts += [f"by {' and '.join(compilers)}"] if compilers else []
    if build.library:
        releases = build_settings(build).releases
        ends = dict.fromkeys((*releases[:1], *releases[-1:]))
        perhaps = "perhaps " if build.library.inlined else ""  # functions and calls are gone
        parts.append(f"with CMSIS-NN {perhaps if ends else ''}{' to '.join(ends)}".rstrip())
    elif isinstance(build, LibraryBuild) and build.uncompiled:
        parts.append(
            f"with {'CMSIS-NN' if build.uncompiled_files else 'code'} that is compiled when it is linked (-flto)"
        )
    elif isinstance(build, LibraryBuild) and build.asked:
        parts.append("with kernels that call CMSIS-NN, which is not in it")
    elif isinstance(build, Build) and build.runtime and build.runtime.whole_program and not build.reference:
        parts.append(f"perhaps {'with' if build.tells_kernels else 'without'} CMSIS-NN")
    elif isinstance(build, LibraryBuild) or build.runtime:
        parts.append("without CMSIS-NN")
    what = f"It is built {' '.join(parts)}" if parts else "It tells little of its build"
    sentences = [f"{what}; `onnxlint-cmsis image {build.path}` has more."]
    if isinstance(build, Build) and build.memory and build.memory.unlike:
        sentences.append(f"The map file beside it is of another link and is not used: {build.memory.unlike}.")
    if isinstance(build, Build) and not build.models:
        sentences.append(f"No model is in it: one that it loads is judged with `--firmware {build.path} MODEL`.")
    return tuple(sentences)
