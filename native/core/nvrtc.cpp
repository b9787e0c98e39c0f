#include "native/core/nvrtc.h"

#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "native/core/js.h"

namespace warploom {
namespace {

using Program = void*;
constexpr int kSuccess = 0;

/// The functions of the library that are used here (CUDA 11.2 or later).
struct Nvrtc {
  int (*version)(int* major, int* minor) = nullptr;
  int (*architectures_count)(int* count) = nullptr;
  int (*architectures)(int* list) = nullptr;
  const char* (*error_text)(int error) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int count, const char* const* options) = nullptr;
  int (*log_size)(Program, size_t* bytes) = nullptr;
  int (*log)(Program, char* text) = nullptr;
  int (*image_size)(Program, size_t* bytes) = nullptr;
  int (*image)(Program, char* bytes) = nullptr;
  int (*ptx_size)(Program, size_t* bytes) = nullptr;
  int (*ptx)(Program, char* text) = nullptr;

  /// Returns why the library cannot be used; empty if it can. It is never unloaded, because its exit handlers may outlive that.
  std::string open(const std::string& path) {
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = dlerror();
      return why != nullptr ? why : "it does not load";
    }
    bool whole = true;
    const auto find = [&](auto*& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      whole = whole && function != nullptr;
    };
    find(version, "nvrtcVersion");
    find(architectures_count, "nvrtcGetNumSupportedArchs");
    find(architectures, "nvrtcGetSupportedArchs");
    find(error_text, "nvrtcGetErrorString");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(image_size, "nvrtcGetCUBINSize");
    find(image, "nvrtcGetCUBIN");
    find(ptx_size, "nvrtcGetPTXSize");
    find(ptx, "nvrtcGetPTX");
    return whole ? "" : path + " is no NVRTC of CUDA 11.2 or later";
  }
  std::string path() const {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(version), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
  }
};

std::string text_of(napi_env env, napi_value value) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return {};
  std::string text(length, '\0');
  napi_get_value_string_utf8(env, value, text.data(), length + 1, &length);
  return text;
}

/// findNvrtc(path or name) returns { path, version, architectures }, or a string that says why it cannot be used.
napi_value find(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<1> arguments(env, info);
    Nvrtc nvrtc;
    const std::string reason = nvrtc.open(text_of(env, arguments.value[0]));
    if (!reason.empty()) return js::string(env, reason);
    int major = 0, minor = 0, count = 0;
    if (nvrtc.version(&major, &minor) != kSuccess || nvrtc.architectures_count(&count) != kSuccess || count < 0) {
      return js::string(env, "it does not tell its version");
    }
    std::vector<int> list(static_cast<size_t>(count));
    if (count > 0) nvrtc.architectures(list.data());
    napi_value object = nullptr, architectures = nullptr;
    napi_create_object(env, &object);
    napi_create_array(env, &architectures);
    for (uint32_t i = 0; i < list.size(); ++i) napi_set_element(env, architectures, i, js::number(env, list[i]));
    js::set(env, object, "path", js::string(env, nvrtc.path()));
    js::set(env, object, "version", js::string(env, std::to_string(major) + "." + std::to_string(minor)));
    js::set(env, object, "architectures", architectures);
    return object;
  });
}

/// Compiles the source file and writes machine code, or PTX if the name of the output ends with .ptx. Returns what went wrong, or an
/// empty string. `log`: the compiler's messages, including warnings.
std::string compile_file(const Nvrtc& nvrtc, const std::string& source, const std::string& output,
                         const std::vector<std::string>& options, std::string* log) {
  std::ifstream file(source, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return "cannot read " + source;
  std::vector<const char*> given;
  for (const std::string& option : options) given.push_back(option.c_str());
  Program program = nullptr;
  int error = nvrtc.create(&program, text.c_str(), source.c_str(), 0, nullptr, nullptr);
  if (error != kSuccess) return nvrtc.error_text(error);
  const int compiled = nvrtc.compile(program, static_cast<int>(given.size()), given.data());
  size_t bytes = 0;
  if (nvrtc.log_size(program, &bytes) == kSuccess && bytes > 1) {
    log->resize(bytes);
    if (nvrtc.log(program, log->data()) != kSuccess) log->clear();
    log->resize(log->find_last_not_of('\0') + 1);
  }
  const bool is_ptx = output.size() > 4 && output.compare(output.size() - 4, 4, ".ptx") == 0;
  std::string image;
  error = compiled;
  if (error == kSuccess) error = (is_ptx ? nvrtc.ptx_size : nvrtc.image_size)(program, &bytes);
  if (error == kSuccess) {
    image.resize(bytes);
    error = (is_ptx ? nvrtc.ptx : nvrtc.image)(program, image.data());
    if (is_ptx) image.resize(image.find_last_not_of('\0') + 1);
  }
  nvrtc.destroy(&program);
  if (error != kSuccess) return nvrtc.error_text(error);
  std::ofstream made(output, std::ios::binary);
  made.write(image.data(), static_cast<std::streamsize>(image.size()));
  made.close();
  return made ? "" : "cannot write " + output;
}

/// compileNvrtc(library, source path, output path, options) returns { error, log }. It blocks and may need much memory, so it is
/// called in a process of its own (lib/core/compile/cuda.ts).
napi_value compile(napi_env env, napi_callback_info info) {
  return js::guarded(env, [&]() -> napi_value {
    const js::Arguments<4> arguments(env, info);
    std::vector<std::string> options;
    uint32_t count = 0;
    napi_get_array_length(env, arguments.value[3], &count);
    for (uint32_t i = 0; i < count; ++i) {
      napi_value option = nullptr;
      napi_get_element(env, arguments.value[3], i, &option);
      options.push_back(text_of(env, option));
    }
    Nvrtc nvrtc;
    std::string log;
    std::string error = nvrtc.open(text_of(env, arguments.value[0]));
    if (error.empty()) error = compile_file(nvrtc, text_of(env, arguments.value[1]), text_of(env, arguments.value[2]), options, &log);
    napi_value object = nullptr;
    napi_create_object(env, &object);
    js::set(env, object, "error", js::string(env, error));
    js::set(env, object, "log", js::string(env, log));
    return object;
  });
}

}  // namespace

void register_nvrtc(napi_env env, napi_value exports) {
  const auto add = [&](const char* name, napi_callback callback) {
    napi_value function = nullptr;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
    js::set(env, exports, name, function);
  };
  add("findNvrtc", find);
  add("compileNvrtc", compile);
}

}  // namespace warploom
