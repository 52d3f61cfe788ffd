// Threads of the pool, and pairs that they are dealt: pool_test [rows] [seed].
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/batches.hpp"
#include "arrow_columns.hpp"

namespace {

// Starts so many threads and no more, as a system at its limit does.
class FewThreads {
public:
    explicit FewThreads(int left) : left_(left) {}
    void operator()(std::function<void()> serve) {
        if (left_-- == 0) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
        std::thread(std::move(serve)).detach();
    }

private:
    int left_;
};

// The threads of a pool never end, so it does not either.
pe::Pool& make_pool(std::size_t size, const pe::Pool::Start& start) {
    static auto* pools = new std::vector<pe::Pool*>;
    pools->push_back(new pe::Pool(size, start));
    return *pools->back();
}

void work_with_threads_that_started() {
    for (const int started : {0, 1, 3}) {
        pe::Pool& pool = make_pool(4, FewThreads(started));
        check(pool.size() == static_cast<std::size_t>(started), "as many threads as started");
        for (int job = 0; job < 20; ++job) {
            std::atomic<int> left{1000}, done{0};
            pool.run([&] {
                while (left-- > 0) ++done;
            });
            check(done == 1000, "all of the work");
        }
    }
}

void stop_when_asked() {
    pe::Pool& pool = make_pool(2, FewThreads(2));
    bool thrown = false;
    const auto begin = std::chrono::steady_clock::now();
    try {
        pool.run(
            [&] {
                while (true) {
                    pe::throw_if_stopped();
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                }
            },
            [] { throw std::runtime_error("Ctrl-C"); });
    } catch (const std::runtime_error&) {
        thrown = true;
    }
    check(thrown && std::chrono::steady_clock::now() - begin < std::chrono::seconds(1), "a job ends when it is to stop");
    std::atomic<int> after{0};
    pool.run([&] {
        check(!pe::is_stopped(), "another job is not stopped");
        ++after;
    });
    check(after > 0 && !pe::is_stopped(), "the pool works on");
}

// Calls from several threads at once: no more threads compute than the pool has, and a call that is left alone gets help.
void share_the_threads() {
    constexpr std::size_t size = 3;
    pe::Pool& pool = make_pool(size, FewThreads(size));
    std::atomic<int> computing{0}, most{0}, rows_done{0};
    std::atomic<bool> is_checked{false};
    const auto call = [&](std::size_t rows) {
        pe::Dealer dealer(rows, size, [](std::size_t) { return std::size_t{4096}; });
        pool.run([&] {
            for (std::size_t begin, end; dealer.next(begin, end);) {
                const int now = ++computing;
                if (is_checked && now > most) most = now;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                rows_done += static_cast<int>(end - begin);
                --computing;
            }
        });
    };
    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < size; ++i) callers.emplace_back(call, 1600);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    is_checked = true;
    for (std::thread& caller : callers) caller.join();
    check(rows_done == 1600 * static_cast<int>(size), "all rows of all calls");
    check(most <= static_cast<int>(size) + 1, "calls that come together share the threads");
    most = 0;
    call(1600);
    check(most > 1, "a call that is alone is helped");
}

struct Last {
    pe::Text expected;
};

// Every pair comes once, with its own texts, however they are grouped.
void deal_every_pair(std::size_t rows, std::mt19937& random) {
    const std::size_t kinds = 1 + random() % (random() % 2 == 0 ? 50 : 2 * rows + 1);
    Texts outputs, expected;
    for (std::size_t row = 0; row < rows; ++row) {
        outputs.push_back(random() % 9 == 0 ? nullptr : std::make_unique<std::string>(std::to_string(row) + " output"));
        expected.push_back(random() % 9 == 0 ? nullptr
                                             : std::make_unique<std::string>("expected text of kind " + std::to_string(random() % kinds)));
    }
    const pe::TextColumn left = make_column("vu", outputs, random), right = make_column("U", expected, random);
    std::vector<std::atomic<int>> seen(rows);
    std::atomic<std::size_t> changes{0}, pairs{0};
    pe::for_each_pair<Last>(
        left, right, 3, [](Last& last) { last = {}; },
        [&](const pe::PairWindow::Pair& pair, Last& last) {
            check(outputs[pair.row] && expected[pair.row] && pair.output == *outputs[pair.row] && pair.expected == *expected[pair.row],
                  "a pair's texts");
            ++seen[pair.row];
            ++pairs;
            changes += last.expected != pair.expected;
            last.expected = pair.expected;
        },
        [&](std::size_t row) {
            check(!outputs[row] || !expected[row], "a null");
            ++seen[row];
        });
    for (const std::atomic<int>& times : seen) check(times == 1, "every row once");
    // Grouped, an expected text comes up once for each thread and piece at most.
    if (kinds <= 50 && pairs > 20000) check(changes < pairs / 10, "equal expected texts follow each other");
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20000;
    std::mt19937 random(static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1));
    work_with_threads_that_started();
    stop_when_asked();
    share_the_threads();
    for (const std::size_t some : {std::size_t{0}, std::size_t{1}, rows / 100, rows, 4 * rows}) deal_every_pair(some, random);
    std::printf("pool: threads that do not start, a stop, %zu pairs dealt\n", 5 * rows);
}
