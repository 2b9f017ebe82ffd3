"""What builds Fishplate on a cluster, from a tarball of this commit: recipes for Spack and EasyBuild."""

import hashlib

from description import fill, git


def tarball(description, out):
    """The sources of the last commit; the file."""
    name = f"fishplate-{description.version}"
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name}.tar.gz"
    git("archive", "--format=tar.gz", "-9", f"--prefix={name}/", f"--output={file.resolve()}", "HEAD")
    return file


def build(description, out, download):
    """Tarball and recipes; their files. `download` is the folder, as a URL, where clusters will find the tarball."""
    source = tarball(description, out)
    url = (download or out.resolve().as_uri()).rstrip("/")
    sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    indented = "\n    ".join(description.packaging["description"].strip().splitlines())
    fields = description.fields(sha256=sha256, download=url, tarball=source.name, description_indented=indented,
                                **description.packaging["easybuild"])
    toolchain = f"{fields['toolchain']}-{fields['toolchain_version']}"
    files = {
        "spack/spack_repo/fishplate/repo.yaml": "repo.yaml.in",
        "spack/spack_repo/fishplate/packages/fishplate/package.py": "package.py.in",
        f"easybuild/fishplate-{description.version}-{toolchain}.eb": "fishplate.eb.in",
    }
    for name, template in files.items():
        file = out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(fill(template, fields))
    return [source, *(out / name for name in files)]
