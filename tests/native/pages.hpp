// Pages of memory between pages that may not be touched, from the system: the machine itself guards their ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
// Without them its macros take ordinary words: min and max, and small, which becomes char.
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace test {

class GuardedPages {
public:
    explicit GuardedPages(std::size_t size) {
        const std::size_t page = page_size();
        inner_ = std::max<std::size_t>(1, (size + page - 1) / page) * page;
        whole_ = inner_ + 2 * page;
#if defined(_WIN32)
        start_ = static_cast<char*>(VirtualAlloc(nullptr, whole_, MEM_RESERVE, PAGE_NOACCESS));
        if (start_ == nullptr || VirtualAlloc(start_ + page, inner_, MEM_COMMIT, PAGE_READWRITE) == nullptr) std::abort();
#else
        start_ = static_cast<char*>(mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (start_ == MAP_FAILED || mprotect(start_ + page, inner_, PROT_READ | PROT_WRITE) != 0) std::abort();
#endif
    }
    GuardedPages(const GuardedPages&) = delete;
    GuardedPages& operator=(const GuardedPages&) = delete;
    ~GuardedPages() {
#if defined(_WIN32)
        VirtualFree(start_, 0, MEM_RELEASE);
#else
        munmap(start_, whole_);
#endif
    }

    char* begin() { return start_ + page_size(); }
    char* end() { return begin() + inner_; }

private:
    static std::size_t page_size() {
#if defined(_WIN32)
        SYSTEM_INFO system;
        GetSystemInfo(&system);
        return system.dwPageSize;
#else
        return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
#endif
    }
    char* start_;
    std::size_t inner_, whole_;
};

}  // namespace test
