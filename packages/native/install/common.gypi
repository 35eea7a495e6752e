# Compiler settings that node-gyp expects beside the headers. Node's own file asks for more (V8's
# pointer compression, snapshots); an addon over Node-API needs none of it.
{
  "variables": {"host_arch%": "<(target_arch)", "node_shared%": "false"},
  "target_defaults": {
    "default_configuration": "Release",
    "cflags": ["-fPIC", "-pthread"],
    "ldflags": ["-pthread"],
    "defines": ["_GLIBCXX_USE_CXX11_ABI=1"],
    "configurations": {
      "Release": {"cflags": ["-O3"], "defines": ["NDEBUG"]},
      "Debug": {"cflags": ["-O0", "-g"]}
    }
  }
}
