// A compiler of kernels for the emulated GPU: `libnvrtc.so`, which hands their text to a C++ compiler ($CXX, else
// c++) together with device.h, and gives a shared object as the machine code.
//
// The text is preprocessed first; what follows `__global__` are the kernels, for each of which a table for launches is
// added (`emulated::KernelOf`).
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace {

enum Status { SUCCESS = 0, CREATION_FAILURE = 2, COMPILATION = 6 };

struct Program {
    std::string name, text, log, image;
    std::vector<std::pair<std::string, std::string>> headers;
};

void write_file(const std::filesystem::path &path, const std::string &text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// Folder of this library, where device.h lies too.
std::string own_folder() {
    Dl_info info;
    dladdr((void *)&own_folder, &info);
    return std::filesystem::absolute(info.dli_fname).parent_path();
}

// Runs the compiler in a folder; what it says goes to `log`.
bool compiler(const std::string &folder, std::vector<std::string> arguments, std::string &log) {
    const char *named = getenv("CXX");
    arguments.insert(arguments.begin(), named && *named ? named : "c++");
    std::vector<char *> pointers;
    for (std::string &argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    std::string said = folder + "/said";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    posix_spawn_file_actions_addopen(&actions, 2, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t process;
    int error = posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        log += std::string(pointers[0]) + ": " + strerror(error);
        return false;
    }
    int status = 0;
    waitpid(process, &status, 0);
    log += read_file(said);
    return status == 0;
}

struct Found {
    std::string name;
    // Arguments of `__launch_bounds__`.
    std::string bounds;
};

// Kernels of a preprocessed text.
std::vector<Found> kernels(const std::string &text) {
    std::vector<Found> found;
    const std::string mark = "__global__", limit = "__launch_bounds__";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
        at += mark.size();
        Found kernel;
        std::string word;
        for (; at < text.size(); ++at) {
            char c = text[at];
            if (c == '#') {
                // Where the next lines come from.
                at = text.find('\n', at);
            } else if (isalnum((unsigned char)c) || c == '_') {
                if (word.empty() || !(isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_')) word.clear();
                word += c;
            } else if (c == '(') {
                if (word != limit) break;
                size_t end = at, depth = 0;
                do {
                    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
                } while (depth > 0 && ++end < text.size());
                kernel.bounds = text.substr(at + 1, end - at - 1);
                at = end;
                word.clear();
            } else if (c == ';' || c == '{') {
                word.clear();
                break;
            }
        }
        kernel.name = word;
        if (!word.empty()) found.push_back(kernel);
    }
    return found;
}

bool compile(Program &program, const std::vector<std::string> &macros, const std::string &folder) {
    std::string here = own_folder();
    for (const auto &[name, text] : program.headers) write_file(folder + "/" + name, text);
    write_file(folder + "/" + program.name, program.text);
    std::vector<std::string> first = {"-E", "-x", "c++", "-std=c++17", "-I.", "-include", here + "/device.h", "-w"};
    first.insert(first.end(), macros.begin(), macros.end());
    first.insert(first.end(), {program.name, "-o", "all.cpp"});
    if (!compiler(folder, first, program.log)) return false;
    std::string text = read_file(folder + "/all.cpp");
    // Shared memory whose size the launch says.
    text = std::regex_replace(text, std::regex("extern\\s+static\\s+thread_local\\s+([A-Za-z_][\\w ]*?)\\s*(\\w+)\\s*\\[\\s*\\]\\s*;"),
                              "$1 *$2 = ($1 *)emulated_dynamic_shared();");
    std::string tables = "\nextern \"C\" {\nthread_local char emulated_touched;\n"
                         "void *emulated_touch_shared() { return &emulated_touched; }\n";
    for (const Found &kernel : kernels(text)) {
        tables += "extern const emulated::Kernel emulated_kernel_" + kernel.name + ";\n";
        tables += "const emulated::Kernel emulated_kernel_" + kernel.name + " = emulated::KernelOf<&" + kernel.name +
                  ">::of(" + kernel.bounds + ");\n";
    }
    write_file(folder + "/all.cpp", text + tables + "}\n");
    const char *optimization = getenv("EMULATED_OPTIMIZATION");
    // As on a GPU no option may change a number.
    std::vector<std::string> second = {"-x", "c++", "-std=c++17", optimization && *optimization ? optimization : "-O1",
                                       "-g1", "-fPIC", "-shared", "-fno-gnu-unique", "-Wl,-Bsymbolic",
                                       "-ffp-contract=off", "-fno-strict-aliasing",
                                       // Messages say where kernels wait.
                                       "-fno-optimize-sibling-calls", "-w", "-D__global__=",
                                       "-D__launch_bounds__(...)="};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) second.push_back("-mfma");
#endif
    second.insert(second.end(), {"all.cpp", "-o", "kernels.so"});
    if (!compiler(folder, second, program.log)) return false;
    program.image = read_file(folder + "/kernels.so");
    return true;
}

}  // namespace

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 0;
    return SUCCESS;
}
int nvrtcGetNumSupportedArchs(int *count) {
    *count = 1;
    return SUCCESS;
}
int nvrtcGetSupportedArchs(int *architectures) {
    architectures[0] = 90;
    return SUCCESS;
}
const char *nvrtcGetErrorString(int status) {
    return status == SUCCESS ? "no error" : status == COMPILATION ? "the C++ compiler found errors" : "no folder for the text";
}
int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    Program *made = new Program{name, text, "", "", {}};
    for (int k = 0; k < headers; ++k) made->headers.emplace_back(names[k], texts[k]);
    *program = made;
    return SUCCESS;
}
int nvrtcDestroyProgram(void **program) {
    delete (Program *)*program;
    *program = nullptr;
    return SUCCESS;
}
int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    Program &of = *(Program *)program;
    std::vector<std::string> macros;
    for (int k = 0; k < count; ++k) {
        if (strncmp(options[k], "-D", 2) == 0) macros.push_back(options[k]);
    }
    std::string folder = std::filesystem::temp_directory_path() / "emulated_nvrtc_XXXXXX";
    if (!mkdtemp(folder.data())) return CREATION_FAILURE;
    bool compiled = compile(of, macros, folder);
    std::error_code ignored;
    if (!getenv("EMULATED_KEEP")) std::filesystem::remove_all(folder, ignored);
    return compiled ? SUCCESS : COMPILATION;
}
int nvrtcGetProgramLogSize(void *program, size_t *size) {
    *size = ((Program *)program)->log.size() + 1;
    return SUCCESS;
}
int nvrtcGetProgramLog(void *program, char *log) {
    strcpy(log, ((Program *)program)->log.c_str());
    return SUCCESS;
}
int nvrtcGetCUBINSize(void *program, size_t *size) {
    *size = ((Program *)program)->image.size();
    return SUCCESS;
}
int nvrtcGetCUBIN(void *program, char *image) {
    const std::string &from = ((Program *)program)->image;
    memcpy(image, from.data(), from.size());
    return SUCCESS;
}
int nvrtcGetPTXSize(void *, size_t *size) {
    *size = 0;
    return SUCCESS;
}
int nvrtcGetPTX(void *, char *) { return SUCCESS; }

}  // extern "C"
