{
  "targets": [
    {
      "target_name": "sheaf_candidate",
      "sources": [
        "<!@(node addon_sources.mjs --together)"
      ],
      "include_dirs": ["src"],
      "defines": ["NAPI_VERSION=9", "NAPI_DISABLE_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags": ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Wno-subobject-linkage", "-Wno-restrict", "-Wno-maybe-uninitialized", "-Wno-array-bounds", "-Wno-stringop-overflow", "-Wno-stringop-overread", "-fvisibility=hidden"],
      "cflags_cc": ["-std=c++20", "-fno-exceptions", "-isystem <!(node -p \"require('path').resolve(require('node-addon-api').include_dir)\")"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20"],
      "ldflags": ["-Wl,--disable-new-dtags,-rpath,'$$ORIGIN/libraries'"],
      "libraries": [
        "<!@(pkg-config --libs libngtcp2 libngtcp2_crypto_gnutls gnutls libnghttp3)"
      ],
      "conditions": [
        ["target_arch=='x64'", {
          "defines": ["SHEAF_HAVE_IPSEC_MB=1", "SHEAF_HAVE_ISA_L=1"],
          "libraries": ["-lIPSec_MB", "<!@(pkg-config --libs libisal)"]
        }]
      ]
    }
  ]
}
