// An imitation of NVRTC for machines without it. Its output is a list of the options followed by the text, so tests see what it was given.
// PTX is what a comment that begins with PTX says, with `@version` for `.version`, and the options in comments behind it.
// Texts with `#error` fail with a message, those with SILENT without one; CRASH and HANG do what they say.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCompiler } from '../../lib/core/compile/compiler.ts';

const text = `
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
struct Program { std::string source, name, image, log, ptx; };
extern "C" {
int nvrtcVersion(int* major, int* minor) { *major = MAJOR; *minor = 3; return 0; }
int nvrtcGetNumSupportedArchs(int* count) { *count = 2; return 0; }
int nvrtcGetSupportedArchs(int* list) { list[0] = 75; list[1] = 90; return 0; }
const char* nvrtcGetErrorString(int error) { return error == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_OTHER"; }
int nvrtcCreateProgram(void** out, const char* source, const char* name, int, const char* const*, const char* const*) {
  *out = new Program{source, name, "", "", ""};
  return 0;
}
int nvrtcDestroyProgram(void** program) { delete static_cast<Program*>(*program); *program = nullptr; return 0; }
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  Program& p = *static_cast<Program*>(program);
  if (p.source.find("CRASH") != std::string::npos) std::abort();
  if (p.source.find("SILENT") != std::string::npos) return 7;
  while (p.source.find("HANG") != std::string::npos) sleep(1);
  if (p.source.find("#error") != std::string::npos) {
    p.log = p.name + "(3): error: no such thing";
    return 6;
  }
  for (int i = 0; i < count; ++i) p.image += std::string(options[i]) + "\\n";
  const size_t from = p.source.find("/*PTX");
  if (from != std::string::npos) {
    p.ptx = p.source.substr(from + 5, p.source.find("*/", from) - from - 5);
    p.ptx[p.ptx.find('@')] = '.';
    for (int i = 0; i < count; ++i) p.ptx += "\\n// " + std::string(options[i]);
  }
  p.image += p.source;
  return 0;
}
int nvrtcGetProgramLogSize(void* program, size_t* bytes) { *bytes = static_cast<Program*>(program)->log.size() + 1; return 0; }
int nvrtcGetProgramLog(void* program, char* text) { std::strcpy(text, static_cast<Program*>(program)->log.c_str()); return 0; }
int nvrtcGetCUBINSize(void* program, size_t* bytes) { *bytes = static_cast<Program*>(program)->image.size(); return 0; }
int nvrtcGetPTXSize(void* program, size_t* bytes) { *bytes = static_cast<Program*>(program)->ptx.size() + 1; return 0; }
int nvrtcGetPTX(void* program, char* text) { std::strcpy(text, static_cast<Program*>(program)->ptx.c_str()); return 0; }
int nvrtcGetCUBIN(void* program, char* bytes) {
  const std::string& image = static_cast<Program*>(program)->image;
  std::memcpy(bytes, image.data(), image.size());
  return 0;
}
}
`;

/** Makes the library in a folder; its path. */
export function fakeNvrtc(folder: string, major = 13, name = 'libnvrtc.so.13'): string {
  const source = join(folder, 'nvrtc.cpp'), path = join(folder, name);
  writeFileSync(source, text);
  execFileSync(findCompiler(), ['-shared', '-fPIC', `-DMAJOR=${major}`, '-o', path, source], { stdio: 'pipe' });
  return path;
}
