#include "simt/modules.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "simt/module_table.h"

namespace warploom::simt {
namespace {

constexpr ModuleTable kTable = {
    &device::detail::block_barrier, &device::detail::warp_barrier, &device::detail::grid_barrier, &device::detail::exchange,
    &device::detail::ballot,        &device::detail::fence,        &device::detail::post,         &device::detail::receive,
    &device::detail::async_copy,    &device::detail::async_commit, &device::detail::async_wait,
};

bool write_all(int file, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = write(file, bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += static_cast<size_t>(written);
  }
  return true;
}

template <class T>
T* symbol(void* library, const std::string& name) {
  return reinterpret_cast<T*>(dlsym(library, name.c_str()));
}

/// Passes the shim's functions to the module and finds its kernels.
Status connect(void* library, const std::vector<std::string>& names, LoadedModule* out) {
  const int* const bytes = symbol<int>(library, "warploom_table_bytes");
  ModuleTable* const table = symbol<ModuleTable>(library, "warploom_table");
  if (bytes == nullptr || table == nullptr || *bytes != static_cast<int>(sizeof(ModuleTable))) {
    return {Code::invalid_argument, "expected text that includes \"cuda/core/module.cuh\", received other text", "source"};
  }
  *table = kTable;
  for (const std::string& name : names) {
    ModuleKernel kernel;
    kernel.name = name;
    kernel.entry = dlsym(library, name.c_str());
    const int* const parameters = symbol<int>(library, name + "_bytes");
    const int* const threads = symbol<int>(library, name + "_threads");
    if (kernel.entry == nullptr || parameters == nullptr || threads == nullptr) {
      return {Code::invalid_argument, "expected kernels of the text (WARPLOOM_KERNEL), received '" + name + "'", "kernels"};
    }
    kernel.parameter_bytes = *parameters;
    kernel.max_threads = *threads;
    out->kernels.push_back(kernel);
  }
  return {};
}

}  // namespace

ModuleSet::~ModuleSet() {
  while (!files_.empty()) unload(files_.begin()->first);
}

Status ModuleSet::load(const std::string& image, const std::vector<std::string>& names, LoadedModule* out) {
  const int file = memfd_create("warploom-module", MFD_CLOEXEC);
  if (file < 0 || !write_all(file, image)) {
    const std::string why = std::strerror(errno);
    if (file >= 0) close(file);
    return {Code::internal, "cannot put the module into memory: " + why};
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    close(file);
    return {Code::internal, std::string("cannot load the module: ") + (why != nullptr ? why : "no reason was given")};
  }
  files_[library] = file;
  out->library = library;
  const Status status = connect(library, names, out);
  if (!status.ok()) unload(library);
  return status;
}

void ModuleSet::unload(void* library) {
  const auto found = files_.find(library);
  if (found == files_.end()) return;
  dlclose(library);
  close(found->second);
  files_.erase(found);
}

}  // namespace warploom::simt
