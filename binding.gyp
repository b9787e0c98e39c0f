{
  # The CPU-only addon with the host compiler, for machines without CMake. CMakeLists.txt builds the full one.
  "targets": [
    {
      "target_name": "warploom",
      "sources": ["<!@(node scripts/list-sources.mjs)"],
      "include_dirs": [".", "<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": [
        "NAPI_VERSION=8",
        "NODE_ADDON_API_DISABLE_DEPRECATED",
        "<!@(node scripts/list-sources.mjs --defines)"
      ],
      "cflags!": ["-fno-exceptions", "-O2"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra"],
      "cflags": ["-fvisibility=hidden"],
      "ldflags": ["-Wl,--exclude-libs,ALL", "-Wl,--gc-sections"],
      "libraries": ["-ldl", "-lrt", "-lpthread"]
    }
  ]
}
