"""One repository rule for every dependency: the system's package where it is installed, else a pinned archive.

`LOCKSTEP_DEPS=system` (set by --config=system, see .bazelrc) makes the rule write the overlay BUILD files over headers
and libraries that the system's package manager installed; the rule checks that they are there and names the package if
not. Any other value downloads the pinned archive of versions.bzl.
"""

def _system(ctx):
    for path in ctx.attr.system_probes:
        if not ctx.path(path).exists:
            fail("\n%s: %s is not there; it comes with the system package %s. " % (ctx.name, path, ctx.attr.system_package) +
                 "Install it, or build without --config=system to use the pinned archive.")
    for link, target in ctx.attr.system_symlinks.items():
        ctx.symlink(target, link)
    for label, path in ctx.attr.system_build_files.items():
        ctx.file(path, ctx.read(label))

def _archive(ctx):
    if not ctx.attr.urls:
        fail("\n%s has no pinned archive in third_party/versions.bzl. " % ctx.name +
             "Build with --config=system and the package %s, or declare the repository before lockstep_dependencies()." % ctx.attr.system_package)
    ctx.download_and_extract(
        url = ctx.attr.urls,
        sha256 = ctx.attr.sha256,
        stripPrefix = ctx.attr.strip_prefix,
    )
    if ctx.attr.archive_build_file:
        ctx.file("BUILD.bazel", ctx.read(ctx.attr.archive_build_file))

def _dependency_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    if ctx.os.environ.get("LOCKSTEP_DEPS") == "system":
        _system(ctx)
    else:
        _archive(ctx)

dependency = repository_rule(
    implementation = _dependency_impl,
    attrs = {
        "archive_build_file": attr.label(doc = "BUILD file laid over the archive where it brings none of its own."),
        "sha256": attr.string(),
        "strip_prefix": attr.string(),
        "system_build_files": attr.label_keyed_string_dict(doc = "Overlay file -> the BUILD file that it becomes."),
        "system_package": attr.string(doc = "Name of Debian's package, for the error.", mandatory = True),
        "system_probes": attr.string_list(doc = "Files that prove the package is installed.", mandatory = True),
        "system_symlinks": attr.string_dict(doc = "Name in the repository -> the system's file it links to."),
        "urls": attr.string_list(doc = "Where the archive is; none if this dependency is not pinned."),
    },
    environ = ["LOCKSTEP_DEPS"],
    doc = "A third-party library under one repository name, whichever way it is found.",
)

def _files_impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    for label, path in ctx.attr.content.items():
        ctx.file(path, ctx.read(label))

files = repository_rule(
    implementation = _files_impl,
    attrs = {"content": attr.label_keyed_string_dict(doc = "File of ours -> its path in the repository.", mandatory = True)},
    doc = "A repository made of a few files of this one.",
)
