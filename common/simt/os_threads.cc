/*
 * os_threads.cc - the OS threads that share the blocks of a launch.
 *
 * The thread that launches always takes part. The others are started when first needed, sleep
 * between launches and are woken by each; a launch waits only for those that came in time to begin,
 * so a launch that is over before anybody woke up waits for nobody.
 */
#include "simt/simt.h"

#include <condition_variable>
#include <mutex>
#include <thread>

/* Leaked: the helpers sleep in here until the process ends. */
struct dormitory {
    std::mutex lock;
    std::condition_variable launched, finished;
    launch *open;         /* the launch helpers may join, NULL if there is none */
    unsigned long serial; /* of it */
    int joined;           /* helpers at work */
    int helpers;          /* there are */
};
static dormitory &crew = *new dormitory();

static void help(int index)
{
    unsigned long seen = 0;
    std::unique_lock<std::mutex> lock(crew.lock);
    for (;;) {
        crew.launched.wait(lock, [&] { return crew.open && crew.serial != seen; });
        launch *job = crew.open;
        seen = crew.serial;
        crew.joined++;
        lock.unlock();
        simt_work(job, index);
        lock.lock();
        if (--crew.joined == 0) crew.finished.notify_one();
    }
}

void simt_work_together(launch *job)
{
    int wanted = job->threads - 1;
    {
        std::lock_guard<std::mutex> lock(crew.lock);
        try {
            for (; crew.helpers < wanted; crew.helpers++)
                std::thread(help, crew.helpers + 1).detach();
        } catch (const std::exception &) {
            wanted = crew.helpers; /* the system gives no more: these will do */
        }
        crew.open = job;
        crew.serial++;
    }
    for (int i = 0; i < wanted; i++)
        crew.launched.notify_one();
    simt_work(job, 0);
    std::unique_lock<std::mutex> lock(crew.lock);
    crew.open = nullptr;
    crew.finished.wait(lock, [] { return crew.joined == 0; });
}
