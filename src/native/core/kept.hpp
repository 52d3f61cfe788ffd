// Workspaces that are kept from call to call, because what they have learnt is worth something to the next one.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "portable.hpp"

namespace pe {

// There are never more than threads that used one at the same time. A forked child starts without any: one of them may
// have been in use by a thread that the child does not have.
template <class Workspace>
class Kept {
public:
    Kept() : workspace_(take()), exceptions_(std::uncaught_exceptions()) {}
    Kept(const Kept&) = delete;
    ~Kept() {
        // After an error nobody knows what state it is in.
        if (!is_worth_keeping_ || std::uncaught_exceptions() > exceptions_) return;
        std::lock_guard<std::mutex> lock(store()->mutex);
        store()->idle.push_back(std::move(workspace_));
    }
    // To be called where it has grown so much that the memory is worth more.
    void discard() { is_worth_keeping_ = false; }
    Workspace& operator*() { return *workspace_; }
    Workspace* operator->() { return workspace_.get(); }

private:
    struct Store {
        std::mutex mutex;
        std::vector<std::unique_ptr<Workspace>> idle;
    };
    static Store*& store() {
        static Store* store = [] {
            call_in_forked_child([] { Kept::store() = new Store; });
            return new Store;
        }();
        return store;
    }
    static std::unique_ptr<Workspace> take() {
        {
            std::lock_guard<std::mutex> lock(store()->mutex);
            std::vector<std::unique_ptr<Workspace>>& idle = store()->idle;
            if (!idle.empty()) {
                std::unique_ptr<Workspace> workspace = std::move(idle.back());
                idle.pop_back();
                return workspace;
            }
        }
        return std::make_unique<Workspace>();
    }

    std::unique_ptr<Workspace> workspace_;
    const int exceptions_;
    bool is_worth_keeping_ = true;
};

template <class Workspace>
inline constexpr bool is_kept = false;
template <class Workspace>
inline constexpr bool is_kept<Kept<Workspace>> = true;

// A pair of texts so long that a workspace that held it is not kept.
constexpr std::size_t bulky_bytes = 1 << 20;

}  // namespace pe
