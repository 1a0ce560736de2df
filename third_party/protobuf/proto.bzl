"""cc_proto: a C++ library from one .proto file, with whichever protoc the build uses."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def cc_proto(name, src, visibility = None):
    """Generates and compiles the messages of one .proto file that imports no other.

    Args:
      name: the cc_library's name.
      src: the .proto file; its header is included by its path from the repository's root, ending in .pb.h.
      visibility: of the library.
    """
    stem = src[:-len(".proto")]
    native.genrule(
        name = name + "_protoc",
        srcs = [src],
        outs = [stem + ".pb.cc", stem + ".pb.h"],
        # The root that protoc sees is the part of the source's path before the package: empty in the main repository,
        # external/lockstep when another repository depends on this one.
        cmd = "src=$(location %s); root=$${src%%%s%s}; $(location @com_google_protobuf//:protoc) --proto_path=$${root:-.} --cpp_out=$$(d=$(RULEDIR); echo $${d%%%s}) $$src" %
              (src, native.package_name() + "/", src, native.package_name()),
        tools = ["@com_google_protobuf//:protoc"],
        visibility = ["//visibility:private"],
    )
    cc_library(
        name = name,
        srcs = [stem + ".pb.cc"],
        hdrs = [stem + ".pb.h"],
        copts = ["-w"],  # generated code is not ours to lint
        visibility = visibility,
        deps = ["@com_google_protobuf//:protobuf"],
    )
